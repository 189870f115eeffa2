#include "store/sqlite/schema/rules.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "sqlite/statement.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/cache/sender_shares.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"
#include "store/sqlite/schema/page_check.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr std::int64_t kNumberMax = std::int64_t{1} << 62U;
constexpr std::int64_t kWireMax = std::numeric_limits<std::int64_t>::max();

/// The range of an integer, if it is not 0 to `kNumberMax`, which leaves a number for the next row.
struct Range {
  std::string_view table;  // empty: of all
  std::string_view column;
  std::int64_t least;
  std::int64_t most;
};

constexpr Range kRanges[] = {
    // Bits, hashes, and numbers below 0 for sessions.
    {"claims", "block", std::numeric_limits<std::int64_t>::min(), kWireMax},
    {"claims", "bits", std::numeric_limits<std::int64_t>::min(), kWireMax},
    {"processed_messages", "digest", std::numeric_limits<std::int64_t>::min(), kWireMax},
    {"inbound_sessions", "accepted_digest", std::numeric_limits<std::int64_t>::min(), kWireMax},
    // Other agents choose these.
    {"peers", "store_epoch", 0, kWireMax},
    {"peers", "resent_store_epoch", 0, kWireMax},
    {"inbound_sessions", "accepted_sequence", 0, kWireMax},
    {"inbound_sessions", "gaps", 0, kWireMax},
    {"inbound_sessions", "epoch", 0, kWireMax},
    {"inbound_origins", "epoch", 0, kWireMax},
    {"inbox", "sequence", 0, kWireMax},
    {"inbox", "epoch", 0, kWireMax},
    {"inbox", "previous_sequence", 0, kWireMax},
    {"inbox_results", "sequence", 0, kWireMax},
    {"counters", "gaps", 0, kWireMax},
    {"peers", "down", 0, 1},
    {"session_states", "due_is_firm", 0, 1},
    {"inbox", "deferred", 0, 1},
    {"inbox_results", "outcome", 0, 3},
    {"outbox", "id_rest", 0, kWireMax},
};

/// A text that is JSON unless it is empty.
struct JsonText {
  std::string_view table;
  std::string_view column;
  /// The rows to which this applies.
  std::string_view condition;
};

constexpr JsonText kJsonTexts[] = {
    {"outbox", "data", "1"},
    {"outbox", "attempt_log", "1"},
    {"inbox", "data", "data_content_type IS NULL"},
    {"inbox_results", "result", "1"},
};

constexpr const char* kCounted = "counted anew";
constexpr const char* kRecount = "";

