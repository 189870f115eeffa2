#pragma once

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <filesystem>

#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"

namespace ackbox::sqlite {

/// A connection of its own for reading, so that no reader waits for the writer. Read-write, so that it can take part in
/// the log's locks; `query_only` keeps it from writing. As the last to close a file it leaves that and its log as they
/// were: the log may be one that a killed process left behind, or that may have a hole (`Connection::isLogDoubtful`).
///
/// Where nothing may be written, and nobody has left a log, it reads the file alone, as it stands: then it must be
/// opened anew once it `isOutdated`.
class ReadConnection {
public:
  ReadConnection(const std::filesystem::path& file, const OutboxOptions& options);
  ~ReadConnection();
  ReadConnection(const ReadConnection&) = delete;
  ReadConnection& operator=(const ReadConnection&) = delete;

  [[nodiscard]] sqlite3* getHandle() const noexcept { return database_.getHandle(); }
  /// Whether it reads the file alone, and somebody has changed it or left a log since. Throws
  /// `std::filesystem::filesystem_error` when the file cannot be asked.
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
