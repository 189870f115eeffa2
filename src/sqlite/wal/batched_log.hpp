#pragma once

#include <sqlite3.h>

#include <functional>
#include <optional>

#include "sqlite/wal/log_buffer.hpp"
#include "sqlite/wal/log_preallocation.hpp"

namespace ackbox::sqlite {

/// Puts a `LogBuffer` before the write-ahead log of one connection, so that a commit is one write. Otherwise SQLite
/// makes two calls for each page and its header, which are half the cost of writing the log. Before a sync it extends
/// the file by `LogPreallocation`. Even when it is off, it watches for syncs that fail. docs/batched_log.md lists its
/// assumptions.
///
/// The files stay those of the connection's VFS, and every method that is not named here goes to the VFS unchanged.
/// Only the method tables of two file objects are replaced: the log's, and the database's, through which SQLite locks
/// and publishes. Frames that are left in the buffer when the writer lock is released were rolled back, and must not be
/// written.
///
/// Thread-safety: that of the connection, but `whyOff` may be called from any thread. Lifetime: ends before the
/// connection, outside a transaction.
class BatchedLog {
public:
  /// `connection` must be in WAL mode and have read from its file since. The object is off from the start where the log
  /// cannot be reached, where SQLite pads the log because a torn write may harm its neighbours (no
  /// SQLITE_IOCAP_POWERSAFE_OVERWRITE), or if `whyNot` is given, which must outlive this object.
  ///
  /// `syncFailed` is called when a sync of the log fails, on or off, before the failure is returned to SQLite: with the
  /// writer lock held, in the thread that commits or makes a checkpoint. It must neither use the connection nor throw.
  explicit BatchedLog(sqlite3* connection, std::function<void()> syncFailed = {}, const char* whyNot = nullptr);
  ~BatchedLog();
  BatchedLog(const BatchedLog&) = delete;
  BatchedLog& operator=(const BatchedLog&) = delete;

  /// Sets whether the following commits are synced where SQLite would sync them. No other sync is left out, so with
  /// `synchronous=FULL` this chooses between FULL and NORMAL. The PRAGMA itself would take 18 thousand instructions, as
  /// it acts when it is prepared. Returns false if the log is off; SQLite then uses its own settings.
  bool syncCommits(bool on) noexcept;

  /// The methods that write the log's file beneath this object; null if it is not installed.
  [[nodiscard]] const sqlite3_io_methods* beneath() const noexcept {
    return log_.file == nullptr ? nullptr : log_.beneath;
  }

  /// Null while it is on. When it is off, the log is written as SQLite writes it, and it stays off.
  [[nodiscard]] const char* whyOff() const noexcept;

private:
  /// A file object whose table of methods is replaced for a while.
  struct File {
    // Must be the first member: `of` casts the table's address to the `File`.
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
  // Constant after construction. Null if the log is batched.
  const char* whyNotBatched_;
  const std::function<void()> syncFailed_;
  bool syncsCommits_ = true;
};

}  // namespace ackbox::sqlite
