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

/// The one write connection to a file: in WAL mode, with the settings that the promises rest on.
///
/// Thread-safety: none.
class Connection {
public:
  /// Looks at the file before anything is written to it, and throws what the file deserves.
  using Inspect = std::function<void(sqlite3* connection)>;

  /// Throws `Error` as `OutboxManager::open` documents, and what `inspect` throws; a refused file is left byte for byte
  /// as it was.
  Connection(const std::filesystem::path& file, const OutboxOptions& options, const Inspect& inspect);
  /// Leaves a doubtful log as it is, for those that have it open, or for the next opening: folded into the file, a hole
  /// in it could damage the file.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return database_.getHandle(); }
  [[nodiscard]] SQLite::Database& database() noexcept { return database_; }
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  [[nodiscard]] Statement prepare(std::string_view sql) const { return Statement(handle(), sql, prefix_); }

  /// FULL: a commit is fsynced before it returns. Outside a transaction. Throws `databaseError` when SQLite does not
  /// follow.
  void setFullSync(bool full);
  /// Whether the file's name is another file's by now, or nobody's. Costs a look at the folder; false where the VFS
  /// does not know.
  [[nodiscard]] bool hasMoved() const noexcept;
  /// Why the log is written as SQLite writes it, and not by one call a commit; empty: it is not. From any thread.
  [[nodiscard]] std::string whyLogNotBatched() const;
  /// Whether a power cut may take what is committed, whatever is synced, because a sync failed (`rewriteLog` says why).
  /// As long as it is, nothing may count as durable and no checkpoint be made. So it is at first, until `mendLog` or
  /// `trustLog`: the sync may have failed in a process that ended.
  [[nodiscard]] bool isLogDoubtful() const noexcept { return isDoubtful_; }
  void doubtLog() noexcept;
  /// Called whenever it is doubted, and for a sync of it that failed with the writer lock still held: no other process
  /// can open the file in between. It may not use the connection, nor throw; empty: nothing is called.
  void whenDoubted(std::function<void()> callback) noexcept { whenDoubted_ = std::move(callback); }
  /// How often it was doubted here.
  [[nodiscard]] std::uint32_t failures() const noexcept { return failures_; }
  /// No process that has it open doubts it.
  void trustLog() noexcept { isDoubtful_ = false; }
  /// In a transaction that has written nothing to the log yet. Throws `ioError`: it is doubtful as before.
  void mendLog();
  /// Bytes of the doubtful log cannot be read back: nothing may be written behind them.
  [[nodiscard]] bool isLogLost() const noexcept { return isLost_; }

  /// When it was opened the file was there, and empty.
  [[nodiscard]] bool wasEmpty() const noexcept { return wasEmpty_; }

  /// Foreign code may have changed it: the next `setFullSync` asks SQLite.
  void doubtSync() noexcept;

private:
  /// Whether SQLite copies the log into the database when this is the last connection to close.
  void setFoldsAtClose(bool folds) noexcept;
  void enterWalMode(const OutboxOptions& options);

  // Before the next line makes it.
  const bool wasThere_;
  SQLite::Database database_;
  const std::string prefix_;
  // 0: not set yet.
  int synchronous_ = 0;
  // Constant after construction: how this SQLite differs from what the batched log rests on; empty: it does not.
  std::string logDifference_;
  std::optional<BatchedLog> log_;
  std::function<void()> whenDoubted_;
  bool isDoubtful_ = true;
  std::uint32_t failures_ = 0;
  bool isLost_ = false;
  bool wasEmpty_ = false;
};

/// Opens `file` in SQLite, with its failures as `Error`.
[[nodiscard]] SQLite::Database openDatabase(const std::filesystem::path& file, const OutboxOptions& options, int flags);

/// The operating system layer below `connection`, which its waits go through: a simulated one takes no time.
[[nodiscard]] sqlite3_vfs* vfsOf(sqlite3* connection) noexcept;

}  // namespace ackbox::sqlite
