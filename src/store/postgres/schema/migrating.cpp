#include "store/postgres/schema/migrating.hpp"

#include <string>

#include "ackbox/error.hpp"
#include "store/postgres/schema/rules.hpp"
#include "store/postgres/schema/tables.hpp"

namespace ackbox::store::postgres {
namespace {

// 0: there are no tables.
int versionOf(Connection& connection) {
  if (connection.execute("SELECT to_regclass('#meta') IS NOT NULL").front().integer(0) == 0) {
    return 0;
  }
  const Result result = connection.execute("SELECT version FROM #meta");
  return result.empty() ? kSchemaVersion : result.front().as<int>(0);
}

}  // namespace

void makeSchema(Connection& connection, const OutboxOptions& options) {
  if (const int version = versionOf(connection); version != 0) {
    if (version > kSchemaVersion) {
      throw Error(Errc::schemaTooNew, "the tables are of version " + std::to_string(version));
    }
    return;
  }
  if (!options.createSchema) {
    throw Error(Errc::schemaMissing, "the database has no schema ackbox, and createSchema is off");
  }
  connection.execute("BEGIN");
  try {
    // The number only has to be everybody's.
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('ackbox schema'))");
    if (versionOf(connection) == 0) {
      connection.execute(kTablesSql);
      connection.execute(kFunctionsSql);
    }
    connection.execute("COMMIT");
  } catch (...) {
    connection.execute("ROLLBACK");
    throw;
  }
}

void recount(Connection& connection, RepairReport& report) {
  connection.execute("LOCK TABLE #counts, #sender_shares IN SHARE ROW EXCLUSIVE MODE");
  for (const Finding& finding : findingsOf(connection, Rules::gauges)) {
    ++report.mended;
    report.findings.push_back(finding.table + " " + std::to_string(finding.row) + ": " + finding.problem);
  }
  if (report.mended != 0) {
    connection.execute(recountSql());
  }
}

}  // namespace ackbox::store::postgres
