#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ackbox/testing/simulation.hpp"

namespace ackbox::testing {

/// The platform's VFS for one process, until the process dies: then nothing is read or written through it any more, but
/// files can still be closed and locks released. Syncs are not passed on, and sleeping takes no time.
///
/// Lifetime: registered while it lives; no connection may outlive it. Thread-safety: none.
class ProcessVfs {
public:
  explicit ProcessVfs(std::string name);
  ~ProcessVfs();
  ProcessVfs(const ProcessVfs&) = delete;
  ProcessVfs& operator=(const ProcessVfs&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void die() noexcept { dead_ = true; }
  [[nodiscard]] bool dead() const noexcept { return dead_; }
  /// Dies instead of the write after the next `writes` ones.
  void dieAtWrite(std::uint64_t writes) noexcept { writesLeft_ = writes; }

  /// The calls that may meet `fault`: the next `after` ones succeed, then `count` fail, while the process goes on.
  void fail(DiskFault fault, std::uint64_t after, std::uint64_t count) noexcept { failing_ = {fault, after, count}; }
  void mend() noexcept { failing_.reset(); }

  /// `callback` is called for each call that fails while the process goes on. It must not throw.
  void onFault(std::function<void(DiskFault)> callback) { onFault_ = std::move(callback); }

  /// Whether the next change of a file may happen: SQLITE_OK, or the error code, which is `refusal` unless the disk is
  /// full.
  [[nodiscard]] int change(int refusal) noexcept;
  [[nodiscard]] int sync() noexcept;
  /// The same for a write apart from its files.
  [[nodiscard]] bool write() noexcept { return change(SQLITE_IOERR_WRITE) == SQLITE_OK; }
  [[nodiscard]] int lockForWriting() noexcept;

private:
  struct Failing {
    DiskFault fault = DiskFault::ioError;
    std::uint64_t after = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] bool fails(DiskFault fault) noexcept;

  // Must be first, so that SQLite's pointer leads back to this object.
  struct Registered {
    sqlite3_vfs vfs;
    ProcessVfs* self;
  };
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* outFlags);
  static int remove(sqlite3_vfs* vfs, const char* path, int syncDirectory);

  const std::string name_;
  Registered registered_;
  bool dead_ = false;
  std::optional<std::uint64_t> writesLeft_;
  std::optional<Failing> failing_;
  std::function<void(DiskFault)> onFault_;
};

}  // namespace ackbox::testing
