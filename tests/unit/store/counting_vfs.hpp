#pragma once

#include <sqlite3.h>

#include <string>

namespace ackbox::testing {

/// The platform's VFS under another name: counts the syncs and writes of the log, remembers its size, and can open
/// everything read-only.
///
/// Lifetime: registered while it lives; no connection may outlive it. Thread-safety: none.
class CountingVfs {
public:
  CountingVfs();
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  int logSyncs = 0;
  int logWrites = 0;
  sqlite3_int64 logBytesMax = 0;
  bool readOnly = false;

private:
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* outFlags);

  std::string name_ = "ackbox-counting";
  sqlite3_vfs vfs_{};
};

}  // namespace ackbox::testing
