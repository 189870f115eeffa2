#include "store/postgres/schema/new_store.hpp"

#include <string>

#include "ackbox/error.hpp"
#include "store/decisions/uuid.hpp"
#include "store/postgres/lock_wait.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/schema/rules.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {
namespace {

// As src/store/sqlite/schema/new_store.cpp does it. The order matters: the remaining rows get the numbers.
constexpr const char* kSteps[] = {
    // The peers have these messages. An ACK event names the old store's number, so it would settle nothing here.
    "WITH gone AS (DELETE FROM #outbox WHERE state IN (2,3) RETURNING session_id,state,octet_length(data) AS bytes) "
    "INSERT INTO #counts(peer_id,sent,retained,pending_bytes) SELECT s.peer_id,-count(*) FILTER (WHERE g.state=2),"
    "-count(*) FILTER (WHERE g.state=3),-coalesce(sum(g.bytes) FILTER (WHERE g.state=2),0) FROM gone AS g JOIN "
    "#sessions AS s ON s.id=g.session_id GROUP BY s.peer_id",
    "DELETE FROM #claims",
    "DELETE FROM #vacated_numbers",
    "UPDATE #idempotency_keys SET sequence=0 WHERE sequence<>0",
    "UPDATE #publications SET sequence=0 WHERE sequence<>0",
    // By way of numbers below 0, which the index leaves out: no row meets the number that another one has still.
    "UPDATE #outbox AS o SET sequence=-r.number FROM (SELECT id,row_number() OVER (PARTITION BY session_id ORDER BY "
    "id) AS number FROM #outbox WHERE sequence<>0) AS r WHERE o.id=r.id",
    "UPDATE #outbox SET sequence=-sequence WHERE sequence<0",
    // Each row changes, so that an enqueue with a snapshot of before fails.
    "UPDATE #session_states SET last_sequence=0,previous_sequence=0,confirmed_sequence=0,due_at_ms=0,due_is_firm=false",
    // The peers were held because of the old identity, or for a cause that the first request will show again.
    "UPDATE #peers SET down=false,hold=0,failures=0,down_since_ms=0,next_probe_at_ms=0,last_error='' WHERE down OR "
    "hold<>0 OR failures<>0",
    "UPDATE #meta SET recalls=recalls+1,orders=orders+1",
};

// The processes that have the database open, for people; empty: none.
std::string usersOf(Connection& connection) {
  return connection
      .execute(
          "SELECT string_agg('process '||o.pid||' '||coalesce('at '||host(a.client_addr),'on the server''s host'),', ' "
          "ORDER BY o.id) FROM #owners AS o JOIN pg_locks AS l ON l.locktype='advisory' AND l.granted AND "
          "l.database=(SELECT oid FROM pg_database WHERE datname=current_database()) AND "
          "l.classid='#meta'::regclass::oid AND l.objid=o.id AND l.objsubid=2 JOIN pg_stat_activity AS a ON "
          "a.pid=l.pid "
          "WHERE l.pid<>pg_backend_pid()")
      .front()
      .text(0);
}

std::uint64_t countOf(Connection& connection, int state) {
  return connection.run("SELECT count(*) FROM #outbox WHERE state=$1", state).front().as<std::uint64_t>(0);
}

NewStoreReport renumber(Connection& connection, const Schema& schema, Random& random) {
  constexpr int kPending = 0;
  constexpr int kSent = 2;
  constexpr int kAcked = 3;
  constexpr int kFailed = 4;
  // No process can open the store from here on.
  lockTables(connection);
  requireFit(versionInTransaction(connection), schema);
  if (const std::string users = usersOf(connection); !users.empty()) {
    throw Error(Errc::alreadyRunning, "it is open in " + users);
  }
  NewStoreReport report;
  const Result meta = connection.run("SELECT origin FROM #meta");
  report.originBefore = meta.empty() ? std::string() : meta.front().text(0);
  report.origin = randomUuid(random);
  report.pending = countOf(connection, kPending);
  report.failed = countOf(connection, kFailed);
  report.sentLeftOut = countOf(connection, kSent);
  report.ackedLeftOut = countOf(connection, kAcked);
  // All rows are read.
  connection.execute("SET LOCAL enable_seqscan=on");
  for (const char* const step : kSteps) {
    connection.execute(step);
  }
  connection.run("UPDATE #meta SET origin=$1", report.origin);
  if (const std::vector<Finding> findings = findingsOf(connection, Rules::all); !findings.empty()) {
    throw Error(Errc::databaseError, "an invariant is broken, and nothing was changed: " + findings.front().table +
                                         " " + std::to_string(findings.front().row) + ": " + findings.front().problem +
                                         "; see ackbox verify");
  }
  return report;
}

}  // namespace

NewStoreReport makeNewStore(Connection& connection, const Schema& schema, Random& random,
                            std::chrono::milliseconds patience) {
  connection.execute(setLockWait("", patience));
  requireFit(versionOf(connection), schema);
  connection.execute("BEGIN");
  try {
    NewStoreReport report = renumber(connection, schema, random);
    connection.execute("COMMIT");
    return report;
  } catch (...) {
    if (connection.inTransaction()) {
      connection.execute("ROLLBACK");
    }
    throw;
  }
}

}  // namespace ackbox::store::postgres
