#include "store/postgres/moving.hpp"

#include <utility>

#include "store/postgres/lock_wait.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store/postgres/schema/rules.hpp"
#include "store/postgres/schema/version_check.hpp"

namespace ackbox::store::postgres {
namespace {

// Of a key whose message has gone, it is not known what it was given for: it is in conflict with nothing.
constexpr const char* kDigests =
    "UPDATE #idempotency_keys AS k SET digest=#digest(s.name,o.type,o.data) FROM #outbox AS o JOIN #sessions AS s ON "
    "s.id=o.session_id WHERE o.message_id=coalesce(nullif(k.message_id,''),(SELECT p.message_id FROM #publications AS "
    "p WHERE p.key=k.key AND k.peer_id=0 ORDER BY p.position LIMIT 1))";

// Numbers go on behind the rows.
constexpr const char* kNumbers =
    "SELECT setval(pg_get_serial_sequence('#peers','id'),max(id)) FROM #peers HAVING max(id)>0;"
    "SELECT setval(pg_get_serial_sequence('#sessions','id'),max(id)) FROM #sessions HAVING max(id)>0;"
    "SELECT setval(pg_get_serial_sequence('#inbound_sessions','id'),max(id)) FROM #inbound_sessions HAVING max(id)>0";

constexpr const char* kAnalyze =
    "ANALYZE #outbox;ANALYZE #sessions;ANALYZE #session_states;ANALYZE #peers;ANALYZE #inbox;ANALYZE "
    "#inbound_sessions;ANALYZE #processed_messages;ANALYZE #idempotency_keys;ANALYZE #publications";

OutboxOptions making(OutboxOptions options) {
  options.createSchema = true;
  return options;
}

}  // namespace

MovedDatabase::MovedDatabase(const std::string& location, const OutboxOptions& options) : connection_(location) {
  connection_.execute(setLockWait("", options.busyTimeout));
  makeSchema(connection_, making(options), schema_);
}

std::string MovedDatabase::identity() {
  return connection_
      .execute(
          "SELECT (SELECT system_identifier FROM pg_control_system())||'/'||(SELECT oid FROM pg_database WHERE "
          "datname=current_database())")
      .front()
      .text(0);
}

MovedDatabase::Found MovedDatabase::beginMove(const MovedOutbox& outbox) {
  connection_.execute("BEGIN");
  requireFit(versionInTransaction(connection_), schema_);
  // A process that was killed may have a COMMIT under way.
  connection_.execute("SELECT pg_advisory_xact_lock(hashtext('ackbox move'))");
  // A process that opens a store meanwhile waits for this row.
  const Result made = connection_.run(
      "INSERT INTO #meta(id,origin,epoch,orders,recalls,inbox_orders) VALUES(1,$1,$2,$3,$4,$5) ON CONFLICT DO NOTHING "
      "RETURNING 1",
      outbox.origin, outbox.epoch, outbox.orders, outbox.recalls, outbox.inboxOrders);
  if (!made.empty()) {
    return Found::nothing;
  }
  return connection_.run("SELECT origin FROM #meta").front().view(0) == outbox.origin ? Found::thisOutbox
                                                                                      : Found::anotherOutbox;
}

void MovedDatabase::begin(std::string_view table, std::string_view columns) {
  if (copy_) {
    copy_->end();
  }
  copy_.emplace(connection_, table, columns);
}

void MovedDatabase::add(std::span<const std::optional<std::string_view>> row) {
  copy_->add(row);
}

void MovedDatabase::complete(const MovedOutbox& outbox) {
  copy_->end();
  copy_.reset();
  // All rows are read: the plans by index of the store's own statements do not fit.
  connection_.execute("SET LOCAL enable_seqscan=on");
  connection_.execute(kAnalyze);
  connection_.execute(kDigests);
  connection_.execute(kNumbers);
  connection_.run("SELECT setval('#outbox_id',$1::bigint) WHERE $1::bigint>0", outbox.lastKey);
  connection_.run("SELECT setval(pg_get_serial_sequence('#inbox','id'),$1::bigint) WHERE $1::bigint>0",
                  outbox.lastInboxKey);
  if (const std::vector<Finding> findings = findingsOf(connection_, Rules::all); !findings.empty()) {
    throw Error(Errc::databaseError, "the copy breaks an invariant: " + findings.front().table + " " +
                                         std::to_string(findings.front().row) + ": " + findings.front().problem);
  }
}

void MovedDatabase::commit() {
  connection_.execute("COMMIT");
}

}  // namespace ackbox::store::postgres
