#include "store/sqlite/schema/schema.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/version.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/schema/moved.hpp"
#include "store/sqlite/schema/tables.hpp"
#include "store/sqlite/schema/versions.hpp"
#include "store/sqlite/schema/views.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// Builds before the first release used versions up to this one, and did not record their release.
constexpr std::int64_t kUnreleasedVersionMax = 3;

bool isWord(char character) noexcept {
  // `#` is the table prefix.
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '#';
}

/// SQL without comments, without quotes around names, and without spaces except between two words.
std::string plain(std::string_view sql) {
  std::string text;
  bool isApart = false;
  for (std::size_t place = 0; place < sql.size(); ++place) {
    const char character = sql[place];
    if (character == '-' && sql.substr(place).starts_with("--")) {
      place = std::min(sql.find('\n', place), sql.size());
      isApart = true;
    } else if (character == ' ' || character == '\n' || character == '\t' || character == '\r') {
      isApart = true;
    } else if (character != '"') {
      const std::size_t end = character == '\'' ? sql.find('\'', place + 1) : place;
      if (isApart && !text.empty() && isWord(text.back()) && isWord(character)) {
        text += ' ';
      }
      isApart = false;
      text += sql.substr(place, end == std::string_view::npos ? end : end - place + 1);
      place = std::min(end, sql.size());
    }
  }
  return text;
}

/// The parts of `text` between separators outside parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t place = 0; place <= text.size(); ++place) {
    const char character = place == text.size() ? separator : text[place];
    depth += character == '(' ? 1 : character == ')' ? -1 : 0;
    if (character == separator && depth == 0) {
      parts.push_back(text.substr(begin, place - begin));
      begin = place + 1;
    }
  }
  return parts;
}

/// The columns of a table, from the plain text of its definition.
std::vector<SchemaObject::Column> columnsOf(std::string_view table) {
  const std::size_t begin = table.find('(') + 1;
  std::vector<SchemaObject::Column> columns;
  for (const std::string_view part : split(table.substr(begin, table.rfind(')') - begin), ',')) {
    const std::vector<std::string_view> words = split(part, ' ');
    // Constraints of the table begin with a capital letter.
    if (std::islower(static_cast<unsigned char>(part.front())) != 0) {
      columns.push_back(
          {std::string(words[0]), std::string(words[1]),
           part.find(" NOT NULL") == std::string_view::npos && part.find(" PRIMARY KEY") == std::string_view::npos});
    }
  }
  return columns;
}

bool hasTable(sqlite3* connection, const std::string& name) {
  // A virtual table would run foreign code.
  Statement statement(
      connection,
      "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?1 COLLATE NOCASE AND sql LIKE 'CREATE TABLE %'", {});
  return Query(statement, name).next();
}

bool hasColumn(sqlite3* connection, const std::string& table, std::string_view column) {
  Statement statement(connection, "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name=?2", {});
  return Query(statement, table, column).next();
}

// Builds before the first release had other tables under this version number.
void requireLayout(sqlite3* connection, std::string_view prefix) {
  Statement statement(connection, "SELECT name FROM pragma_table_xinfo(?1)", {});
  for (const SchemaObject& object : schemaObjects(prefix)) {
    // A view cannot be examined if an index that it names is missing.
    if (object.kind != "table") {
      continue;
    }
    std::set<std::string> found;
    for (Query query(statement, object.name); query.next();) {
      found.insert(query.text(0));
    }
    for (const SchemaObject::Column& column : object.columns) {
      if (!found.contains(column.name)) {
        throw Error(Errc::schemaTooOld,
                    std::string("table ").append(object.name).append(" has no column ").append(column.name));
      }
    }
  }
}

// The release that made the tables; empty if a newer version no longer has the column.
std::string writerOf(sqlite3* connection, std::string_view prefix) {
  if (!hasColumn(connection, std::string(prefix) + "schema", "written_by")) {
    return {};
  }
  Statement statement(connection, "SELECT written_by FROM #schema", prefix);
  Query query(statement);
  return query.next() ? query.text(0) : std::string();
}

// ackbox's tables have no triggers. One would run in every statement, even those of a tool that only opens the file.
void refuseTriggers(sqlite3* connection, std::string_view prefix) {
  Statement statement(connection, "SELECT name FROM sqlite_master WHERE type='trigger' AND tbl_name=?1 COLLATE NOCASE",
                      {});
  for (const char* table : kTables) {
    const std::string name = std::string(prefix) + table;
    if (Query query(statement, name); query.next()) {
      throw Error(Errc::databaseError, "trigger " + query.text(0) + " on table " + name +
                                           " is not ackbox's: drop it (DROP TRIGGER), or open another file");
    }
  }
}

}  // namespace

std::int64_t schemaVersion(sqlite3* connection, std::string_view prefix) {
  const std::string start(prefix);
  if (!hasTable(connection, start + "schema")) {
    return 0;
  }
  Statement statement(connection, "SELECT version FROM #schema", prefix);
  Query query(statement);
  if (!query.next()) {
    throw Error(Errc::databaseCorrupt, "table " + start + "schema is empty");
  }
  const std::int64_t version = query.integer(0);
  refuseTriggers(connection, prefix);
  if (version > currentSchema().version) {
    // A newer version may have other tables; the caller refuses it as too new.
    return version;
  }
  if (version < 1 || hasColumn(connection, start + "outbox", "owner_id")) {
    throw Error(Errc::schemaTooOld, "the tables have the layout of version " + std::to_string(version));
  }
  if (version < currentSchema().version) {
    // It may lack tables; the caller refuses or migrates it.
    return version;
  }
  for (const char* table : kTables) {
    if (!hasTable(connection, start + table)) {
      throw Error(Errc::databaseCorrupt, "table " + start + table + " is missing");
    }
  }
  return version;
}