constexpr Rule kRules[] = {
    {"meta", "the store's identity is missing", "SELECT 0 WHERE NOT EXISTS(SELECT 1 FROM #meta)",
     "only a backup says which it was"},
    {"counters", "the row is missing", "SELECT 0 WHERE NOT EXISTS(SELECT 1 FROM #counters)",
     "made anew; its totals begin at 0",
     "INSERT OR IGNORE INTO #counters(id,last_key,enqueued) SELECT 1,coalesce(max(id),0),count(*) FROM #outbox "
     "RETURNING id"},
    {"counters", "last_key is no key, or leaves none for the next",
     "SELECT id FROM #counters WHERE last_key NOT BETWEEN 0 AND 1<<62", "the highest that there is",
     "UPDATE #counters SET last_key=(SELECT coalesce(max(id),0) FROM #outbox), tails_key=0 WHERE id IN ({}) AND NOT "
     "EXISTS(SELECT 1 FROM #outbox WHERE id>1<<62) RETURNING id"},
    {"counters", "tails_key is no key that was given",
     "SELECT id FROM #counters WHERE tails_key NOT BETWEEN 0 AND last_key", "the messages say their sessions' tails",
     "UPDATE #counters SET tails_key=0 WHERE id IN ({}) RETURNING id"},
    // Each number is a byte of the owners file, and the next owner needs one too.
    {"owners", "its number is out of range, or leaves no number for the next",
     "SELECT id FROM #owners WHERE id NOT BETWEEN 1 AND 1<<62", "no process can have it; deleted",
     "DELETE FROM #owners WHERE id IN ({}) RETURNING id"},
    {"owners", "sqlite_sequence leaves no number for the next",
     "SELECT seq FROM sqlite_sequence WHERE name='#owners' COLLATE NOCASE AND seq NOT BETWEEN 0 AND 1<<62",
     "the next follows the highest that there is",
     "UPDATE sqlite_sequence SET seq=(SELECT coalesce(max(id),0) FROM #owners) WHERE name='#owners' COLLATE NOCASE AND "
     "seq NOT BETWEEN 0 AND 1<<62 AND NOT EXISTS(SELECT 1 FROM #owners WHERE id>1<<62) RETURNING 0"},
    {"inbox", "sqlite_sequence leaves no number for the next",
     "SELECT seq FROM sqlite_sequence WHERE name='#inbox' COLLATE NOCASE AND seq NOT BETWEEN 0 AND 1<<62",
     "the next follows the highest that there is",
     "UPDATE sqlite_sequence SET seq=(SELECT coalesce(max(id),0) FROM #inbox) WHERE name='#inbox' COLLATE NOCASE AND "
     "seq NOT BETWEEN 0 AND 1<<62 AND NOT EXISTS(SELECT 1 FROM #inbox WHERE id>1<<62) RETURNING 0"},
    {"outbox", "its state is unknown", "SELECT id FROM #outbox WHERE state NOT IN (0,2,3,4)",
     "what became of it is not known"},
    {"outbox", "its session is missing", "SELECT id FROM #outbox WHERE session_id NOT IN (SELECT id FROM #sessions)",
     "which session it is of is not known"},
    {"outbox", "its id is beyond the last that was counted, but it is not new",
     "SELECT id FROM #outbox AS o WHERE id>(SELECT last_key FROM #counters) AND state<>0", "counted",
     "UPDATE #counters SET last_key=(SELECT max(id) FROM #outbox WHERE state<>0) WHERE EXISTS({}) RETURNING id"},
    {"outbox", "its message id is another one's as well",
     "SELECT n.id FROM #outbox AS n INDEXED BY #outbox_named JOIN #outbox AS o ON o.id=CAST(substr(n.message_id,-10) "
     "AS INTEGER) AND ~=n.message_id AND o.id<>n.id WHERE n.message_id IS NOT NULL",
     "which of the two is meant is not known"},
    {"outbox", "it has no message id, two, or one that cannot say its row",
     "SELECT id FROM #outbox WHERE coalesce(message_id='',0) OR (message_id IS NULL)=(id_rest IS NULL) OR id_rest IS "
     "NOT NULL AND id>9999999999",
     "under which id its peer may know it is not known"},
    // A message that is redriven by an UPDATE keeps its number. Its peer would take it for a repetition, and
    // acknowledge it.
    {"outbox", "it is pending again under a number that its session has passed",
     "SELECT o.id FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.state=0 AND "
     "o.reason IS NOT NULL AND o.sequence<>0 AND o.sequence<=m.previous_sequence",
     "a dead letter again, for retry", "UPDATE #outbox SET state=4 WHERE id IN ({}) RETURNING id"},
    {"claims", "its owner is not registered",
     "SELECT block FROM #claims WHERE owner_id NOT IN (SELECT id FROM #owners)", "what it claimed goes again",
     "DELETE FROM #claims WHERE owner_id NOT IN (SELECT id FROM #owners) RETURNING block"},
    {"claims", "two owners have claimed the same",
     "SELECT a.block FROM #claims AS a JOIN #claims AS b ON a.block=b.block AND a.owner_id<b.owner_id WHERE "
     "a.bits&b.bits",
     "which of them has it in flight is not known"},
    {"claims", "it claims a message that is missing or not pending",
     "WITH RECURSIVE bit(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM bit WHERE n<63) SELECT c.block FROM #claims AS c "
     "CROSS JOIN bit WHERE c.block>=0 AND c.bits>>n&1 AND NOT EXISTS(SELECT 1 FROM #outbox WHERE id=(c.block<<6)+n AND "
     "state=0)",
     "it ends with the process that made it"},
    {"claims", "it claims a session that is missing, or a queue of unordered messages",
     "WITH RECURSIVE bit(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM bit WHERE n<63) SELECT c.block FROM #claims AS c "
     "CROSS JOIN bit WHERE c.block<0 AND c.bits>>n&1 AND NOT EXISTS(SELECT 1 FROM #sessions WHERE "
     "id=((-1-c.block)<<6)+n AND lane=0)",
     "it ends with the process that made it"},
    {"outbox", "it is a dead letter without a reason",
     "SELECT id FROM #outbox INDEXED BY #outbox_failed WHERE state=4 AND coalesce(reason,'')=''",
     "its reason is unknown", "UPDATE #outbox SET reason='unknown' WHERE id IN ({}) RETURNING id"},
    {"outbox", "its sequence does not rise in its session",
     "SELECT id FROM (SELECT id,sequence,lag(sequence,1,0) OVER (PARTITION BY session_id ORDER BY id) AS earlier FROM "
     "#outbox WHERE sequence<>0) WHERE sequence<=earlier",
     "which order they had is not known"},
    // A message that was tried may be sent again from behind the predecessor, after its ACK deadline. While a message
    // is being sent, the ACK event of a later one in the same request may arrive before the answer.
    {"outbox", "it was never tried, but its session's predecessor has passed it",
     "SELECT o.id FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.state=0 AND "
     "o.attempt=0 AND o.sequence<>0 AND o.sequence<=m.previous_sequence AND NOT EXISTS(SELECT 1 FROM #claims WHERE "
     "block=o.id>>6 AND bits>>(o.id&63)&1)",
     "whether its peer has it is not known"},
    {"outbox", "it is unordered but has a sequence, or is ordered and has none",
     "SELECT o.id FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id WHERE (s.lane<>0)<>(o.sequence=0)",
     "which of the two is right is not known"},
    {"outbox", "it is unordered but could be superseded",
     "SELECT id FROM #outbox WHERE sequence=0 AND supersede_key IS NOT NULL", "it cannot be any more",
     "UPDATE #outbox SET supersede_key=NULL WHERE id IN ({}) RETURNING id"},
    {"outbox", "it was never tried, but is due at another instant than it was enqueued for",
     "SELECT id FROM #outbox WHERE state=0 AND attempt=0 AND due_at_ms<>coalesce(not_before_ms,0)",
     "due when it was enqueued for",
     "UPDATE #outbox SET due_at_ms=coalesce(not_before_ms,0) WHERE id IN ({}) RETURNING id"},
    {"sessions", "its priority is out of range",
     "SELECT id FROM #sessions WHERE priority NOT BETWEEN 0 AND 9 OR lane BETWEEN 1 AND 10 AND priority<>lane-1",
     "the default",
     "UPDATE #sessions SET priority=CASE lane WHEN 0 THEN 4 ELSE lane-1 END WHERE id IN ({}) AND lane BETWEEN 0 AND 10 "
     "RETURNING id"},
    {"sessions", "its lane is out of range", "SELECT id FROM #sessions WHERE lane NOT BETWEEN 0 AND 10",
     "whether it was a session is not known"},
    {"sessions", "it is a queue of unordered messages, but has a backoff, a name or a sequence",
     "SELECT id FROM #sessions JOIN #session_states ON session_id=id WHERE lane<>0 AND (lane<>priority+1 OR "
     "due_at_ms<>0 OR name<>'' OR last_sequence<>0 OR previous_sequence<>0)",
     "what it was is not known"},
    {"sessions", "its state is missing",
     "SELECT id FROM #sessions WHERE id NOT IN (SELECT session_id FROM #session_states)",
     "it is not known which numbers it has assigned"},
    {"session_states", "its session is missing",
     "SELECT session_id FROM #session_states WHERE session_id NOT IN (SELECT id FROM #sessions)", "deleted",
     "DELETE FROM #session_states WHERE session_id IN ({}) RETURNING session_id"},
    {"idempotency_keys", "it names no message, but a number",
     "SELECT 0 FROM #idempotency_keys WHERE message_id='' AND sequence<>0 OR sequence<0", "deleted",
     "DELETE FROM #idempotency_keys WHERE message_id='' AND sequence<>0 OR sequence<0 RETURNING 0"},
    {"publications", "its key is not known",
     "SELECT 0 FROM #publications WHERE key NOT IN (SELECT key FROM #idempotency_keys WHERE peer_id=0)", "deleted",
     "DELETE FROM #publications WHERE key NOT IN (SELECT key FROM #idempotency_keys WHERE peer_id=0) RETURNING 0"},
    {"subscriptions", "its peer is missing or removed",
     "SELECT 0 FROM #subscriptions WHERE peer_id NOT IN (SELECT id FROM #peers WHERE removed_at_ms=0)",
     "nothing is published to it; deleted",
     "DELETE FROM #subscriptions WHERE peer_id NOT IN (SELECT id FROM #peers WHERE removed_at_ms=0) RETURNING 0"},
    {"idempotency_keys", "the message that it names stands before its first place",
     "SELECT 0 FROM #idempotency_keys AS k JOIN #outbox AS o ON o.id=CAST(substr(k.message_id,-10) AS INTEGER) AND "
     "~=k.message_id WHERE o.sequence<k.sequence UNION ALL SELECT 0 FROM #idempotency_keys AS k JOIN #outbox AS o "
     "INDEXED BY #outbox_named ON o.message_id=k.message_id WHERE o.sequence<k.sequence",
     "which of the two is right is not known"},
    {"sessions", "its peer is missing", "SELECT id FROM #sessions WHERE peer_id NOT IN (SELECT id FROM #peers)",
     "where its messages go is not known"},
    {"session_states", "its last sequence is behind a message of it",
     "SELECT m.session_id FROM #session_states AS m JOIN (SELECT session_id,max(sequence) AS highest FROM #outbox "
     "WHERE id<=(SELECT tails_key FROM #counters) GROUP BY session_id) AS o ON o.session_id=m.session_id WHERE "
     "m.last_sequence<o.highest",
     kCounted, kRecount},
    {"session_states", "its predecessor is ahead of its last sequence",
     "SELECT m.session_id FROM #session_states AS m $ WHERE "
     "m.previous_sequence>max(m.last_sequence,coalesce(t.last_sequence,0))",
     "which of the two is right is not known"},
    {"session_states", "its predecessor was never accepted",
     "SELECT session_id FROM #session_states WHERE previous_sequence>confirmed_sequence",
     "which of the two is right is not known"},
    {"session_states", "a number was accepted that it has not given away",
     "SELECT m.session_id FROM #session_states AS m $ WHERE "
     "m.confirmed_sequence>max(m.last_sequence,coalesce(t.last_sequence,0))",
     "which of the two is right is not known"},
    {"sessions", "its rows were put back more often than any",
     "SELECT id FROM #sessions WHERE recall>(SELECT recalls FROM #meta)", "which of the two is right is not known"},
    {"peers", "it has forgotten, and not when, or the other way round",
     "SELECT id FROM #peers WHERE (resets<>0)<>(reset_at_ms<>0) OR (resets=0 AND resent<>0)",
     "when it has is not known"},
    {"inbound_sessions", "its epoch is newer than its sender's store",
     "SELECT s.id FROM #inbound_sessions AS s LEFT JOIN #inbound_origins AS o ON o.source=s.source AND "
     "o.origin=s.origin WHERE s.epoch>coalesce(o.epoch,0)",
     "which of the two is right is not known"},
    {"session_states", "live is not the number of its rows that are not settled",
     "SELECT m.session_id FROM #session_states AS m LEFT JOIN (SELECT session_id,count(*) AS rows FROM #outbox WHERE "
     "state<3 GROUP BY session_id) AS o ON o.session_id=m.session_id $ WHERE "
     "m.live+coalesce(t.live,0)<>coalesce(o.rows,0)",
     kCounted, kRecount},
    {"session_states", "failed is not the number of its dead letters",
     "SELECT m.session_id FROM #session_states AS m LEFT JOIN (SELECT session_id,count(*) AS rows FROM #outbox INDEXED "
     "BY #outbox_failed WHERE state=4 GROUP BY session_id) AS o ON o.session_id=m.session_id WHERE "
     "m.failed<>coalesce(o.rows,0)",
     kCounted, kRecount},
    {"outbox", "it is live, but the counters say that all live rows come after it",
     "SELECT id FROM #outbox WHERE id<(SELECT oldest_key FROM #counters) AND state<3", kCounted, kRecount},
    {"counters", "retained is not the number of ACKED rows",
     "SELECT id FROM #counters WHERE retained<>(SELECT count(*) FROM #outbox INDEXED BY #outbox_acked WHERE state=3)",
     kCounted, kRecount},
    {"peers", "the file knows several, and this one has no counters",
     "SELECT id FROM #peers WHERE id NOT IN (SELECT peer_id FROM #peer_counters) AND (SELECT count(*) FROM #peers)>1",
     "counted; its totals begin at 0", "INSERT INTO #peer_counters(peer_id) {} RETURNING peer_id"},
    {"peer_counters", "the gauges are not what its rows say",
     "SELECT c.peer_id FROM #peer_counters AS c LEFT JOIN (SELECT s.peer_id,count(*) FILTER (WHERE state=0) AS "
     "pending,count(*) FILTER (WHERE state=2) AS sent,count(*) FILTER (WHERE state=4) AS failed,sum(length(data)) "
     "FILTER (WHERE state<3) AS bytes FROM #outbox AS o CROSS JOIN #sessions AS s ON s.id=o.session_id WHERE "
     "o.id<=(SELECT last_key FROM #counters) GROUP BY s.peer_id) AS o ON o.peer_id=c.peer_id WHERE "
     "c.pending<>coalesce(o.pending,0) OR c.sent<>coalesce(o.sent,0) OR c.failed<>coalesce(o.failed,0) OR "
     "c.pending_bytes<>coalesce(o.bytes,0)",
     kCounted, kRecount},
    {"sessions", "what blocks it is no dead letter of it",
     "SELECT s.id FROM #sessions AS s INDEXED BY #sessions_blocked WHERE s.blocked_by<>0 AND NOT EXISTS(SELECT 1 FROM "
     "#outbox AS o WHERE o.id=s.blocked_by AND o.session_id=s.id AND o.state=4)",
     "unblocked", "UPDATE #sessions SET blocked_by=0, blocked_at_ms=0 WHERE id IN ({}) RETURNING id"},
    {"sessions", "it is blocked or not, but does not say since when",
     "SELECT id FROM #sessions WHERE (blocked_by<>0)<>(blocked_at_ms<>0)", "as the dead letter says",
     "UPDATE #sessions SET blocked_at_ms=CASE blocked_by WHEN 0 THEN 0 ELSE (SELECT max(1,o.due_at_ms) FROM #outbox AS "
     "o WHERE o.id=#sessions.blocked_by) END WHERE id IN ({}) RETURNING id"},
    {"peers", "its name is empty or too long",
     "SELECT id FROM #peers WHERE length(CAST(name AS BLOB)) NOT BETWEEN 1 AND 256", "which peer it is is not known"},
    {"peers", "no agent could have as many requests under way to it",
     "SELECT id FROM #peers WHERE max_requests NOT BETWEEN 1 AND 64",
     "the nearest that one can have, until its agent says otherwise",
     "UPDATE #peers SET max_requests=iif(max_requests>64,64,1) WHERE id IN ({}) RETURNING id"},
    {"peers", "it is held though it is not down", "SELECT id FROM #peers WHERE hold<>0 AND down=0", "it is asked again",
     "UPDATE #peers SET hold=0 WHERE id IN ({}) RETURNING id"},
    {"peers", "its hold is unknown", "SELECT id FROM #peers WHERE hold NOT BETWEEN 0 AND 2", "it is asked again",
     "UPDATE #peers SET hold=0 WHERE id IN ({}) RETURNING id"},
    // A crash between two commits leaves both sides consistent; only foreign statements make them differ.
    {"counters", "pending is not the number of PENDING and SENDING rows",
     "SELECT id FROM #counters AS c WHERE pending<>(SELECT count(*) FROM #outbox AS o WHERE o.id<=c.last_key AND "
     "o.state=0)",
     kCounted, kRecount},
    {"counters", "sent is not the number of SENT rows",
     "SELECT id FROM #counters WHERE sent<>(SELECT count(*) FROM #outbox WHERE state=2)", kCounted, kRecount},
    {"counters", "failed is not the number of FAILED rows",
     "SELECT id FROM #counters WHERE failed<>(SELECT count(*) FROM #outbox WHERE state=4)", kCounted, kRecount},
    {"counters", "inbox is not the number of rows of the inbox",
     "SELECT id FROM #counters WHERE inbox<>(SELECT count(*) FROM #inbox)", kCounted, kRecount},
    {"inbox", "its owner is not registered",
     "SELECT id FROM #inbox WHERE owner_id<>0 AND owner_id NOT IN (SELECT id FROM #owners)", "it runs again",
     "UPDATE #inbox SET owner_id=0 WHERE id IN ({}) RETURNING id"},
    {"inbox", "it waits beyond what its session has accepted",
     "SELECT i.id FROM #inbox AS i LEFT JOIN #inbound_sessions AS s ON s.source=i.source AND s.origin=i.origin AND "
     "s.session=i.session WHERE i.sequence<>0 AND i.sequence>coalesce(s.accepted_sequence,0)",
     "what its sender has sent is not known"},
    {"inbox", "it was accepted out of its session's order",
     "SELECT id FROM (SELECT id,sequence,lag(sequence,1,0) OVER (PARTITION BY source,origin,session ORDER BY id) AS "
     "earlier FROM #inbox WHERE sequence<>0) WHERE sequence<=earlier",
     "which order they had is not known"},
    {"inbox", "a run of it failed, and it does not say why and when",
     "SELECT id FROM #inbox WHERE (last_error IS NULL)<>(failed_at_ms IS NULL) OR (retry_count<>0 AND last_error IS "
     "NULL)",
     "its error is unknown",
     "UPDATE #inbox SET last_error=coalesce(last_error,'unknown'), failed_at_ms=coalesce(failed_at_ms,accepted_at_ms) "
     "WHERE id IN ({}) RETURNING id"},
    {"inbox", "its final result is kept already",
     "SELECT i.id FROM #inbox AS i JOIN #inbox_results AS r ON r.frame_id=i.frame_id AND r.source=i.source AND "
     "r.origin=i.origin AND r.session=i.session AND r.sequence=i.sequence",
     "whether it has ended is not known"},
    {"inbound_senders", "the gauges are not what its rows say",
     "SELECT 0 FROM #inbound_senders AS s LEFT JOIN @ AS r ON r.source=s.source WHERE "
     "s.sessions<>coalesce(r.sessions,0) OR s.origins<>coalesce(r.origins,0) OR s.marks<>coalesce(r.marks,0) OR "
     "s.bytes<>coalesce(r.bytes,0) OR s.inbox<>coalesce(r.inbox,0) OR s.inbox_bytes<>coalesce(r.inbox_bytes,0)",
     kCounted, kRecount},
    {"inbound_senders", "a sender has rows and no gauges",
     "SELECT 0 FROM @ AS r WHERE r.source NOT IN (SELECT source FROM #inbound_senders)", kCounted, kRecount},
    {"inbound_origins", "its state is unknown", "SELECT 0 FROM #inbound_origins WHERE state NOT BETWEEN 0 AND 2",
     "what it was is not known"},
    {"inbound_origins", "it is closed, but keeps sessions",
     "SELECT 0 FROM #inbound_origins AS o WHERE state=2 AND EXISTS(SELECT 1 FROM #inbound_sessions AS s WHERE "
     "s.source=o.source AND s.origin=o.origin)",
     "whether it is closed is not known"},
    {"counters", "inbound_bytes is not the sum over the senders",
     "SELECT id FROM #counters WHERE inbound_bytes<>(SELECT coalesce(sum(bytes),0) FROM #inbound_senders)", kCounted,
     kRecount},
    {"counters", "inbox_bytes is not the size of the inbox's data",
     "SELECT id FROM #counters WHERE inbox_bytes<>(SELECT coalesce(sum(length(CAST(data AS BLOB))),0) FROM #inbox)",
     kCounted, kRecount},
    {"counters", "pending_bytes is not the size of the live rows' data",
     "SELECT id FROM #counters AS c WHERE pending_bytes<>(SELECT coalesce(sum(length(data)),0) FROM #outbox AS o WHERE "
     "o.id<=c.last_key AND state<3)",
     kCounted, kRecount},
};

