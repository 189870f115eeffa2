#include "store/snapshot.hpp"

#include "store/connection.hpp"

namespace ackbox::store {

SQLite::Database openForReading(const std::filesystem::path& file, const OutboxOptions& options) {
  SQLite::Database database = openDatabase(file, options, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
  execute(database.getHandle(), "PRAGMA query_only=ON");
  execute(database.getHandle(), "PRAGMA wal_autocheckpoint=0");
  return database;
}

}  // namespace ackbox::store