void requireVersion(sqlite3* connection, std::string_view prefix, bool createSchema) {
  requireNotMoved(connection, prefix);
  const std::int64_t version = schemaVersion(connection, prefix);
  const std::int64_t known = currentSchema().version;
  if (version == 0 && !createSchema) {
    throw Error(Errc::schemaMissing, "no tables with the prefix '" + std::string(prefix) + "'");
  }
  if (version == 0 || version == known) {
    return;
  }
  const std::string writer = writerOf(connection, prefix);
  if (version <= kUnreleasedVersionMax && writer.empty()) {
    throw Error(Errc::schemaTooOld, "the tables have the layout of version " + std::to_string(version));
  }
  throw Error(version > known ? Errc::schemaTooNew : Errc::schemaOutdated,
              "its tables have version " + std::to_string(version) + ", made by " +
                  (writer.empty() ? "an ackbox that is not named" : "ackbox " + writer) + "; this is ackbox " +
                  std::string(kVersion) + ", which knows version " + std::to_string(known));
}

void requireUsable(sqlite3* connection, std::string_view prefix, bool createSchema) {
  requireVersion(connection, prefix, createSchema);
  if (schemaVersion(connection, prefix) != 0) {
    requireLayout(connection, prefix);
  }
}

void refuseOthersOfOurNames(sqlite3* connection, std::string_view prefix) {
  // If the tables exist, they and the views are ackbox's.
  const bool isNew = !hasTable(connection, std::string(prefix) + "schema");
  // Triggers have a separate namespace.
  Statement statement(
      connection,
      "SELECT type,name FROM sqlite_master WHERE name=?1 COLLATE NOCASE AND type<>'trigger' AND (?2 OR type<>'view')",
      {});
  for (const SchemaObject& object : schemaObjects(prefix)) {
    if (!isNew && object.kind != "view") {
      continue;
    }
    if (Query query(statement, object.name, isNew ? 1 : 0); query.next()) {
      throw Error(Errc::databaseError, query.text(0) + " " + query.text(1) +
                                           " has a name that ackbox needs: rename it, or set another "
                                           "table prefix");
    }
  }
}

SchemaInfo schemaInfo(sqlite3* connection, std::string_view prefix) {
  return {schemaVersion(connection, prefix), writerOf(connection, prefix)};
}

std::vector<SchemaObject> schemaObjects(std::string_view prefix) {
  constexpr std::size_t kWordBytes = 6;
  static const std::string kPlain = plain(kTablesSql);
  std::vector<SchemaObject> objects;
  const char* const sql = currentSchema().tables;
  const std::string tables = expand(sql == kTablesSql ? kPlain : plain(sql), prefix);
  for (const std::string_view one : split(tables, ';')) {
    if (one.starts_with("CREATE ")) {
      const bool isTable = one.starts_with("CREATE TABLE ");
      const std::size_t begin = one.find(isTable ? "TABLE " : "INDEX ") + kWordBytes;
      const std::string_view name = one.substr(begin, one.find_first_of("( ", begin) - begin);
      objects.push_back({isTable ? "table" : "index", std::string(name), std::string(one),
                         isTable ? columnsOf(one) : std::vector<SchemaObject::Column>()});
    }
  }
  for (View& view : views(prefix)) {
    objects.push_back({"view", std::move(view.name), std::move(view.sql), {}});
  }
  return objects;
}

ObjectState stateOf(sqlite3* connection, const SchemaObject& object) {
  Statement statement(connection, "SELECT sql FROM sqlite_master WHERE type=?1 AND name=?2 COLLATE NOCASE", {});
  Query query(statement, object.kind, object.name);
  if (!query.next()) {
    return ObjectState::missing;
  }
  // The prefix may be written in another case: SQLite's names are case-insensitive.
  return sqlite3_stricmp(plain(query.text(0)).c_str(), plain(object.sql).c_str()) == 0 ? ObjectState::ours
                                                                                       : ObjectState::other;
}

std::vector<std::string> restoreObjects(sqlite3* connection, std::string_view prefix, std::string_view kind) {
  std::vector<std::string> made;
  for (const SchemaObject& object : schemaObjects(prefix)) {
    const ObjectState state = object.kind == kind ? stateOf(connection, object) : ObjectState::ours;
    if (state == ObjectState::ours) {
      continue;
    }
    execute(connection, "SAVEPOINT ackbox_object");
    try {
      if (state == ObjectState::other) {
        execute(connection, "DROP " + object.kind + " " + object.name);
      }
      execute(connection, object.sql);
      made.push_back(object.name);
    } catch (const Error& error) {
      if (error.code() != Errc::databaseError) {
        throw;
      }
      execute(connection, "ROLLBACK TO ackbox_object");
    }
    execute(connection, "RELEASE ackbox_object");
  }
  return made;
}

void createTables(sqlite3* connection, std::string_view prefix) {
  execute(connection, expand(currentSchema().tables, prefix));
  Statement insert(connection, "INSERT INTO #schema(version,written_by) VALUES(?1,?2)", prefix);
  Query(insert, currentSchema().version, kVersion).run();
}

}  // namespace ackbox::store::sqlite
