#pragma once

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <filesystem>

#include "ackbox/options.hpp"
#include "store/sql.hpp"

namespace ackbox::store {

/// A connection of its own for reading, so that no reader waits for the writer. Read-write, so that the last connection
/// to close can fold the log into the file; `query_only` keeps it from writing.
[[nodiscard]] SQLite::Database openForReading(const std::filesystem::path& file, const OutboxOptions& options);

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

}  // namespace ackbox::store
