#pragma once

#include <sqlite3.h>

#include <functional>
#include <optional>

#include "sqlite/wal/log_buffer.hpp"
#include "sqlite/wal/log_preallocation.hpp"

namespace ackbox::sqlite {

/// Puts a `LogBuffer` before the write-ahead log of one connection, so that a commit is one write. SQLite makes two
/// calls for each page and its header otherwise, and they are half of what writing the log costs. Before a sync it
/// extends the file by `LogPreallocation`. Also where it is off, it watches for syncs that fail. docs/batched_log.md
/// says what this rests on.
///
/// The files stay those of the connection's VFS, and whatever is not named here goes to it untouched: only the tables
/// of methods that SQLite finds in two of its file objects are replaced, that of the log, and that of the database,
/// through which SQLite locks and publishes. Frames that are left in the buffer when the writer lock is given back were
/// rolled back: they must not be written any more.
///
/// Thread-safety: that of the connection, but `whyOff` may be called from any thread. Lifetime: ends before the
/// connection, outside a transaction.
class BatchedLog {
public:
  /// `connection` uses a write-ahead log, and has read from its file since it does. Is off from the start where the log
  /// cannot be reached, or where SQLite pads it because a torn write may harm its neighbours (no
  /// SQLITE_IOCAP_POWERSAFE_OVERWRITE); also for `whyNot`, if it is given, which outlives this object.
  ///
  /// `syncFailed` is called when a sync of the log fails, on or off, before SQLite learns of it: with the writer lock
  /// held, in the thread that commits or makes a checkpoint. It may not use the connection, nor throw.
  explicit BatchedLog(sqlite3* connection, std::function<void()> syncFailed = {}, const char* whyNot = nullptr);
  ~BatchedLog();
  BatchedLog(const BatchedLog&) = delete;
  BatchedLog& operator=(const BatchedLog&) = delete;

  /// Whether the commits that follow are synced, where SQLite would sync them: no other sync is left out, so with
  /// `synchronous=FULL` this is a choice between FULL and NORMAL. To change the PRAGMA takes 18 thousand instructions,
  /// as it acts when it is prepared. False: the log is off, and SQLite does as its settings say.
  bool syncCommits(bool on) noexcept;

  /// What the log's file is written by beneath this object; null: it is not installed.
  [[nodiscard]] const sqlite3_io_methods* beneath() const noexcept {
    return log_.file == nullptr ? nullptr : log_.beneath;
  }

  /// Null: it is on. A log that is off is written as SQLite writes it, and stays off.
  [[nodiscard]] const char* whyOff() const noexcept;

private:
  /// A file object whose table of methods is replaced for a while.
  struct File {
    // First, so that the table which SQLite sees leads here.
    sqlite3_io_methods methods{};
    BatchedLog* owner = nullptr;
    sqlite3_file* file = nullptr;
    const sqlite3_io_methods* beneath = nullptr;

    void install(sqlite3_file* taken, BatchedLog* by);
    void restore() noexcept;
  };

  static const File& of(sqlite3_file* file) { return *reinterpret_cast<const File*>(file->pMethods); }
  template <auto Method, typename... Arguments>
  static int afterFlush(sqlite3_file* file, Arguments... arguments);
  static int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset);
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset);
  static int sync(sqlite3_file* file, int flags);
  static int lockShared(sqlite3_file* file, int offset, int count, int flags);
  static void publish(sqlite3_file* file);
  static int close(sqlite3_file* file);

  void release() noexcept;

  File log_;
  File database_;
  std::optional<LogBuffer> buffer_;
  std::optional<LogPreallocation> preallocation_;
  // Constant after construction. Null: it is batched.
  const char* whyNotBatched_;
  const std::function<void()> syncFailed_;
  bool syncsCommits_ = true;
};

}  // namespace ackbox::sqlite
