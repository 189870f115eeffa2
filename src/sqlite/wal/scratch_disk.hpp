#pragma once

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ackbox::sqlite {

/// A database and its write-ahead log in memory, as a VFS for one connection in one thread, which records what SQLite
/// does to them. Locks are always granted, since there is no other connection.
///
/// Lifetime: registered as a VFS until it is destroyed; it must outlive its connections. Thread-safety: none.
class ScratchDisk {
public:
  enum class Call : std::uint8_t { write, sync, publish, unlockWriter };
  /// One call, on one of the files.
  struct Record {
    Call call = Call::write;
    bool isLog = false;
    std::int64_t offset = 0;
    std::int64_t size = 0;
  };

  /// Begins with the files of `crashed`, as a machine finds them after a crash; null: without files.
  explicit ScratchDisk(const ScratchDisk* crashed = nullptr);
  ~ScratchDisk();
  ScratchDisk(const ScratchDisk&) = delete;
  ScratchDisk& operator=(const ScratchDisk&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<std::byte>& log() const noexcept { return files_[1]; }

  /// In the order of the calls; the caller clears them.
  std::vector<Record> records;

private:
  struct File;
  static ScratchDisk& diskOf(sqlite3_file* file);
  static std::vector<std::byte>& bytesOf(sqlite3_file* file);
  static const sqlite3_io_methods& methods();
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* outFlags);
  static int read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset);
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);
  static int mapShared(sqlite3_file* file, int region, int size, int extend, void volatile** mapped);

  static constexpr std::size_t kSharedBytes = 32 * 1024;

  const std::string name_;
  sqlite3_vfs vfs_{};
  // The database and its log.
  std::array<std::vector<std::byte>, 2> files_;
  std::array<bool, 2> exist_{};
  std::vector<std::unique_ptr<std::array<std::byte, kSharedBytes>>> shared_;
};

}  // namespace ackbox::sqlite
