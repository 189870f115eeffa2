#include "store/sqlite/schema/recount.hpp"

#include <string>

#include "sqlite/statement.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/sender_shares.hpp"

namespace ackbox::store::sqlite {
namespace {

// Findings that are reported one by one.
constexpr std::size_t kReportedMax = 100;

/// A column that the rows say as well.
struct Gauge {
  const char* table;
  const char* key;
  const char* column;
  /// Gives `key` and `value` of each row of the table.
  const char* rows;
};

// `#counted` has a row for each session that has rows in the outbox.
constexpr Gauge kGauges[] = {
    {"counters", "id", "pending", "SELECT 1 AS key,coalesce(sum(pending),0) AS value FROM temp.#counted"},
    {"counters", "id", "sent", "SELECT 1 AS key,coalesce(sum(sent),0) AS value FROM temp.#counted"},
    {"counters", "id", "failed", "SELECT 1 AS key,coalesce(sum(failed),0) AS value FROM temp.#counted"},
    {"counters", "id", "retained", "SELECT 1 AS key,coalesce(sum(acked),0) AS value FROM temp.#counted"},
    {"counters", "id", "pending_bytes", "SELECT 1 AS key,coalesce(sum(bytes),0) AS value FROM temp.#counted"},
    // It may lie behind the oldest live row, but not ahead of it.
    {"counters", "id", "oldest_key",
     "SELECT 1 AS key,min(oldest_key,coalesce((SELECT min(first_id) FROM temp.#counted),oldest_key)) AS value FROM "
     "#counters"},
    {"session_states", "session_id", "live",
     "SELECT s.session_id AS key,coalesce(c.pending+c.sent,0) AS value FROM #session_states AS s LEFT JOIN "
     "temp.#counted AS c ON c.session_id=s.session_id"},
    {"session_states", "session_id", "failed",
     "SELECT s.session_id AS key,coalesce(c.failed,0) AS value FROM #session_states AS s LEFT JOIN temp.#counted AS c "
     "ON c.session_id=s.session_id"},
    {"session_states", "session_id", "last_sequence",
     "SELECT s.session_id AS key,max(s.last_sequence,coalesce(c.last_sequence,0)) AS value FROM #session_states AS s "
     "LEFT JOIN temp.#counted AS c ON c.session_id=s.session_id"},
    {"peer_counters", "peer_id", "pending",
     "SELECT p.peer_id AS key,(SELECT coalesce(sum(c.pending),0) FROM #sessions AS s JOIN temp.#counted AS c ON "
     "c.session_id=s.id WHERE s.peer_id=p.peer_id) AS value FROM #peer_counters AS p"},
    {"peer_counters", "peer_id", "sent",
     "SELECT p.peer_id AS key,(SELECT coalesce(sum(c.sent),0) FROM #sessions AS s JOIN temp.#counted AS c ON "
     "c.session_id=s.id WHERE s.peer_id=p.peer_id) AS value FROM #peer_counters AS p"},
    {"peer_counters", "peer_id", "failed",
     "SELECT p.peer_id AS key,(SELECT coalesce(sum(c.failed),0) FROM #sessions AS s JOIN temp.#counted AS c ON "
     "c.session_id=s.id WHERE s.peer_id=p.peer_id) AS value FROM #peer_counters AS p"},
    {"peer_counters", "peer_id", "pending_bytes",
     "SELECT p.peer_id AS key,(SELECT coalesce(sum(c.bytes),0) FROM #sessions AS s JOIN temp.#counted AS c ON "
     "c.session_id=s.id WHERE s.peer_id=p.peer_id) AS value FROM #peer_counters AS p"},
    {"counters", "id", "inbox", "SELECT 1 AS key,count(*) AS value FROM #inbox"},
};

// One that is redriven by an UPDATE keeps its number. Its session has passed it, so its peer would take it for a
// repetition, and say that it is acknowledged.
constexpr const char* kFailAgain =
    "UPDATE #outbox SET state=4 WHERE state=0 AND reason IS NOT NULL AND sequence<>0 AND sequence<=(SELECT "
    "s.previous_sequence FROM #session_states AS s WHERE s.session_id=#outbox.session_id) RETURNING id";

constexpr const char* kUnblock =
    "UPDATE #sessions SET blocked_by=0, blocked_at_ms=0 WHERE blocked_by<>0 AND NOT EXISTS(SELECT 1 FROM #outbox AS o "
    "WHERE o.id=#sessions.blocked_by AND o.session_id=#sessions.id AND o.state=4) RETURNING id";

/// Rows that a person's statement made impossible, and that say themselves what they have to be. What would be a guess,
/// such as the number of a session whose state is gone, is left for `verify` to name.
struct Mend {
  const char* table;
  const char* finding;
  /// Returns the key of each row.
  const char* sql;
};

// As when the owner's claims are put back, see Owners: a late settle is refused, and its sessions go on from their
// heads.
constexpr const char* kOrphans = " WHERE c.owner_id NOT IN (SELECT id FROM #owners)";

constexpr Mend kMends[] = {
    {"claims", "its owner was not registered; what it claimed goes again",
     "DELETE FROM #claims WHERE owner_id NOT IN (SELECT id FROM #owners) RETURNING block"},
    {"inbox", "its owner was not registered; it runs again",
     "UPDATE #inbox SET owner_id=0 WHERE owner_id<>0 AND owner_id NOT IN (SELECT id FROM #owners) RETURNING id"},
    {"inbox", "a run of it failed, and it did not say why and when; unknown",
     "UPDATE #inbox SET last_error=coalesce(last_error,'unknown'), failed_at_ms=coalesce(failed_at_ms,accepted_at_ms) "
     "WHERE (last_error IS NULL)<>(failed_at_ms IS NULL) OR retry_count<>0 AND last_error IS NULL RETURNING id"},
    {"idempotency_keys", "it named no message; deleted",
     "DELETE FROM #idempotency_keys WHERE message_id='' OR sequence<0 RETURNING key"},
    {"session_states", "its session was missing; deleted",
     "DELETE FROM #session_states WHERE session_id NOT IN (SELECT id FROM #sessions) RETURNING session_id"},
    {"sessions", "its priority was none; the default",
     "UPDATE #sessions SET priority=CASE lane WHEN 0 THEN 4 ELSE lane-1 END WHERE lane BETWEEN 0 AND 10 "
     "AND (priority NOT BETWEEN 0 AND 9 OR lane<>0 AND priority<>lane-1) RETURNING id"},
    {"sessions", "it was blocked or not, and did not say since when",
     "UPDATE #sessions SET blocked_at_ms=CASE blocked_by WHEN 0 THEN 0 ELSE (SELECT max(1,o.due_at_ms) FROM #outbox AS "
     "o WHERE o.id=#sessions.blocked_by) END WHERE (blocked_by<>0)<>(blocked_at_ms<>0) RETURNING id"},
    {"outbox", "it was a dead letter without a reason; unknown",
     "UPDATE #outbox SET reason='unknown' WHERE state=4 AND coalesce(reason,'')='' RETURNING id"},
    {"outbox", "it was never tried, and due at another instant than it was enqueued for",
     "UPDATE #outbox SET due_at_ms=coalesce(not_before_ms,0) WHERE state=0 AND attempt=0 AND "
     "due_at_ms<>coalesce(not_before_ms,0) RETURNING id"},
    {"outbox", "it was unordered, but could be superseded",
     "UPDATE #outbox SET supersede_key=NULL WHERE sequence=0 AND supersede_key IS NOT NULL RETURNING id"},
    {"peers", "its hold was none that there is, or it was not down; it is asked again",
     "UPDATE #peers SET hold=0 WHERE hold NOT BETWEEN 0 AND 2 OR hold<>0 AND down=0 RETURNING id"},
};

class Recount {
public:
  Recount(sqlite3* connection, std::string_view prefix) : connection_(connection), prefix_(prefix) {}