std::string numberText(std::int64_t number) {
  // The lowest integer has no literal: its absolute value is not an integer in SQLite.
  return number == std::numeric_limits<std::int64_t>::min() ? "-9223372036854775807-1" : std::to_string(number);
}

/// SQL: the arms of a CASE that names what is wrong with a value of `column`; may be empty.
std::string armsOf(std::string_view table, const SchemaObject::Column& column) {
  const std::string& name = column.name;
  const std::string orNull = column.isNullable ? ",'null'" : "";
  const auto arm = [&name](const std::string& condition, const std::string& problem) {
    return " WHEN " + condition + " THEN '" + name + " is " + problem + "'";
  };
  std::string arms;
  if (column.type == "INTEGER") {
    arms = arm("typeof(" + name + ") NOT IN ('integer'" + orNull + ")", "no integer");
    const auto* const range =
        std::ranges::find_if(kRanges, [&](const Range& one) { return one.table == table && one.column == name; });
    const bool isChosen = range != std::end(kRanges);
    // Clocks may have any value.
    if (isChosen || !name.ends_with("_ms")) {
      const std::string least = numberText(isChosen ? range->least : 0);
      const std::string most = numberText(isChosen ? range->most : kNumberMax);
      arms += arm(name + " NOT BETWEEN " + least + " AND " + most, "not from " + least + " to " + most);
    }
  } else {
    const std::string type = column.type == "TEXT" ? "'text'" : "'blob','text'";
    arms = arm("typeof(" + name + ") NOT IN (" + type + orNull + ")", "neither text nor bytes");
  }
  for (const JsonText& json : kJsonTexts) {
    if (json.table == table && json.column == name) {
      arms += arm(std::string(json.condition)
                      .append(" AND length(")
                      .append(name)
                      .append(")<>0 AND NOT json_valid(CAST(")
                      .append(name)
                      .append(" AS TEXT))"),
                  "no JSON");
    }
  }
  return arms;
}

