#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sqlite/wal/log_format.hpp"

namespace ackbox::sqlite {

/// The end of the write-ahead log that SQLite has written and the file beneath has not: frames that are appended one
/// after the other are written by one call, at the latest when the frame that commits them is complete.
///
/// SQLite writes each frame by two calls, a header of 24 bytes and a page, and reports a commit when the last call of
/// it has returned. So the frame whose header says that it commits is written before its call returns, with all frames
/// before it. Only appends are held back, and whatever else is done to the file finds it complete.
///
/// Each call is compared with what SQLite is known to do. The first one that differs turns the buffer off: what is held
/// back is written, and that call and all later ones go to the file as they come. docs/batched_log.md has the list.
///
/// Returns SQLite's result codes. After a failed write the frames are kept and written again with the next, so that
/// nothing that SQLite believes written is missing from what it commits later.
///
/// Thread-safety: none, but `whyOff` may be called from any thread. Lifetime: ends before the file.
class LogBuffer {
public:
  /// `methods` is what the file is written by, whatever its own table says.
  LogBuffer(sqlite3_file* file, const sqlite3_io_methods* methods);

  /// The writer lock was taken.
  void beginTransaction() noexcept { isLocked_ = true; }

  [[nodiscard]] int write(const void* bytes, int size, std::int64_t offset);

  /// What other calls but `write` begin with.
  [[nodiscard]] int flush();

  /// Whether a read of these bytes needs a `flush`.
  [[nodiscard]] bool holds(int size, std::int64_t offset) const noexcept;

  /// Whether a sync that follows now is that of a commit. The next one is not.
  [[nodiscard]] bool takeCommit() noexcept { return std::exchange(commits_, false); }

  /// Where the frames of this transaction end; -1 before its first.
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }

  /// SQLite is about to show other connections what was committed: the file must be complete by now.
  void beforePublish() noexcept;

  /// The writer lock is given back: what is left was never committed, and its place may be another process's now.
  void endTransaction() noexcept;

  /// From now on every call goes to the file as it comes. `reason` has static lifetime.
  void turnOff(const char* reason) noexcept;
  /// Null: it is on.
  [[nodiscard]] const char* whyOff() const noexcept { return whyOff_.load(std::memory_order_relaxed); }

private:
  [[nodiscard]] bool isAppend(int size, std::int64_t offset) const noexcept;
  /// What is unusual about a call; null: nothing. Keeps what it learns of the log.
  [[nodiscard]] const char* unusual(const std::byte* bytes, int size, std::int64_t offset) noexcept;
  [[nodiscard]] const char* unusualHeader(const std::byte* bytes) noexcept;
  [[nodiscard]] const char* unusualPage(int size, std::int64_t offset) noexcept;
  [[nodiscard]] bool isRewrite(int size, std::int64_t offset) const noexcept;
  [[nodiscard]] int writeNow(const void* bytes, int size, std::int64_t offset);

  // Constant after construction.
  sqlite3_file* const file_;
  const sqlite3_io_methods* const methods_;

  // Not written yet: these bytes, at `start_`.
  std::vector<std::byte> bytes_;
  std::int64_t start_ = 0;
  std::int64_t end_ = -1;
  bool isLocked_ = false;
  // The last header waits for its page.
  bool awaitsPage_ = false;
  // It is that of a frame that commits.
  bool commits_ = false;
  // The last write failed.
  bool failed_ = false;
  // Of the last page, or of the log's header; 0: not known yet.
  int pageBytes_ = 0;
  // Of this transaction's frames.
  LogSalt salt_{};
  std::atomic<const char*> whyOff_ = nullptr;
};

}  // namespace ackbox::sqlite
