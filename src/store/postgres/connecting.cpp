#include <exception>
#include <string_view>
#include <utility>

#include "store/decisions/uuid.hpp"
#include "store/postgres/durability.hpp"
#include "store/postgres/parts.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {
namespace {

// SQL: the server's run. A clean end of the server, after which numbers go on, is no end of a run.
constexpr std::string_view kRun =
    "SELECT (SELECT system_identifier FROM pg_control_system())||'/'||left(pg_walfile_name("
    "pg_current_wal_insert_lsn()),8)||'/'||coalesce((SELECT name FROM #server_run),'')";

}  // namespace

// Outside the store's transactions, such as at the opening.
void PostgresStore::Impl::limitWaits() {
  connection.execute(setLockWait("", options.busyTimeout));
}

void PostgresStore::Impl::open() {
  limitWaits();
  makeSchema(connection, options, schema);
  unsafe = whyNotDurable(connection);
  connection.execute("BEGIN");
  try {
    requireFit(versionInTransaction(connection), schema);
    const Result meta = connection.run(
        "INSERT INTO #meta(id,origin,epoch) VALUES(1,$1,1) ON CONFLICT(id) DO UPDATE SET epoch=#meta.epoch+1 "
        "RETURNING origin,epoch",
        randomUuid(*options.random));
    origin = meta.front().text(0);
    noteServer();
    noteRun();
    begun(connection.run("SELECT epoch,orders,recalls FROM #meta").front());
    peers.configure();
    owners.registerSelf();
    owners.releaseDead();
    otherAgent = owners.otherAgent();
    connection.execute("COMMIT");
  } catch (...) {
    if (connection.inTransaction()) {
      connection.execute("ROLLBACK");
    }
    throw;
  }
}

void PostgresStore::Impl::reconnect() {
  if (!lostAt) {
    lostAt = options.clock->steadyNow();
    if (events) {
      events->lost(connection.whyLost());
    }
  }
  connection.reconnect();
}

// As another owner: a process that found the lock free has put back what the former one had.
void PostgresStore::Impl::restart() {
  reconnect();
  try {
    limitWaits();
    discovery.startOver(context.recallsMade);
    holds.restart();
    connection.execute("BEGIN");
    requireFit(versionInTransaction(connection), schema);
    requireOrigin();
    noteServer();
    noteRun();
    owners.registerSelf();
    owners.releaseDead();
    connection.execute("COMMIT");
  } catch (...) {
    // Nobody would put back what an owner without a row has claimed: the next transaction begins here again.
    connection.drop();
    throw;
  }
  const std::optional<SteadyTime> since = std::exchange(lostAt, std::nullopt);
  if (since && events) {
    events->back(std::chrono::duration_cast<std::chrono::milliseconds>(options.clock->steadyNow() - *since));
  }
}

// While this process was away, an operator may have made the outbox a new store: this one has the old identity.
void PostgresStore::Impl::requireOrigin() {
  const Result meta = connection.run("SELECT origin FROM #meta");
  isReplaced = meta.empty() || meta.front().view(0) != origin;
  if (isReplaced) {
    throw Error(Errc::databaseReplaced, "it has another identity than when it was opened");
  }
}

// In the transaction of an opening or a reconnection. With an asynchronous standby, a promotion loses commits; each has
// a timeline of its own. The epoch may be an earlier one, which peers would refuse. What they know of this store, and
// it does not, is found by content. The change is reported before it is committed as noted: a process that ends between
// the two leaves the report to the next one.
void PostgresStore::Impl::noteServer() {
  const Result changed = connection.run(
      "UPDATE #meta AS m SET server=n.server,epoch=m.epoch+CASE WHEN o.server='' THEN 0 ELSE 1 END FROM #meta AS o,"
      "(SELECT (SELECT system_identifier FROM pg_control_system())||'/'||"
      "left(pg_walfile_name(pg_current_wal_insert_lsn()),8) AS server) AS n WHERE m.server<>n.server RETURNING "
      "o.server,n.server");
  if (changed.empty() || changed.front().view(0).empty()) {
    return;
  }
  const std::string former = changed.front().text(0);
  const std::string present = changed.front().text(1);
  if (events) {
    events->serverChanged(former, present);
  }
  if (former.substr(0, former.find('/')) != present.substr(0, present.find('/'))) {
    // A dump was restored in another cluster, where the numbers of its transactions mean others.
    connection.execute("UPDATE #outbox SET xid=pg_current_xact_id()");
    connection.execute("UPDATE #inbox SET xid=pg_current_xact_id()");
  }
}

void PostgresStore::Impl::noteRun() {
  connection.run("INSERT INTO #server_run(id,name) VALUES(1,$1) ON CONFLICT DO NOTHING", randomUuid(*options.random));
  const Result run = connection.run(kRun);
  if (run.front().view(0) != context.serverRun) {
    context.serverRun = run.front().text(0);
    ++context.runs;
  }
}

// The connection was lost before the answer to a COMMIT came. The former connection's process may still be at it: once
// its lock is free, it has ended. In another run of the server, the number may be another transaction's by now: only
// the message itself proves that it was stored. Throws if it cannot be found out.
bool PostgresStore::Impl::hasCommitted() {
  reconnect();
  bool isCommitted = false;
  bool isProven = true;
  try {
    limitWaits();
    connection.run("SELECT pg_advisory_lock('#meta'::regclass::oid::integer,$1::integer)", context.owner);
    isCommitted = connection
                      .run(
                          "SELECT CASE WHEN $1::xid8<pg_snapshot_xmax(pg_current_snapshot()) THEN "
                          "coalesce(pg_xact_status($1::xid8)='committed',false) ELSE false END",
                          transaction)
                      .front()
                      .integer(0) != 0;
    if (isCommitted && connection.run(kRun).front().view(0) != context.serverRun) {
      isProven = !outbox.lastStored().empty() &&
                 !connection.run("SELECT 1 FROM #outbox WHERE message_id=$1", outbox.lastStored()).empty();
    }
  } catch (...) {
    connection.drop();
    throw;
  }
  restart();
  if (!isProven) {
    throw Error(Errc::outcomeUnknown, "the server has begun anew");
  }
  return isCommitted;
}

}  // namespace ackbox::store::postgres
