#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::store::sqlite {

/// The version in the file, 0 when the tables are not there. Throws `databaseCorrupt` when a versioned schema lacks one
/// of its tables, and `schemaTooOld` when it is of a build from before the first release.
[[nodiscard]] std::int64_t schemaVersion(sqlite3* connection, std::string_view prefix);

/// Throws as `schemaVersion`, and what the version deserves: `schemaTooNew`, `schemaTooOld`, or `schemaMissing` when
/// there are no tables and nothing may be created.
void requireVersion(sqlite3* connection, std::string_view prefix, bool createSchema);

/// The same, and `schemaTooOld` when the tables lack a column.
void requireUsable(sqlite3* connection, std::string_view prefix, bool createSchema);

/// Throws `databaseError` when another object has the name of one that is to be made: of a table or an index, where
/// there are no tables yet, or of a view.
void refuseOthersOfOurNames(sqlite3* connection, std::string_view prefix);

/// What the file says of its tables.
struct SchemaInfo {
  std::int64_t version = 0;
  /// The release of ackbox that made them.
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
  /// Of a table, in their order.
  std::vector<Column> columns;
};
[[nodiscard]] std::vector<SchemaObject> schemaObjects(std::string_view prefix);

enum class ObjectState : std::uint8_t {
  ours,
  missing,
  /// One of another text has its name.
  other,
};
/// Comments, spaces and case make no difference.
[[nodiscard]] ObjectState stateOf(sqlite3* connection, const SchemaObject& object);

/// Makes the objects of this kind, which is not "table", that are missing, and anew those that are others; an index
/// that its rows do not fit stays as it is. Returns the names of those that were made. In the caller's transaction;
/// other objects of these names are refused before.
std::vector<std::string> restoreObjects(sqlite3* connection, std::string_view prefix, std::string_view kind);

/// Makes the tables of the current version in a file that has none, without its views. In the caller's transaction.
void createTables(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
