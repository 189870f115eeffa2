#pragma once

#include <span>
#include <string>

#include "store/postgres/schema/tables.hpp"
#include "store/postgres/schema/versions.hpp"

namespace ackbox::testing {

inline constexpr const char* kTenantChange = "A message may name its tenant.";
inline constexpr const char* kColourChange = "A message has a colour.";

inline std::string withColumn(std::string tables, const std::string& column) {
  return tables.insert(tables.find("data bytea NOT NULL\n) WITH (fillfactor = 90)"), column + ",\n  ");
}

/// Versions of the tables that exist in tests alone. Version 2 has one more column, which may be left out, and an index
/// on it: a program that knows version 1 may go on. Version 3 has another one, which a program of an earlier version
/// leaves as it should not be.
struct PostgresVersions {
  using Migration = store::postgres::Migration;
  using Schema = store::postgres::Schema;

  const std::string index = "CREATE INDEX outbox_tenant ON #outbox(tenant) WHERE tenant IS NOT NULL;";
  const std::string tables2 = withColumn(store::postgres::kTablesSql, "tenant text") + index;
  const std::string tables3 = withColumn(tables2, "colour text DEFAULT 'of the old rule'");
  const std::string step2 = "ALTER TABLE #outbox ADD COLUMN tenant text;" + index;
  const std::string step3 =
      "ALTER TABLE #outbox ADD COLUMN colour text DEFAULT 'of the old rule';UPDATE #outbox SET colour='red'";
  const Migration migrations[2] = {{1, 2, step2.c_str(), kTenantChange}, {2, 3, step3.c_str(), kColourChange}};

  [[nodiscard]] Schema one() const { return {1, 1, store::postgres::kTablesSql, store::postgres::kFunctionsSql, {}}; }
  [[nodiscard]] Schema two() const {
    return {2, 1, tables2.c_str(), store::postgres::kFunctionsSql, std::span(migrations).first(1)};
  }
  [[nodiscard]] Schema three() const { return {3, 3, tables3.c_str(), store::postgres::kFunctionsSql, migrations}; }
};

}  // namespace ackbox::testing