  void failAgain() {
    Statement statement = prepare(kFailAgain);
    for (Query query(statement); query.next();) {
      addFinding(
          "outbox " + query.text(0) +
          ": it was made pending by hand under a number that its session has passed; a dead letter again, for retry");
    }
  }

  void unblock() {
    Statement statement = prepare(kUnblock);
    bool isAny = false;
    for (Query query(statement); query.next(); isAny = true) {
      addFinding("sessions " + query.text(0) + ": what blocked it is no dead letter any more; unblocked");
    }
    if (isAny) {
      run("UPDATE #meta SET orders=orders+1");
    }
  }

  void mendRows() {
    putBackOrphans();
    bool isAny = false;
    for (const Mend& mend : kMends) {
      Statement statement = prepare(mend.sql);
      for (Query query(statement); query.next(); isAny = true) {
        addFinding(std::string(mend.table) + " " + query.text(0) + ": " + mend.finding);
      }
    }
    if (isAny) {
      run("UPDATE #meta SET orders=orders+1, inbox_orders=inbox_orders+1");
    }
  }

  void count() {
    run("DROP TABLE IF EXISTS temp.#counted");
    run("CREATE TEMP TABLE #counted AS SELECT session_id,count(*) FILTER (WHERE state=0) AS pending,count(*) FILTER "
        "(WHERE state=2) AS sent,count(*) FILTER (WHERE state=4) AS failed,count(*) FILTER (WHERE state=3) AS acked,"
        "coalesce(sum(length(data)) FILTER (WHERE state<3),0) AS bytes,min(id) FILTER (WHERE state<3) AS first_id,"
        "max(sequence) AS last_sequence FROM main.#outbox GROUP BY session_id");
    run("CREATE UNIQUE INDEX temp.#counted_session ON #counted(session_id)");
    for (const Gauge& gauge : kGauges) {
      mend(gauge);
    }
    run("DROP TABLE temp.#counted");
  }

