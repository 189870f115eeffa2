#pragma once

#include <sqlite3.h>

#include <string_view>

#include "ackbox/file_info.hpp"

namespace ackbox::store::sqlite {

/// The changes that tables need, without a backup; none if they have this program's version. Throws as
/// `requireVersion` for tables that cannot be migrated.
[[nodiscard]] MigrationReport neededMigration(sqlite3* connection, std::string_view prefix);

/// Makes these changes, and makes the views anew. In the caller's transaction. Throws `databaseError` if the tables are
/// not this program's then; the caller undoes the transaction.
void migrateTables(sqlite3* connection, std::string_view prefix);

}  // namespace ackbox::store::sqlite
