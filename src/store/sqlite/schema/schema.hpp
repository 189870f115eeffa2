#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string_view>

namespace ackbox::store {

/// The version that this build reads and writes.
[[nodiscard]] std::int64_t currentSchemaVersion() noexcept;

/// The version in the file, 0 when the tables are not there. Throws `databaseCorrupt` when a versioned schema lacks one
/// of its tables.
[[nodiscard]] std::int64_t schemaVersion(sqlite3* connection, std::string_view prefix);

/// Throws what `version` deserves: `schemaTooNew`, or `schemaMissing` when nothing may be created.
void requireUsable(std::int64_t version, bool createSchema);

/// Brings the tables from `version` to the current one. In the caller's transaction.
void migrate(sqlite3* connection, std::string_view prefix, std::int64_t version);

}  // namespace ackbox::store
