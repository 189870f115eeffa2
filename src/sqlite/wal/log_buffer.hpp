#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sqlite/wal/log_format.hpp"

namespace ackbox::sqlite {

/// Buffers the end of the write-ahead log: frames that SQLite appends one after the other are written to the file in
/// one call, at the latest when the frame that commits them is complete.
///
/// SQLite writes each frame in two calls, a header of 24 bytes and a page, and reports a commit when the commit's last
/// call has returned. So a commit frame is written, with all frames before it, before the call for its page returns.
/// Only appends are buffered; every other operation on the file finds it complete.
///
/// Each call is compared with what SQLite is known to do. The first one that differs turns the buffer off: the buffered
/// bytes are written, and that call and all later ones go straight to the file. docs/batched_log.md has the list.
///
/// Returns SQLite's result codes. After a failed write the frames are kept and written again with the next write, so
/// that no frame that SQLite takes for written is missing from a later commit.
///
/// Thread-safety: none, but `whyOff` may be called from any thread. Lifetime: ends before the file.
class LogBuffer {
public:
  /// Writes the file by `methods`, not by the file's own table of methods.
  LogBuffer(sqlite3_file* file, const sqlite3_io_methods* methods);

  /// The writer lock was taken.
  void beginTransaction() noexcept { isLocked_ = true; }

  [[nodiscard]] int write(const void* bytes, int size, std::int64_t offset);

  /// Writes the buffered bytes. Every file operation other than `write` begins with it.
  [[nodiscard]] int flush();

  /// Whether a read of these bytes needs a `flush`.
  [[nodiscard]] bool holds(int size, std::int64_t offset) const noexcept;

  /// Whether a sync that follows now is a commit's sync. Resets the flag.
  [[nodiscard]] bool takeCommit() noexcept { return std::exchange(commits_, false); }

  /// The offset at which the frames of this transaction end; -1 before its first frame.
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }

  /// Called before SQLite publishes a commit to other connections: the file must be complete by now.
  void beforePublish() noexcept;

  /// The writer lock is released: the remaining bytes were not committed, and another process may write in their place.
  void endTransaction() noexcept;

  /// From now on every call goes straight to the file. `reason` must have static lifetime.
  void turnOff(const char* reason) noexcept;
  /// Null while it is on.
  [[nodiscard]] const char* whyOff() const noexcept { return whyOff_.load(std::memory_order_relaxed); }

private:
  [[nodiscard]] bool isAppend(int size, std::int64_t offset) const noexcept;
  /// How a call differs from the known ones; null if it does not. Remembers what the call shows of the log.
  [[nodiscard]] const char* unusual(const std::byte* bytes, int size, std::int64_t offset) noexcept;
  [[nodiscard]] const char* unusualHeader(const std::byte* bytes) noexcept;
  [[nodiscard]] const char* unusualPage(int size, std::int64_t offset) noexcept;
  [[nodiscard]] bool isRewrite(int size, std::int64_t offset) const noexcept;
  [[nodiscard]] int writeNow(const void* bytes, int size, std::int64_t offset);

  // Constant after construction.
  sqlite3_file* const file_;
  const sqlite3_io_methods* const methods_;

  // The bytes that are not written yet, for the offset `start_`.
  std::vector<std::byte> bytes_;
  std::int64_t start_ = 0;
  std::int64_t end_ = -1;
  bool isLocked_ = false;
  // Whether the page of the last header is still to come.
  bool awaitsPage_ = false;
  // Whether the last header is a commit frame's.
  bool commits_ = false;
  // Whether the last write failed.
  bool failed_ = false;
  // The page size by the last page or the log's header; 0 if not known yet.
  int pageBytes_ = 0;
  // The salt of this transaction's frames.
  LogSalt salt_{};
  std::atomic<const char*> whyOff_ = nullptr;
};

}  // namespace ackbox::sqlite
