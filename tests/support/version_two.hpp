#pragma once

#include <string>

#include "store/sqlite/schema/tables.hpp"
#include "store/sqlite/schema/versions.hpp"

namespace ackbox::testing {

inline constexpr const char* kVersionTwoChange = "A message may name its tenant.";

/// A version 2 of the tables that exists in tests alone: one more column, and an index on it.
[[nodiscard]] inline const store::sqlite::Schema& versionTwo() {
  static const std::string kIndex = "CREATE INDEX #outbox_tenant ON #outbox(tenant) WHERE tenant IS NOT NULL;\n";
  static const std::string kTables = [] {
    std::string sql = store::sqlite::kTablesSql;
    sql.insert(sql.find("\n);", sql.find("CREATE TABLE #outbox(")), "\n  , tenant TEXT  -- whose it is");
    return sql.insert(sql.find("CREATE TABLE #idempotency_keys"), kIndex);
  }();
  static const std::string kStatements = "ALTER TABLE #outbox ADD COLUMN tenant TEXT;" + kIndex;
  static const store::sqlite::Migration kMigrations[] = {{1, 2, kStatements.c_str(), kVersionTwoChange}};
  static const store::sqlite::Schema kSchema{2, kTables.c_str(), kMigrations};
  return kSchema;
}

}  // namespace ackbox::testing
