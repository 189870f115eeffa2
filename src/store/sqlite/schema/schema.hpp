#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::store::sqlite {

/// The version in the file, 0 if there are no tables. Throws `databaseCorrupt` if a versioned schema lacks one of its
/// tables, and `schemaTooOld` if a build before the first release made it.
[[nodiscard]] std::int64_t schemaVersion(sqlite3* connection, std::string_view prefix);

/// Throws as `schemaVersion`, and `databaseMoved`, `schemaTooNew`, `schemaTooOld`, `schemaOutdated`, or `schemaMissing`
/// when there are no tables and none may be created.
void requireVersion(sqlite3* connection, std::string_view prefix, bool createSchema);

/// The same, and `schemaTooOld` when the tables lack a column.
void requireUsable(sqlite3* connection, std::string_view prefix, bool createSchema);

/// Throws `databaseError` when a foreign object has the name of a view, or, if there are no tables yet, of a table or
/// an index.
void refuseOthersOfOurNames(sqlite3* connection, std::string_view prefix);

/// The version of a file's tables.
struct SchemaInfo {
  std::int64_t version = 0;
  /// The release of ackbox that made the tables.
  std::string writtenBy;
};
[[nodiscard]] SchemaInfo schemaInfo(sqlite3* connection, std::string_view prefix);

/// A table, an index or a view of the current version.
struct SchemaObject {
  struct Column {
    std::string name;
    /// INTEGER, TEXT or BLOB.
    std::string type;
    bool isNullable = false;
  };

  /// "table", "index" or "view".
  std::string kind;
  /// With its prefix.
  std::string name;
  /// The statement that makes it.
  std::string sql;
  /// The columns of a table, in their order.
  std::vector<Column> columns;
};
[[nodiscard]] std::vector<SchemaObject> schemaObjects(std::string_view prefix);

enum class ObjectState : std::uint8_t {
  ours,
  missing,
  /// An object with another definition has its name.
  other,
};
/// Comments, spaces and case make no difference.
[[nodiscard]] ObjectState stateOf(sqlite3* connection, const SchemaObject& object);

/// Creates the missing objects of this kind, which is not "table", and replaces those with another definition; an index
/// that its rows violate is left as it is. Returns the names of the created objects. In the caller's transaction;
/// foreign objects of these names are refused before.
std::vector<std::string> restoreObjects(sqlite3* connection, std::string_view prefix, std::string_view kind);

/// Creates the tables of the current version, without its views, in a file that has none. In the caller's transaction.
void createTables(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
