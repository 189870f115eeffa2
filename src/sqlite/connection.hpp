#pragma once

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"
#include "sqlite/wal/batched_log.hpp"

namespace ackbox::sqlite {

/// The one write connection to a file: in WAL mode, with the settings that the durability guarantees need.
///
/// Thread-safety: none.
class Connection {
public:
  /// Checks the file before anything is written to it, and throws if the file must be refused.
  using Inspect = std::function<void(sqlite3* connection)>;

  /// Throws `Error` as `OutboxManager::open` documents, and what `inspect` throws. Does not change a byte of a refused
  /// file.
  Connection(const std::filesystem::path& file, const OutboxOptions& options, const Inspect& inspect);
  /// Does not checkpoint a doubtful log, because a hole in it could damage the file: other processes that have it open,
  /// or the next opening, deal with it.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return database_.getHandle(); }
  [[nodiscard]] SQLite::Database& database() noexcept { return database_; }
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  [[nodiscard]] Statement prepare(std::string_view sql) const { return Statement(handle(), sql, prefix_); }

  /// FULL: a commit is fsynced before it returns. Outside a transaction. Throws `databaseError` when SQLite does not
  /// apply the setting.
  void setFullSync(bool full);
  /// Whether the file's name now belongs to another file, or to none. Reads the directory; false where the VFS does not
  /// know.
  [[nodiscard]] bool hasMoved() const noexcept;
  /// Why the log is written as SQLite writes it, and not in one call per commit; empty if it is not. From any thread.
  [[nodiscard]] std::string whyLogNotBatched() const;
  /// Whether a power cut may lose committed data despite later syncs, because a sync failed (`rewriteLog` says why).
  /// While true, nothing counts as durable and no checkpoint may be made. It is true at first, until `mendLog` or
  /// `trustLog`: a sync may have failed in a process that has ended.
  [[nodiscard]] bool isLogDoubtful() const noexcept { return isDoubtful_; }
  void doubtLog() noexcept;
  /// Sets the callback of `doubtLog`. After a failed sync of the log it runs with the writer lock still held: no other
  /// process can open the file in between. `callback` must neither use the connection nor throw; it may be empty.
  void whenDoubted(std::function<void()> callback) noexcept { whenDoubted_ = std::move(callback); }
  /// How many times `doubtLog` was called.
  [[nodiscard]] std::uint32_t failures() const noexcept { return failures_; }
  /// Call it when no process that has the log open doubts it.
  void trustLog() noexcept { isDoubtful_ = false; }
  /// In a transaction that has written nothing to the log yet. Throws `ioError`; the log then stays doubtful.
  void mendLog();
  /// Whether bytes of the doubtful log cannot be read back; then nothing may be written behind them.
  [[nodiscard]] bool isLogLost() const noexcept { return isLost_; }

  /// Whether the file existed and was empty when it was opened.
  [[nodiscard]] bool wasEmpty() const noexcept { return wasEmpty_; }

  /// Makes the next `setFullSync` set the level again, because foreign code may have changed it.
  void doubtSync() noexcept;

private:
  /// Whether SQLite copies the log into the database when this is the last connection to close.
  void setFoldsAtClose(bool folds) noexcept;
  void enterWalMode(const OutboxOptions& options);

  // Initialized before `database_`, which creates the file.
  const bool wasThere_;
  SQLite::Database database_;
  const std::string prefix_;
  // 0: not set yet.
  int synchronous_ = 0;
  // Constant after construction: how this SQLite differs from what the batched log assumes; empty if it does not.
  std::string logDifference_;
  std::optional<BatchedLog> log_;
  std::function<void()> whenDoubted_;
  bool isDoubtful_ = true;
  std::uint32_t failures_ = 0;
  bool isLost_ = false;
  bool wasEmpty_ = false;
};

/// Opens `file` in SQLite; throws failures as `Error`.
[[nodiscard]] SQLite::Database openDatabase(const std::filesystem::path& file, const OutboxOptions& options, int flags);

/// The VFS of `connection`, which its waits go through: a simulated VFS waits in simulated time.
[[nodiscard]] sqlite3_vfs* vfsOf(sqlite3* connection) noexcept;

}  // namespace ackbox::sqlite
