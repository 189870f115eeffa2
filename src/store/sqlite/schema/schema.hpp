#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

namespace ackbox::store::sqlite {

/// The version in the file, 0 when the tables are not there. Throws `databaseCorrupt` when a versioned schema lacks one
/// of its tables, and `databaseError` when its layout is none that was released.
[[nodiscard]] std::int64_t schemaVersion(sqlite3* connection, std::string_view prefix);

/// Throws what `version` deserves: `schemaTooNew`, or `schemaMissing` when nothing may be created.
void requireUsable(std::int64_t version, bool createSchema);

/// Makes the tables of the current version in a file that has none. In the caller's transaction.
void createTables(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
