#include "store/sqlite/read/verify.hpp"

#include "sqlite/connection.hpp"
#include "sqlite/snapshot.hpp"
#include "sqlite/wal/log_check.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/cache/sender_shares.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/schema/views.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr int kFixedCheckpointVersion = 3'051'003;

/// One invariant: the rows that break it.
struct Invariant {
  const char* table;
  const char* problem;
  /// Gives the id of each row at fault. `~` is the message id of `o`, a row of the outbox, `$` joins, as `t`, what
  /// the messages say of `m`, a session's state, and `@` is a table that counts each sender's rows.
  const char* sql;
};

constexpr Invariant kInvariants[] = {
    {"meta", "the store's identity is missing", "SELECT 0 WHERE NOT EXISTS(SELECT 1 FROM #meta)"},
    {"counters", "the row is missing", "SELECT 0 WHERE NOT EXISTS(SELECT 1 FROM #counters)"},
    {"outbox", "its state is none", "SELECT id FROM #outbox WHERE state NOT IN (0,2,3,4)"},
    {"outbox", "its session is missing", "SELECT id FROM #outbox WHERE session_id NOT IN (SELECT id FROM #sessions)"},
    {"outbox", "its id is beyond the last that was counted, but it is not new",
     "SELECT id FROM #outbox AS o WHERE id>(SELECT last_key FROM #counters) AND state<>0"},
    {"outbox", "its message id is another one's as well",
     "SELECT n.id FROM #outbox AS n INDEXED BY #outbox_named JOIN #outbox AS o ON o.id=CAST(substr(n.message_id,-10) "
     "AS INTEGER) AND ~=n.message_id AND o.id<>n.id WHERE n.message_id IS NOT NULL"},
    {"outbox", "it has no message id, two, or one that cannot say its row",
     "SELECT id FROM #outbox WHERE coalesce(message_id='',0) OR (message_id IS NULL)=(id_rest IS NULL) OR "
     "id_rest IS NOT NULL AND id>9999999999"},
    {"claims", "its owner is not registered",
     "SELECT block FROM #claims WHERE owner_id NOT IN (SELECT id FROM #owners)"},
    {"claims", "two owners have claimed the same",
     "SELECT a.block FROM #claims AS a JOIN #claims AS b ON a.block=b.block AND a.owner_id<b.owner_id WHERE "
     "a.bits&b.bits"},
    {"claims", "it claims what is no pending message",
     "WITH RECURSIVE bit(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM bit WHERE n<63) SELECT c.block FROM #claims AS c "
     "CROSS JOIN bit WHERE c.block>=0 AND c.bits>>n&1 AND NOT EXISTS(SELECT 1 FROM #outbox WHERE "
     "id=(c.block<<6)+n AND state=0)"},
    {"claims", "it claims what is no session",
     "WITH RECURSIVE bit(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM bit WHERE n<63) SELECT c.block FROM #claims AS c "
     "CROSS JOIN bit WHERE c.block<0 AND c.bits>>n&1 AND NOT EXISTS(SELECT 1 FROM #sessions WHERE "
     "id=((-1-c.block)<<6)+n AND lane=0)"},
    {"outbox", "it is a dead letter without a reason",
     "SELECT id FROM #outbox INDEXED BY #outbox_failed WHERE state=4 AND coalesce(reason,'')=''"},
    {"outbox", "its sequence does not rise in its session",
     "SELECT id FROM (SELECT id,sequence,lag(sequence,1,0) OVER (PARTITION BY session_id ORDER BY id) AS earlier "
     "FROM #outbox WHERE sequence<>0) WHERE sequence<=earlier"},
    // A message that was tried may be sent again from behind the predecessor, after its ACK deadline. Of one that is
    // being sent, a later one of its request may have its ACK event before the answer.
    {"outbox", "it was never tried, but its session's predecessor has passed it",
     "SELECT o.id FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.state=0 AND "
     "o.attempt=0 AND o.sequence<>0 AND o.sequence<=m.previous_sequence AND NOT EXISTS(SELECT 1 FROM #claims WHERE "
     "block=o.id>>6 AND bits>>(o.id&63)&1)"},
    {"outbox", "it is unordered but has a sequence, or is ordered and has none",
     "SELECT o.id FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id WHERE (s.lane<>0)<>(o.sequence=0)"},
    {"outbox", "it is unordered but could be superseded",
     "SELECT id FROM #outbox WHERE sequence=0 AND supersede_key IS NOT NULL"},
    {"outbox", "it was never tried, but is due at another instant than it was enqueued for",
     "SELECT id FROM #outbox WHERE state=0 AND attempt=0 AND due_at_ms<>coalesce(not_before_ms,0)"},
    {"sessions", "its priority is none", "SELECT id FROM #sessions WHERE priority NOT BETWEEN 0 AND 9"},
    {"sessions", "its lane is none", "SELECT id FROM #sessions WHERE lane NOT BETWEEN 0 AND 10"},
    {"sessions", "it is a queue of unordered messages, but has a backoff, a name or a sequence",
     "SELECT id FROM #sessions JOIN #session_states ON session_id=id WHERE lane<>0 AND (lane<>priority+1 OR "
     "due_at_ms<>0 OR name<>'' OR last_sequence<>0 OR previous_sequence<>0)"},
    {"sessions", "its state is missing",
     "SELECT id FROM #sessions WHERE id NOT IN (SELECT session_id FROM #session_states)"},
    {"session_states", "its session is missing",
     "SELECT session_id FROM #session_states WHERE session_id NOT IN (SELECT id FROM #sessions)"},
    {"idempotency_keys", "it names no message", "SELECT 0 FROM #idempotency_keys WHERE message_id='' OR sequence<0"},
    {"idempotency_keys", "the message that it names stands before its first place",
     "SELECT 0 FROM #idempotency_keys AS k JOIN #outbox AS o ON o.id=CAST(substr(k.message_id,-10) AS INTEGER) AND "
     "~=k.message_id WHERE o.sequence<k.sequence UNION ALL SELECT 0 FROM #idempotency_keys AS k JOIN "
     "#outbox AS o INDEXED BY #outbox_named ON o.message_id=k.message_id WHERE o.sequence<k.sequence"},
    {"sessions", "its peer is missing", "SELECT id FROM #sessions WHERE peer_id NOT IN (SELECT id FROM #peers)"},
    {"session_states", "its last sequence is behind a message of it",
     "SELECT m.session_id FROM #session_states AS m JOIN (SELECT session_id,max(sequence) AS highest FROM #outbox "
     "WHERE id<=(SELECT tails_key FROM #counters) GROUP BY session_id) AS o ON o.session_id=m.session_id WHERE "
     "m.last_sequence<o.highest"},
    {"counters", "tails_key is no key that was given",
     "SELECT id FROM #counters WHERE tails_key NOT BETWEEN 0 AND last_key"},
    {"session_states", "its predecessor is ahead of its last sequence",
     "SELECT m.session_id FROM #session_states AS m $ WHERE m.previous_sequence>max(m.last_sequence,coalesce("
     "t.last_sequence,0))"},
    {"session_states", "its predecessor was never accepted",
     "SELECT session_id FROM #session_states WHERE previous_sequence>confirmed_sequence"},
    {"session_states", "a number was accepted that it has not given away",
     "SELECT m.session_id FROM #session_states AS m $ WHERE m.confirmed_sequence>max(m.last_sequence,coalesce("
     "t.last_sequence,0))"},
    {"sessions", "its rows were put back more often than any",
     "SELECT id FROM #sessions WHERE recall>(SELECT recalls FROM #meta)"},
    {"peers", "it has forgotten, and not when, or the other way round",
     "SELECT id FROM #peers WHERE (resets<>0)<>(reset_at_ms<>0) OR (resets=0 AND resent<>0)"},
    {"inbound_sessions", "its epoch is newer than its sender's store",
     "SELECT s.id FROM #inbound_sessions AS s LEFT JOIN #inbound_origins AS o ON o.source=s.source AND "
     "o.origin=s.origin "
     "WHERE s.epoch>coalesce(o.epoch,0)"},
    {"session_states", "live is not the number of its rows that are not settled",
     "SELECT m.session_id FROM #session_states AS m LEFT JOIN (SELECT session_id,count(*) AS rows FROM #outbox WHERE "
     "state<3 GROUP BY session_id) AS o ON o.session_id=m.session_id $ WHERE "
     "m.live+coalesce(t.live,0)<>coalesce(o.rows,0)"},
    {"session_states", "failed is not the number of its dead letters",
     "SELECT m.session_id FROM #session_states AS m LEFT JOIN (SELECT session_id,count(*) AS rows FROM #outbox INDEXED "
     "BY #outbox_failed WHERE state=4 GROUP BY session_id) AS o ON o.session_id=m.session_id WHERE "
     "m.failed<>coalesce(o.rows,0)"},
    {"outbox", "it is live, but the counters say that all live rows come after it",
     "SELECT id FROM #outbox WHERE id<(SELECT oldest_key FROM #counters) AND state<3"},
    {"counters", "retained is not the number of ACKED rows",
     "SELECT id FROM #counters WHERE retained<>(SELECT count(*) FROM #outbox INDEXED BY #outbox_acked WHERE state=3)"},
    {"peers", "the file knows several, and this one has no counters",
     "SELECT id FROM #peers WHERE id NOT IN (SELECT peer_id FROM #peer_counters) AND (SELECT count(*) FROM #peers)>1"},
    {"peer_counters", "the gauges are not what its rows say",
     "SELECT c.peer_id FROM #peer_counters AS c LEFT JOIN (SELECT s.peer_id,count(*) FILTER (WHERE state=0) AS pending,"
     "count(*) FILTER (WHERE state=2) AS sent,count(*) FILTER (WHERE state=4) AS failed,sum(length(data)) FILTER "
     "(WHERE state<3) AS bytes FROM #outbox AS o CROSS JOIN #sessions AS s ON s.id=o.session_id WHERE o.id<=(SELECT "
     "last_key FROM #counters) GROUP BY s.peer_id) AS o ON o.peer_id=c.peer_id WHERE "
     "c.pending<>coalesce(o.pending,0) OR c.sent<>coalesce(o.sent,0) OR c.failed<>coalesce(o.failed,0) OR "
     "c.pending_bytes<>coalesce(o.bytes,0)"},
    {"sessions", "what blocks it is no dead letter of it",
     "SELECT s.id FROM #sessions AS s INDEXED BY #sessions_blocked WHERE s.blocked_by<>0 AND NOT EXISTS(SELECT 1 FROM "
     "#outbox AS o WHERE o.id=s.blocked_by AND o.session_id=s.id AND o.state=4)"},
    {"sessions", "it is blocked or not, but does not say since when",
     "SELECT id FROM #sessions WHERE (blocked_by<>0)<>(blocked_at_ms<>0)"},
    {"peers", "its name is empty or too long",
     "SELECT id FROM #peers WHERE length(CAST(name AS BLOB)) NOT BETWEEN 1 AND 256"},
    {"peers", "no agent could have as many requests under way to it",
     "SELECT id FROM #peers WHERE max_requests NOT BETWEEN 1 AND 64"},
    // Each is a byte of the owners file, and the next one needs a number, too.
    {"owners", "its number is none, or leaves none for the next",
     "SELECT id FROM #owners WHERE id NOT BETWEEN 1 AND 1<<62 UNION SELECT seq FROM sqlite_sequence WHERE "
     "name='#owners' "
     "AND seq NOT BETWEEN 0 AND 1<<62"},
    {"counters", "last_key is no key, or leaves none for the next",
     "SELECT id FROM #counters WHERE last_key NOT BETWEEN 0 AND 1<<62"},
    {"peers", "it is held though it is not down", "SELECT id FROM #peers WHERE hold<>0 AND down=0"},
    {"peers", "its hold is none that there is", "SELECT id FROM #peers WHERE hold NOT BETWEEN 0 AND 2"},
    // A crash of this process between two commits leaves both sides as they were; only a foreign hand parts them.
    {"counters", "pending is not the number of PENDING and SENDING rows",
     "SELECT id FROM #counters AS c WHERE pending<>(SELECT count(*) FROM #outbox AS o WHERE o.id<=c.last_key AND "
     "o.state=0)"},
    {"counters", "sent is not the number of SENT rows",
     "SELECT id FROM #counters WHERE sent<>(SELECT count(*) FROM #outbox WHERE state=2)"},
    {"counters", "failed is not the number of FAILED rows",
     "SELECT id FROM #counters WHERE failed<>(SELECT count(*) FROM #outbox WHERE state=4)"},
    {"counters", "inbox is not the number of rows of the inbox",
     "SELECT id FROM #counters WHERE inbox<>(SELECT count(*) FROM #inbox)"},
    {"inbox", "its owner is not registered",
     "SELECT id FROM #inbox WHERE owner_id<>0 AND owner_id NOT IN (SELECT id FROM #owners)"},
    {"inbox", "it waits beyond what its session has accepted",
     "SELECT i.id FROM #inbox AS i LEFT JOIN #inbound_sessions AS s ON s.source=i.source AND s.origin=i.origin AND "
     "s.session=i.session "
     "WHERE i.sequence<>0 AND i.sequence>coalesce(s.accepted_sequence,0)"},
    {"inbox", "it was accepted out of its session's order",
     "SELECT id FROM (SELECT id,sequence,lag(sequence,1,0) OVER (PARTITION BY source,origin,session ORDER BY id) AS "
     "earlier "
     "FROM #inbox WHERE sequence<>0) WHERE sequence<=earlier"},
    {"inbox", "a run of it failed, and it does not say why and when",
     "SELECT id FROM #inbox WHERE (last_error IS NULL)<>(failed_at_ms IS NULL) OR (retry_count<>0 AND last_error IS "
     "NULL)"},
    {"inbox", "its final result is kept already",
     "SELECT i.id FROM #inbox AS i JOIN #inbox_results AS r ON r.frame_id=i.frame_id AND r.source=i.source AND "
     "r.origin=i.origin AND r.session=i.session AND r.sequence=i.sequence"},
    {"inbound_senders", "the gauges are not what its rows say",
     "SELECT 0 FROM #inbound_senders AS s LEFT JOIN @ AS r ON r.source=s.source WHERE "
     "s.sessions<>coalesce(r.sessions,0) OR s.origins<>coalesce(r.origins,0) OR s.marks<>coalesce(r.marks,0) OR "
     "s.bytes<>coalesce(r.bytes,0) OR s.inbox<>coalesce(r.inbox,0) OR s.inbox_bytes<>coalesce(r.inbox_bytes,0)"},
    {"inbound_senders", "a sender has rows and no gauges",
     "SELECT 0 FROM @ AS r WHERE r.source NOT IN (SELECT source FROM #inbound_senders)"},
    {"inbound_origins", "its state is none", "SELECT 0 FROM #inbound_origins WHERE state NOT BETWEEN 0 AND 2"},
    {"inbound_origins", "it is closed, but keeps sessions",
     "SELECT 0 FROM #inbound_origins AS o WHERE state=2 AND EXISTS(SELECT 1 FROM #inbound_sessions AS s WHERE "
     "s.source=o.source AND s.origin=o.origin)"},
    {"counters", "inbound_bytes is not the sum over the senders",
     "SELECT id FROM #counters WHERE inbound_bytes<>(SELECT coalesce(sum(bytes),0) FROM #inbound_senders)"},
    {"counters", "inbox_bytes is not the size of the inbox's data",
     "SELECT id FROM #counters WHERE inbox_bytes<>(SELECT coalesce(sum(length(CAST(data AS BLOB))),0) FROM #inbox)"},
    {"counters", "pending_bytes is not the size of the live rows' data",
     "SELECT id FROM #counters AS c WHERE pending_bytes<>(SELECT coalesce(sum(length(data)),0) FROM #outbox AS o WHERE "
     "o.id<=c.last_key AND state<3)"},
};

