#include "store/sqlite/schema/moved.hpp"

#include "ackbox/error.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr const char* kMake =
    "CREATE TABLE #moved(database TEXT NOT NULL,name TEXT NOT NULL,is_complete INTEGER NOT NULL,at_ms INTEGER NOT "
    "NULL);"
    "CREATE TRIGGER #moved_outbox BEFORE INSERT ON #outbox BEGIN SELECT RAISE(ABORT,'the outbox was moved to a "
    "database: the table #moved names it'); END";

}  // namespace

std::optional<MovedMark> movedMark(sqlite3* connection, std::string_view prefix) {
  // A view or a virtual table would run foreign code.
  Statement object(
      connection,
      "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1 COLLATE NOCASE AND sql LIKE 'CREATE TABLE %'", {});
  const std::string name = std::string(prefix) + "moved";
  if (!Query(object, name).next()) {
    return std::nullopt;
  }
  Statement select(connection, "SELECT database,name,is_complete FROM #moved", prefix);
  Query query(select);
  return query.next() ? std::optional(MovedMark{query.text(0), query.text(1), query.integer(2) != 0}) : std::nullopt;
}

void requireNotMoved(sqlite3* connection, std::string_view prefix) {
  if (const std::optional<MovedMark> mark = movedMark(connection, prefix)) {
    throw Error(Errc::databaseMoved, mark->whereTo());
  }
}

void setMovedMark(sqlite3* connection, std::string_view prefix, const MovedMark& mark, WallTime now) {
  if (movedMark(connection, prefix)) {
    Statement clear(connection, "DELETE FROM #moved", prefix);
    Query(clear).run();
  } else {
    execute(connection, expand(kMake, prefix));
  }
  Statement insert(connection, "INSERT INTO #moved(database,name,is_complete,at_ms) VALUES(?1,?2,?3,?4)", prefix);
  Query(insert, mark.database, mark.name, mark.isComplete, now).run();
}

void removeMovedMark(sqlite3* connection, std::string_view prefix) {
  execute(connection, expand("DROP TRIGGER #moved_outbox; DROP TABLE #moved", prefix));
}

}  // namespace ackbox::store::sqlite
