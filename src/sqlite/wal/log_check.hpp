#pragma once

#include <sqlite3.h>

#include <functional>
#include <string>

namespace ackbox::sqlite {

/// Whether the SQLite that runs writes its log in the way that `BatchedLog` rests on. A scratch database in memory is
/// written through a `BatchedLog`: commits of several pages, a rollback of what was spilled, a commit that rewrites its
/// pages, a checkpoint, a log that begins anew. After each step the calls that reached the files are compared with
/// those that are expected, every checksum of the log is computed, and a second connection recovers a copy of the
/// files.
///
/// Returns what differs; empty: nothing. `change` is called on the connection after the log is installed, so that a
/// test can behave like another SQLite.
[[nodiscard]] std::string checkLog(const std::function<void(sqlite3*)>& change = {});

/// The answer of `checkLog` in this process, which is looked for once. Only the answer that there was no memory for the
/// check is not kept.
///
/// Thread-safety: may be called from any thread.
[[nodiscard]] std::string knownLogDifference();

}  // namespace ackbox::sqlite