void checkInvariant(sqlite3* connection, const std::string& prefix, const Invariant& invariant, VerifyReport& report) {
  std::string sql = std::string(invariant.sql) + " LIMIT 100";
  if (const std::size_t place = sql.find('~'); place != std::string::npos) {
    sql.replace(place, 1, kMessageId);
  }
  if (const std::size_t place = sql.find('@'); place != std::string::npos) {
    sql.replace(place, 1, senderRows());
  }
  if (const std::size_t place = sql.find('$'); place != std::string::npos) {
    sql.replace(place, 1, "LEFT JOIN " + std::string(kUnwrittenTails) + " AS t ON t.session_id=m.session_id");
  }
  Statement statement(connection, sql, prefix);
  Query query(statement);
  while (query.next()) {
    report.findings.push_back({prefix + invariant.table, query.integer(0), invariant.problem});
  }
}

void checkFile(sqlite3* connection, VerifyReport& report) {
  Statement statement(connection, "PRAGMA integrity_check(100)", {});
  Query query(statement);
  while (query.next()) {
    if (query.view(0) != "ok") {
      report.findings.push_back({{}, 0, query.text(0)});
    }
  }
}

// Nothing of ours reads them: they are checked for those who do.
void checkViews(sqlite3* connection, const std::string& prefix, VerifyReport& report) {
  for (const View& view : views(prefix)) {
    const ViewState state = stateOf(connection, view);
    if (state != ViewState::ours) {
      report.findings.push_back({view.name, 0,
                                 state == ViewState::missing
                                     ? "the view is missing; the next opening for writing makes it"
                                     : "it is not the view that ackbox makes; the next opening for writing makes it"});
    }
  }
}

}  // namespace

