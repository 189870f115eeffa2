#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

namespace ackbox::testing {

/// The platform's VFS as one process sees it, until the process dies: then nothing is read or written through it any
/// more, while closing and the release of locks go on. Syncs are not passed on.
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
  /// Dies instead of the write that comes `writes` from now.
  void dieAtWrite(std::uint64_t writes) noexcept { writesLeft_ = writes; }

  /// Whether the next change of a file may happen.
  [[nodiscard]] bool mayChange() noexcept;

private:
  // First, so that SQLite's pointer leads back to this object.
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
};

}  // namespace ackbox::testing
