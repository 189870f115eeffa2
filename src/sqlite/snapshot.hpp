#pragma once

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <filesystem>

#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"

namespace ackbox::sqlite {

/// A connection of its own for reading, so that no reader waits for the writer. Read-write, so that it can take part in
/// the log's locks; `query_only` keeps it from writing. If it is the last connection to close the file, it does not
/// checkpoint the log, which may come from a killed process or have a hole (`Connection::isLogDoubtful`).
///
/// Where nothing may be written, and there is no log, it reads the file as immutable: it must then be opened again once
/// it `isOutdated`.
class ReadConnection {
public:
  ReadConnection(const std::filesystem::path& file, const OutboxOptions& options);
  ~ReadConnection();
  ReadConnection(const ReadConnection&) = delete;
  ReadConnection& operator=(const ReadConnection&) = delete;

  [[nodiscard]] sqlite3* getHandle() const noexcept { return database_.getHandle(); }
  /// Whether it reads the file as immutable, and the file was changed or a log was made since. Throws
  /// `std::filesystem::filesystem_error` when the file cannot be examined.
  [[nodiscard]] bool isOutdated() const;

private:
  const std::filesystem::path file_;
  const std::filesystem::file_time_type writtenAt_;
  bool isImmutable_ = false;
  SQLite::Database database_;
};

/// One snapshot for several statements.
class Snapshot {
public:
  explicit Snapshot(sqlite3* connection) : connection_(connection) { execute(connection, "BEGIN"); }
  ~Snapshot() { sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

private:
  sqlite3* connection_;
};

}  // namespace ackbox::sqlite
