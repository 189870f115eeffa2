#pragma once

#include <sqlite3.h>

#include <cstdint>

namespace ackbox::store {

/// Keeps the write-ahead log's file longer than what is written to it: a sync after which the file has its old length
/// need not write the file system's own journal, which takes about as long as all the rest of it.
///
/// The room is zeros, which SQLite takes for the log's end as it takes what an earlier log left there, as no page's
/// description has its salt. It is only ever added behind the file's end as it is at that moment. It grows with the
/// log, up to `kRoomMax` at a time, and goes with the file.
///
/// Thread-safety: none; the caller holds the writer lock, so that nobody else appends. Lifetime: ends before the file.
class LogRoom {
public:
  /// `methods` is what the file is written by, whatever its own table says.
  LogRoom(sqlite3_file* file, const sqlite3_io_methods* methods) noexcept : file_(file), methods_(methods) {}

  /// The log was written up to `end`. Fails in silence: on a full disk there is no room, and nothing is lost.
  void keepBehind(std::int64_t end) noexcept;

private:
  static constexpr std::int64_t kRoomMax = 1024 * 1024;

  // Constant after construction.
  sqlite3_file* const file_;
  const sqlite3_io_methods* const methods_;
  // Up to here no more is to be done; the file may have been shortened since, which costs time alone.
  std::int64_t end_ = 0;
};

}  // namespace ackbox::store
