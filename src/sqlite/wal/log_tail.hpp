#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace ackbox::sqlite {

/// How many commits of the write-ahead log's current generation lie behind the frame at which SQLite takes the log to
/// end. The chain of checksums breaks at the first damaged or unfinished frame: SQLite ignores the commits behind it. A
/// power cut leaves the same state, with commits that were not synced yet.
///
/// A killed process leaves no such commit, because it writes a commit's last frame last; neither does a rollback, which
/// writes no commit frame. Reads at most 20,000 frame headers. In a transaction. 0 where the log or its index cannot be
/// read.
[[nodiscard]] std::uint32_t unusedCommits(sqlite3* connection) noexcept;

/// The same as a sentence for an operator; empty if all commits were used.
[[nodiscard]] std::string whatLogLeftOut(sqlite3* connection);

}  // namespace ackbox::sqlite
