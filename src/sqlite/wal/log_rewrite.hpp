#pragma once

#include <sqlite3.h>

namespace ackbox::sqlite {

/// Writes what is committed in a write-ahead log once more, byte for byte to where it stands, and syncs it.
///
/// After a sync that failed, the kernel may count the pages as written although they are not on the disk, and the next
/// sync reports success: only what is written again reaches the disk. Until then a power cut would leave a hole, and
/// whatever was committed behind it would be lost with it. The bytes come from the machine's memory, which may have
/// let go of them since, so each is covered by the log's checksums, up to the one that SQLite keeps in the log's index.
/// Nothing changes for readers, and a power cut in the middle leaves each byte as it was before or after.
///
/// Before that it takes back each refused commit. Its sync failed, but its frames continue the log's chain of
/// checksums, and the next opening would use them: the header of the frame that ends it is overwritten by zeros. Frames
/// behind a break of the chain are left as they are: they are what a damage or a power cut has left.
///
/// Of a long log first only the header is written and synced: on a disk that goes on failing an attempt costs little.
///
/// `methods` is what `log` is written by, whatever its own table says; `database` leads to the log's index. The caller
/// holds the writer lock. Returns SQLite's code of the call that failed; SQLITE_CORRUPT: bytes of it cannot be read
/// back, and what was committed since the last good sync goes with the machine's memory; SQLITE_NOTFOUND: the log's
/// index is not as its format is known.
[[nodiscard]] int rewriteLog(sqlite3_file* log, const sqlite3_io_methods& methods, sqlite3_file* database) noexcept;

}  // namespace ackbox::sqlite
