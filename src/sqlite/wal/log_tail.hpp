#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace ackbox::sqlite {

/// How many commits of the write-ahead log's present generation stand behind the frame at which SQLite takes the log to
/// end. The chain of checksums breaks at the first frame that is damaged, or was not finished: what was committed
/// behind it is as if it had never been. The same picture is left by a power cut, of commits that were not synced yet.
///
/// A process that is killed leaves none: it writes a commit's last frame last. Nor does what was rolled back, as it has
/// no such frame. Reads headers of frames only, and 20,000 at most. In a transaction. 0 where the log, or its index, is
/// not known.
[[nodiscard]] std::uint32_t unusedCommits(sqlite3* connection) noexcept;

/// The same as a sentence for people; empty: all commits were used.
[[nodiscard]] std::string whatLogLeftOut(sqlite3* connection);

}  // namespace ackbox::sqlite
