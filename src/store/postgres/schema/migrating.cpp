#include "store/postgres/schema/migrating.hpp"

#include <string>
#include <string_view>

#include "ackbox/error.hpp"
#include "store/postgres/lock_wait.hpp"
#include "store/postgres/schema/rules.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {
namespace {

/// Runs `work` in a transaction of its own.
template <typename Work>
void inTransaction(Connection& connection, const Work& work) {
  connection.execute("BEGIN");
  try {
    work();
    connection.execute("COMMIT");
  } catch (...) {
    if (connection.inTransaction()) {
      connection.execute("ROLLBACK");
    }
    throw;
  }
}

// One process at a time makes the tables or migrates them. The number only has to be everybody's.
void waitForOthers(Connection& connection) {
  try {
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('ackbox schema'))");
  } catch (const Error& error) {
    if (error.code() != Errc::databaseBusy || !connection.hasMetLock()) {
      throw;
    }
    throw Error(Errc::databaseBusy, "another process makes or migrates the tables, and has not ended");
  }
}

bool hasTables(Connection& connection) {
  return connection.execute("SELECT to_regclass('#schema') IS NOT NULL OR to_regclass('#meta') IS NOT NULL")
             .front()
             .integer(0) != 0;
}

void makeFunctions(Connection& connection, const Schema& schema) {
  constexpr std::string_view kVersionWord = "@version";
  std::string sql = schema.functions;
  for (std::size_t at = sql.find(kVersionWord); at != std::string::npos; at = sql.find(kVersionWord, at)) {
    sql.replace(at, kVersionWord.size(), std::to_string(schema.version));
  }
  connection.execute(sql);
}

void setVersion(Connection& connection, const Schema& schema) {
  connection.run("INSERT INTO #schema(version,least,written_by) VALUES($1,$2,$3)", schema.version, schema.least,
                 ACKBOX_VERSION);
}

// Who holds a lock on a table that this connection has waited for, for people. They may have gone since.
std::string holdersOf(Connection& connection) {
  const Result holders = connection.execute(
      "SELECT string_agg(DISTINCT 'process '||a.pid||' of the server ('||coalesce(nullif(a.application_name,''),"
      "'a client without a name')||', '||coalesce(host(a.client_addr),'by a socket')||', '||"
      "coalesce(a.state,'state unknown')||')',', ') FROM pg_locks AS l JOIN pg_class AS c ON c.oid=l.relation JOIN "
      "pg_stat_activity AS a ON a.pid=l.pid WHERE c.relnamespace='ackbox'::regnamespace AND l.granted AND "
      "l.pid<>pg_backend_pid() AND l.database=(SELECT oid FROM pg_database WHERE datname=current_database())");
  return holders.front().text(0);
}

}  // namespace

void makeSchema(Connection& connection, const OutboxOptions& options, const Schema& schema) {
  if (hasTables(connection)) {
    requireFit(versionOf(connection), schema);
    return;
  }
  if (!options.createSchema) {
    throw Error(Errc::schemaMissing, "the database has no schema ackbox, and createSchema is off");
  }
  inTransaction(connection, [&] {
    waitForOthers(connection);
    if (hasTables(connection)) {
      requireFit(versionOf(connection), schema);
      return;
    }
    connection.execute(schema.tables);
    makeFunctions(connection, schema);
    setVersion(connection, schema);
  });
}

MigrationReport neededMigration(Connection& connection, const Schema& schema, std::chrono::milliseconds patience) {
  connection.execute(setLockWait("", patience));
  const TablesVersion found = versionOf(connection);
  if (found.version > schema.version) {
    requireFit(found, schema);
  }
  MigrationReport report{.from = found.version, .to = schema.version, .writtenBy = found.writtenBy};
  report.least = schema.least;
  for (const Migration& migration : schema.migrations) {
    if (migration.from >= found.version) {
      report.changes.emplace_back(migration.change);
    }
  }
  return report;
}

MigrationReport migrate(Connection& connection, const Schema& schema, std::chrono::milliseconds patience,
                        const std::function<void(const MigrationReport&)>& announce) {
  connection.execute(setLockWait("", patience));
  MigrationReport report;
  inTransaction(connection, [&] {
    waitForOthers(connection);
    report = neededMigration(connection, schema, patience);
    if (report.changes.empty()) {
      return;
    }
    lockTables(connection);
    if (announce) {
      announce(report);
    }
    for (const Migration& migration : schema.migrations) {
      if (migration.from >= report.from) {
        connection.execute(migration.statements);
      }
    }
    makeFunctions(connection, schema);
    // A transaction with a snapshot of before finds no row at all, and so cannot take the tables for those of before.
    connection.execute("TRUNCATE #schema");
    setVersion(connection, schema);
  });
  return report;
}

// The one that each transaction reads first comes first: none of them then holds another.
void lockTables(Connection& connection) {
  const std::string tables =
      connection
          .execute(
              "SELECT string_agg(c.oid::regclass::text,',' ORDER BY c.relname<>'schema',c.relname) FROM pg_class AS "
              "c WHERE c.relnamespace='ackbox'::regnamespace AND c.relkind='r'")
          .front()
          .text(0);
  connection.execute("SAVEPOINT locking");
  try {
    connection.execute("LOCK TABLE " + tables + " IN ACCESS EXCLUSIVE MODE");
  } catch (const Error& error) {
    if (error.code() != Errc::databaseBusy || !connection.inTransaction()) {
      throw;
    }
    connection.execute("ROLLBACK TO locking");
    throw Error(Errc::databaseBusy, "the tables are in use by " + holdersOf(connection) +
                                        "; nothing was changed: wait for the end of that transaction, or end it with "
                                        "pg_terminate_backend, and begin again");
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
