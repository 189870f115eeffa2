#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

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

/// Makes the tables of the current version in a file that has none, without its views. In the caller's transaction.
void createTables(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