bool hasCheckpointDefect() noexcept {
  return sqlite3_libversion_number() < kFixedCheckpointVersion;
}

std::vector<InvariantName> invariantNames() {
  std::vector<InvariantName> names;
  for (const Invariant& invariant : kInvariants) {
    names.push_back({invariant.table, invariant.problem});
  }
  return names;
}

VerifyReport verify(const std::filesystem::path& file, const OutboxOptions& options) {
  const ReadConnection database(file, options, Reading::leavesNoTrace);
  sqlite3* const connection = database.getHandle();
  VerifyReport report;
  report.sqliteVersion = sqlite3_libversion();
  report.hasCheckpointDefect = hasCheckpointDefect();
  report.logNotBatched = knownLogDifference();
  const Snapshot snapshot(connection);
  const auto count = [&](const char* sql) {
    return static_cast<std::uint64_t>(std::stoll(scalar(connection, expand(sql, options.tablePrefix))));
  };
  report.pages = count("PRAGMA page_count");
  report.messages = count("SELECT count(*) FROM #outbox");
  report.sessions = count("SELECT count(*) FROM #sessions");
  report.peers = count("SELECT count(*) FROM #peers");
  checkFile(connection, report);
  for (const Invariant& invariant : kInvariants) {
    checkInvariant(connection, options.tablePrefix, invariant, report);
  }
  checkViews(connection, options.tablePrefix, report);
  return report;
}

}  // namespace ackbox::store::sqlite