  void countSenders() {
    Statement differences = prepare(
        "SELECT count(*) FROM (SELECT source,sessions,origins,marks,bytes,inbox,inbox_bytes FROM "
        "#inbound_senders EXCEPT SELECT * FROM " +
        senderRows() + " UNION ALL SELECT * FROM (SELECT * FROM " + senderRows() +
        " EXCEPT SELECT source,sessions,origins,marks,bytes,inbox,inbox_bytes FROM #inbound_senders))");
    Statement totals = prepare(
        "SELECT inbound_bytes<>(SELECT coalesce(sum(bytes),0) FROM #inbound_senders) OR inbox_bytes<>(SELECT "
        "coalesce(sum(inbox_bytes),0) FROM #inbound_senders) FROM #counters");
    const bool isWrong = isAnything(differences) || isAnything(totals);
    if (isWrong) {
      addFinding("inbound_senders: the gauges were counted anew");
      recountSenders(connection_, prefix_);
    }
  }

  RepairReport report() {
    if (report_.mended != 0) {
      // Rows may be live that no process has discovered.
      run("UPDATE #meta SET recalls=recalls+1");
      run("UPDATE #counters SET recounts=recounts+1");
    }
    return report_;
  }

private:
  void putBackOrphans() const {
    const std::string rows = std::string(kClaimedRows).append(kOrphans);
    run("UPDATE #session_states SET head_id=r.head FROM (SELECT o.session_id AS session,min(o.id) AS head FROM " +
        rows + " AND o.sequence<>0 GROUP BY o.session_id) AS r WHERE r.session=#session_states.session_id");
    run("UPDATE #outbox SET attempt=attempt+1 WHERE id IN (SELECT o.id FROM " + rows + ")");
  }

  [[nodiscard]] Statement prepare(std::string_view sql) const { return {connection_, sql, prefix_}; }
  void run(std::string_view sql) const { execute(connection_, expand(sql, prefix_)); }

  static bool isAnything(Statement& statement) {
    Query query(statement);
    return query.next() && query.integer(0) != 0;
  }

  void addFinding(std::string finding) {
    ++report_.mended;
    if (report_.findings.size() < kReportedMax) {
      report_.findings.push_back(std::string(prefix_) + std::move(finding));
    }
  }

  void mend(const Gauge& gauge) {
    const std::string rows = std::string("(").append(gauge.rows).append(") AS r");
    const std::string table = std::string("#").append(gauge.table);
    const std::string differs =
        std::string("r.key=").append(table).append(".").append(gauge.key).append(" AND ").append(table).append(".");
    Statement differences = prepare("SELECT r.key," + table + "." + gauge.column + ",r.value FROM " + table + " JOIN " +
                                    rows + " ON " + differs + gauge.column + "<>r.value");
    bool isWrong = false;
    for (Query query(differences); query.next(); isWrong = true) {
      addFinding(std::string(gauge.table) + " " + query.text(0) + ": " + gauge.column + " was " + query.text(1) +
                 ", is " + query.text(2));
    }
    if (isWrong) {
      run("UPDATE " + table + " SET " + gauge.column + "=r.value FROM " + rows + " WHERE " + differs + gauge.column +
          "<>r.value");
    }
  }

  sqlite3* const connection_;
  const std::string_view prefix_;
  RepairReport report_;
};

}  // namespace

void recountGauges(sqlite3* connection, std::string_view prefix) {
  Recount(connection, prefix).count();
}

RepairReport recount(sqlite3* connection, std::string_view prefix, bool byHand) {
  Recount counting(connection, prefix);
  if (byHand) {
    counting.failAgain();
    counting.unblock();
    counting.mendRows();
  }
  counting.count();
  counting.countSenders();
  return counting.report();
}

}  // namespace ackbox::store::sqlite