class Check {
public:
  Check(sqlite3* connection, std::string_view prefix, bool saysWhy)
      : connection_(connection), prefix_(prefix), saysWhy_(saysWhy) {}

  std::vector<Finding> run(std::vector<std::string>* notChecked) {
    PageCheck pages = checkPages(connection_);
    findings_ = std::move(pages.findings);
    if (notChecked != nullptr) {
      *notChecked = std::move(pages.notChecked);
    }
    const std::vector<SchemaObject> objects = schemaObjects(prefix_);
    for (const SchemaObject& object : objects) {
      checkObject(object);
    }
    for (const SchemaObject& object : objects) {
      if (!object.columns.empty()) {
        checkColumns(object);
      }
    }
    for (const Rule& rule : kRules) {
      checkRule(rule);
    }
    std::ranges::move(damagedRows(connection_, prefix_), std::back_inserter(findings_));
    return std::move(findings_);
  }

private:
  void checkObject(const SchemaObject& object) {
    const ObjectState state = stateOf(connection_, object);
    if (state == ObjectState::ours) {
      return;
    }
    hasIndexes_ = hasIndexes_ && object.kind != "index";
    const char* const mended = object.kind == "view"    ? "; the next opening for writing makes it"
                               : object.kind == "index" ? "; ackbox repair makes it"
                                                        : "";
    findings_.push_back({object.name, 0,
                         (state == ObjectState::missing ? "the " + object.kind + " is missing"
                                                        : "it is not the " + object.kind + " that ackbox makes") +
                             mended});
  }

