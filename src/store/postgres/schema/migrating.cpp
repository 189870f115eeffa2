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

void requireVersion(Connection& connection, int version) {
  if (version == kSchemaVersion) {
    return;
  }
  const Result writer = connection.execute("SELECT written_by FROM #meta");
  throw Error(
      version > kSchemaVersion ? Errc::schemaTooNew : Errc::schemaTooOld,
      "the tables have version " + std::to_string(version) + ", made by ackbox " + writer.front().text(0) +
          "; this is ackbox " ACKBOX_VERSION ", which knows version " + std::to_string(kSchemaVersion) +
          (version > kSchemaVersion ? "" : ": let that one deliver what waits, then DROP SCHEMA ackbox CASCADE"));
}

}  // namespace

void makeSchema(Connection& connection, const OutboxOptions& options) {
  if (const int version = versionOf(connection); version != 0) {
    requireVersion(connection, version);
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

void requireSchema(Connection& connection) {
  const int version = versionOf(connection);
  if (version == 0) {
    throw Error(Errc::schemaMissing, "the database has no schema ackbox");
  }
  requireVersion(connection, version);
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
