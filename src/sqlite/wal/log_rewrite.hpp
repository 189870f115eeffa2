#pragma once

#include <sqlite3.h>

namespace ackbox::sqlite {

/// Writes the committed part of a write-ahead log once more, the same bytes in the same place, and syncs it.
///
/// After a failed sync, the kernel may mark pages as clean although they are not on the disk, and the next sync reports
/// success: only pages that are written again reach the disk. Until then a power cut would leave a hole, and all
/// commits behind it would be lost too. The bytes come from the page cache, which may have dropped them since, so each
/// is verified by the log's checksums, up to the one that SQLite keeps in the log's index. Nothing changes for readers,
/// and a power cut in the middle leaves each byte with its old or new value.
///
/// Before that it takes back each refused commit. The sync of such a commit failed, but its frames continue the log's
/// chain of checksums, and the next opening would use them: the header of its commit frame is overwritten with zeros.
/// Frames behind a break of the chain are left as they are: they come from damage or a power cut.
///
/// For a long log, it first writes and syncs only the header: on a disk that keeps failing, an attempt costs little.
///
/// Writes `log` by `methods`, not by the file's own table of methods; `database` gives access to the log's index. The
/// caller holds the writer lock. Returns SQLite's code of the call that failed; SQLITE_CORRUPT: bytes of the log cannot
/// be read back, and commits since the last good sync are lost with the machine's memory; SQLITE_NOTFOUND: the log's
/// index is not in the known format.
[[nodiscard]] int rewriteLog(sqlite3_file* log, const sqlite3_io_methods& methods, sqlite3_file* database) noexcept;

}  // namespace ackbox::sqlite
