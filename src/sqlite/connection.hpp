#pragma once

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"
#include "sqlite/wal/batched_log.hpp"

namespace ackbox::store {

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
  /// Foreign code may have changed it: the next `setFullSync` asks SQLite.
  void doubtSync() noexcept;

private:
  void enterWalMode(const OutboxOptions& options);

  SQLite::Database database_;
  const std::string prefix_;
  // 0: not set yet.
  int synchronous_ = 0;
  // Constant after construction: how this SQLite differs from what the batched log rests on; empty: it does not.
  std::string logDifference_;
  std::optional<BatchedLog> log_;
};

/// Opens `file` in SQLite, with its failures as `Error`.
[[nodiscard]] SQLite::Database openDatabase(const std::filesystem::path& file, const OutboxOptions& options, int flags);

/// The first column of the only row, such as a PRAGMA's value.
[[nodiscard]] std::string scalar(sqlite3* connection, std::string_view sql);

}  // namespace ackbox::store
