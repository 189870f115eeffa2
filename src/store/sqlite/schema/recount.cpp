#include "store/sqlite/schema/recount.hpp"

#include <string>

#include "sqlite/statement.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/sender_shares.hpp"
#include "store/sqlite/schema/rules.hpp"
#include "store/sqlite/schema/schema.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// The number of findings that are reported one by one.
constexpr std::size_t kReportedMax = 100;

/// A column with a value that the rows imply.
struct Gauge {
  const char* table;
  const char* key;
  const char* column;
  /// SQL that returns `key` and `value` of each row of the table.
  const char* rows;
};

// `#counted` has a row for each session that has rows in the outbox.
constexpr Gauge kGauges[] = {
    {"counters", "id", "pending", "SELECT 1 AS key,coalesce(sum(pending),0) AS value FROM temp.#counted"},
    {"counters", "id", "sent", "SELECT 1 AS key,coalesce(sum(sent),0) AS value FROM temp.#counted"},
    {"counters", "id", "failed", "SELECT 1 AS key,coalesce(sum(failed),0) AS value FROM temp.#counted"},
    {"counters", "id", "retained", "SELECT 1 AS key,coalesce(sum(acked),0) AS value FROM temp.#counted"},
    {"counters", "id", "pending_bytes", "SELECT 1 AS key,coalesce(sum(bytes),0) AS value FROM temp.#counted"},
    // It may be lower than the oldest live row, but not higher.
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

// Released as in `Owners::putBack`: a late settle is rejected, and the sessions continue from their heads. An owner
// with a number outside the range is no process; a rule deletes it.
constexpr const char* kOrphans = " WHERE c.owner_id NOT IN (SELECT id FROM #owners WHERE id BETWEEN 1 AND 1<<62)";

class Recount {
public:
  Recount(sqlite3* connection, std::string_view prefix, RepairReport& report)
      : connection_(connection), prefix_(prefix), report_(report) {}

  void mend() {
    for (const char* const kind : {"index", "view"}) {
      for (const std::string& name : restoreObjects(connection_, prefix_, kind)) {
        addFinding(std::string(name).append(": the ").append(kind).append(" was missing, or another one; made anew"));
      }
    }
    putBackOrphans();
    bool isAny = false;
    for (const Rule& rule : rules()) {
      if (rule.mend == nullptr || *rule.mend == '\0') {
        continue;
      }
      Statement statement = prepare(statementOf(rule, rule.mend, false));
      for (Query query(statement); query.next(); isAny = true) {
        const std::string row = query.text(0);
        addFinding(std::string(prefix_) + rule.table + (row == "0" ? "" : " " + row) + ": " + rule.problem + "; " +
                   rule.outcome);
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
      countGauge(gauge);
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
      addFinding(std::string(prefix_) + "inbound_senders: the gauges were counted anew");
      recountSenders(connection_, prefix_);
    }
  }

  void end() const {
    if (report_.mended != 0) {
      // There may be live rows that no process has discovered.
      run("UPDATE #meta SET recalls=recalls+1");
      run("UPDATE #counters SET recounts=recounts+1");
    }
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
      report_.findings.push_back(std::move(finding));
    }
  }

  void countGauge(const Gauge& gauge) {
    const std::string rows = std::string("(").append(gauge.rows).append(") AS r");
    const std::string table = std::string("#").append(gauge.table);
    const std::string differs =
        std::string("r.key=").append(table).append(".").append(gauge.key).append(" AND ").append(table).append(".");
    Statement differences = prepare("SELECT r.key," + table + "." + gauge.column + ",r.value FROM " + table + " JOIN " +
                                    rows + " ON " + differs + gauge.column + "<>r.value");
    bool isWrong = false;
    for (Query query(differences); query.next(); isWrong = true) {
      addFinding(std::string(prefix_) + gauge.table + " " + query.text(0) + ": " + gauge.column + " was " +
                 query.text(1) + ", is " + query.text(2));
    }
    if (isWrong) {
      run("UPDATE " + table + " SET " + gauge.column + "=r.value FROM " + rows + " WHERE " + differs + gauge.column +
          "<>r.value");
    }
  }

  sqlite3* const connection_;
  const std::string_view prefix_;
  RepairReport& report_;
};

}  // namespace

void recountGauges(sqlite3* connection, std::string_view prefix) {
  RepairReport ignored;
  Recount(connection, prefix, ignored).count();
}

void mendRows(sqlite3* connection, std::string_view prefix, RepairReport& report) {
  Recount(connection, prefix, report).mend();
}

void recount(sqlite3* connection, std::string_view prefix, RepairReport& report) {
  Recount counting(connection, prefix, report);
  counting.count();
  counting.countSenders();
  counting.end();
}

}  // namespace ackbox::store::sqlite
