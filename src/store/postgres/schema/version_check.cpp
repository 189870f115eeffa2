#include "store/postgres/schema/version_check.hpp"

#include <string>

#include "ackbox/error.hpp"

namespace ackbox::store::postgres {

TablesVersion versionOf(Connection& connection) {
  const Result there = connection.execute("SELECT to_regclass('#schema') IS NOT NULL,to_regclass('#meta') IS NOT NULL");
  if (there.front().integer(0) == 0) {
    if (there.front().integer(1) != 0) {
      throw Error(Errc::schemaTooOld, "its tables have no version; DROP SCHEMA ackbox CASCADE makes room for new ones");
    }
    throw Error(Errc::schemaMissing, "the database has no schema ackbox");
  }
  return versionInTransaction(connection);
}

TablesVersion versionInTransaction(Connection& connection) {
  connection.forgetOthers();
  try {
    const Result found = connection.run("SELECT version,least,written_by FROM #schema");
    if (found.empty()) {
      throw Error(Errc::databaseBusy, "the tables were migrated since the transaction began; repeat it");
    }
    const Row row = found.front();
    return {row.as<int>(0), row.as<int>(1), row.text(2)};
  } catch (const Error&) {
    if (connection.hasMetLock()) {
      throw Error(Errc::databaseBusy, "all tables are locked, as during a migration");
    }
    throw;
  }
}

void requireFit(const TablesVersion& found, const Schema& schema) {
  if (found.version == schema.version || (found.version > schema.version && found.least <= schema.version)) {
    return;
  }
  throw Error(found.version > schema.version ? Errc::schemaTooNew : Errc::schemaOutdated,
              "its tables have version " + std::to_string(found.version) + ", made by ackbox " + found.writtenBy +
                  "; this is ackbox " ACKBOX_VERSION ", which knows version " + std::to_string(schema.version));
}

void requireLeast(Connection& connection, int least, const Schema& schema) {
  if (least > schema.version) {
    requireFit(versionInTransaction(connection), schema);
  }
}

}  // namespace ackbox::store::postgres