  void checkColumns(const SchemaObject& table) {
    std::string arms;
    for (const SchemaObject::Column& column : table.columns) {
      arms += armsOf(std::string_view(table.name).substr(prefix_.size()), column);
    }
    const SchemaObject::Column& key = table.columns.front();
    Statement statement(connection_,
                        "SELECT iif(typeof(" + key.name + ")='integer'," + key.name + ",0),CASE" + arms +
                            " END AS problem FROM \"" + table.name + "\" WHERE problem IS NOT NULL LIMIT 100",
                        {});
    for (Query query(statement); query.next();) {
      findings_.push_back({table.name, query.integer(0), query.text(1)});
    }
  }

  void checkRule(const Rule& rule) {
    Statement statement(connection_, statementOf(rule, rule.sql, hasIndexes_) + " LIMIT 100", prefix_);
    for (Query query(statement); query.next();) {
      findings_.push_back(
          {std::string(prefix_) + rule.table, query.integer(0),
           saysWhy_ && rule.mend == nullptr ? std::string(rule.problem) + ": " + rule.outcome : rule.problem});
    }
  }

  sqlite3* const connection_;
  const std::string_view prefix_;
  const bool saysWhy_;
  bool hasIndexes_ = true;
  std::vector<Finding> findings_;
};

void replace(std::string& text, std::string_view sign, std::string_view meaning) {
  if (const std::size_t place = text.find(sign); place != std::string::npos) {
    text.replace(place, sign.size(), meaning);
  }
}

}  // namespace

std::span<const Rule> rules() noexcept {
  return kRules;
}

std::string statementOf(const Rule& rule, const char* text, bool hasIndexes) {
  constexpr std::string_view kHint = " INDEXED BY ";
  std::string sql = text;
  replace(sql, "{}", rule.sql);
  for (std::size_t place = 0; !hasIndexes && (place = sql.find(kHint, place)) != std::string::npos;) {
    sql.erase(place, sql.find_first_of(" )", place + kHint.size()) - place);
  }
  replace(sql, "~", kMessageId);
  replace(sql, "@", senderRows());
  replace(sql, "$", "LEFT JOIN " + std::string(kUnwrittenTails) + " AS t ON t.session_id=m.session_id");
  return sql;
}

std::vector<Finding> findingsOf(sqlite3* connection, std::string_view prefix, bool saysWhy,
                                std::vector<std::string>* notChecked) {
  return Check(connection, prefix, saysWhy).run(notChecked);
}

}  // namespace ackbox::store::sqlite
