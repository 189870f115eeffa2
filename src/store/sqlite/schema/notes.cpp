#include "store/sqlite/schema/notes.hpp"

#include <string>

#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

enum class NotesTable { none, ours, other };

// A file is untrusted input: the object of this name may be a view, a foreign table, or a table with triggers.
NotesTable tableOf(sqlite3* connection, std::string_view prefix) {
  Statement objects(connection, "SELECT type,sql FROM sqlite_master WHERE tbl_name=?1 COLLATE NOCASE", {});
  const std::string name = std::string(prefix) + "notes";
  NotesTable found = NotesTable::none;
  for (Query query(objects, name); query.next();) {
    const bool isTable = query.view(0) == "table" && query.view(1).starts_with("CREATE TABLE ");
    found = isTable && found == NotesTable::none ? NotesTable::ours : NotesTable::other;
  }
  if (found != NotesTable::ours) {
    return found;
  }
  Statement columns(connection, "SELECT group_concat(name) FROM pragma_table_xinfo(?1)", {});
  Query query(columns, name);
  return query.next() && query.view(0) == "event,at_ms,times,text" ? found : NotesTable::other;
}

}  // namespace

void addNote(sqlite3* connection, std::string_view prefix, std::string_view event, std::string_view text,
             WallTime now) {
  const NotesTable table = tableOf(connection, prefix);
  if (table == NotesTable::other) {
    return;
  }
  if (table == NotesTable::none) {
    execute(connection, expand("CREATE TABLE #notes(event TEXT NOT NULL PRIMARY KEY,at_ms INTEGER NOT NULL,times "
                               "INTEGER NOT NULL,text TEXT NOT NULL) WITHOUT ROWID",
                               prefix));
  }
  Statement add(connection,
                "INSERT INTO #notes(event,at_ms,times,text) VALUES(?1,?2,1,?3) ON CONFLICT(event) DO UPDATE SET "
                "at_ms=excluded.at_ms,times=times+1,text=excluded.text",
                prefix);
  Query(add, event, now, text).run();
}

std::vector<FileNote> notesOf(sqlite3* connection, std::string_view prefix) {
  std::vector<FileNote> notes;
  if (tableOf(connection, prefix) != NotesTable::ours) {
    return notes;
  }
  Statement select(connection, "SELECT event,at_ms,times,text FROM #notes ORDER BY at_ms,event LIMIT 100", prefix);
  for (Query query(select); query.next();) {
    notes.push_back(
        {.event = query.text(0), .at = query.instant(1), .times = query.as<std::uint64_t>(2), .text = query.text(3)});
  }
  return notes;
}

void dropNotes(sqlite3* connection, std::string_view prefix) {
  if (tableOf(connection, prefix) == NotesTable::ours) {
    Statement drop(connection, "DELETE FROM #notes", prefix);
    Query(drop).run();
  }
}

}  // namespace ackbox::store::sqlite
