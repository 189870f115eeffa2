#pragma once

#include <sqlite3.h>

#include <cstdint>

namespace ackbox::sqlite {

/// Keeps the write-ahead log's file longer than its content: a sync after which the file has its old length need not
/// write the file system's own journal, which takes about as long as the rest of the sync.
///
/// The preallocated bytes are zeros. SQLite takes them for the end of the log, as it does frames that an earlier log
/// left there: they hold no frame header with the log's salt. Zeros are only added behind the end of the file. Their
/// length grows with the log, up to `kBytesMax` at a time.
///
/// Thread-safety: none; the caller holds the writer lock, so no other process appends. Lifetime: ends before the file.
class LogPreallocation {
public:
  /// Writes the file by `methods`, not by the file's own table of methods.
  LogPreallocation(sqlite3_file* file, const sqlite3_io_methods* methods) noexcept : file_(file), methods_(methods) {}

  /// The log was written up to `end`. A failure is not reported: on a full disk nothing is preallocated, and nothing is
  /// lost.
  void extendBehind(std::int64_t end) noexcept;

private:
  static constexpr std::int64_t kBytesMax = 1024 * 1024;

  // Constant after construction.
  sqlite3_file* const file_;
  const sqlite3_io_methods* const methods_;
  // The file is, or was, at least this long. If it was shortened since, that only costs time.
  std::int64_t end_ = 0;
};

}  // namespace ackbox::sqlite
