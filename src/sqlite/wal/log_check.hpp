#pragma once

#include <sqlite3.h>

#include <functional>
#include <string>

namespace ackbox::sqlite {

/// Checks that the running SQLite writes its log in the way that `BatchedLog` assumes. Writes a scratch database in
/// memory through a `BatchedLog`: commits of several pages, a rollback of spilled pages, a commit that rewrites its
/// pages, a checkpoint, a restart of the log. After each step it compares the calls that reached the files with the
/// expected ones, verifies every checksum of the log, and lets a second connection recover a copy of the files.
///
/// Returns the difference that it found; empty if none. `change` is called on the connection after the log is
/// installed, so that a test can behave like another SQLite.
[[nodiscard]] std::string checkLog(const std::function<void(sqlite3*)>& change = {});

/// The result of `checkLog`, which runs once per process. Only a failure for lack of memory is not cached.
///
/// Thread-safety: may be called from any thread.
[[nodiscard]] std::string knownLogDifference();

}  // namespace ackbox::sqlite
