#include "extension/marks.hpp"

#include "sqlite/statement.hpp"

namespace ackbox::extension {
namespace {

constexpr std::string_view kMark =
    "INSERT INTO main.ackbox_marks(source,origin,session,sequence) VALUES(?1,?2,?3,?4) ON "
    "CONFLICT(source,origin,session) "
    "DO UPDATE SET sequence=excluded.sequence,result=NULL WHERE excluded.sequence>ackbox_marks.sequence";
constexpr std::string_view kMarkId =
    "INSERT INTO main.ackbox_mark_ids(source,id,applied_at_ms) VALUES(?1,?2,?3) ON CONFLICT(source,id) DO NOTHING";

}  // namespace

void createMarks(sqlite3* connection) {
  // Looked up in memory: a statement for it would be parsed at each mark.
  const auto isThere = [connection](const char* table) {
    return sqlite3_table_column_metadata(connection, "main", table, nullptr, nullptr, nullptr, nullptr, nullptr,
                                         nullptr) == SQLITE_OK;
  };
  if (isThere("ackbox_marks") && isThere("ackbox_mark_ids")) {
    return;
  }
  sqlite::execute(connection,
                  "CREATE TABLE IF NOT EXISTS main.ackbox_marks (source TEXT NOT NULL, origin TEXT NOT NULL, session "
                  "TEXT NOT NULL, sequence BIGINT NOT NULL, result TEXT, PRIMARY KEY (source, origin, session));"
                  "CREATE TABLE IF NOT EXISTS main.ackbox_mark_ids (source TEXT NOT NULL, id TEXT NOT NULL, "
                  "applied_at_ms BIGINT NOT NULL, result TEXT, PRIMARY KEY (source, id))");
}

bool mark(sqlite3* connection, const Place& place) {
  createMarks(connection);
  sqlite::Statement insert(connection, kMark, {});
  return sqlite::Query(insert, place.source, place.origin, place.session, place.sequence).run() != 0;
}

bool markId(sqlite3* connection, std::string_view source, std::string_view id, WallTime now) {
  createMarks(connection);
  sqlite::Statement insert(connection, kMarkId, {});
  return sqlite::Query(insert, source, id, now).run() != 0;
}

}  // namespace ackbox::extension
