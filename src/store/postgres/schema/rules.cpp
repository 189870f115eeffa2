#include "store/postgres/schema/rules.hpp"

#include <cstdint>
#include <string>

namespace ackbox::store::postgres {
namespace {

/// A condition on the rows: `sql` gives the key of each row that breaks it.
struct Rule {
  const char* table = nullptr;
  const char* problem = nullptr;
  const char* sql = nullptr;
  bool isOfGauges = false;
};

constexpr const char* kPeerGauges =
    "(SELECT p.id AS peer_id, count(*) FILTER (WHERE o.state=0) AS pending, count(*) FILTER (WHERE o.state=2) AS sent, "
    "count(*) FILTER (WHERE o.state=4) AS failed, count(*) FILTER (WHERE o.state=3) AS retained, "
    "coalesce(sum(octet_length(o.data)) FILTER (WHERE o.state IN (0,2)),0) AS pending_bytes FROM #peers AS p LEFT JOIN "
    "#sessions AS s ON s.peer_id=p.id LEFT JOIN #outbox AS o ON o.session_id=s.id GROUP BY p.id)";

constexpr const char* kShares =
    "(SELECT source,sum(sessions) AS sessions,sum(origins) AS origins,sum(marks) AS marks,sum(bytes) AS bytes,"
    "sum(inbox) AS inbox,sum(inbox_bytes) AS inbox_bytes FROM (SELECT source,1 AS sessions,0 AS origins,0 AS marks,"
    "192+2*(octet_length(source)+octet_length(origin)+octet_length(session)) AS bytes,0 AS inbox,0 AS inbox_bytes FROM "
    "#inbound_sessions UNION ALL SELECT source,0,1,0,96+2*(octet_length(source)+octet_length(origin)),0,0 FROM "
    "#inbound_origins UNION ALL SELECT source,0,0,1,96+2*(octet_length(source)+octet_length(id)),0,0 FROM "
    "#processed_messages UNION ALL SELECT source,0,0,1,128+2*(octet_length(source)+octet_length(origin)+"
    "octet_length(session)+octet_length(frame_id))+octet_length(coalesce(code,'')||coalesce(detail,'')||"
    "coalesce(result,'')||type),0,0 FROM #inbox_results UNION ALL SELECT source,0,0,0,0,1,octet_length(data) FROM "
    "#inbox) AS "
    "r GROUP BY source)";

constexpr Rule kRules[] = {
    {"meta", "the store's identity is missing", "SELECT 0 WHERE NOT EXISTS(SELECT 1 FROM #meta)"},
    {"outbox", "its state is unknown", "SELECT id FROM #outbox WHERE state NOT IN (0,2,3,4)"},
    {"outbox", "its session is missing", "SELECT id FROM #outbox WHERE session_id NOT IN (SELECT id FROM #sessions)"},
    {"outbox", "its key has not been given out",
     "SELECT o.id FROM #outbox AS o, #outbox_id AS q WHERE o.id>q.last_value"},
    {"outbox", "it is pending again under a number that its session has passed",
     "SELECT o.id FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.state=0 AND "
     "o.reason IS NOT NULL AND o.sequence<>0 AND o.sequence<=m.previous_sequence"},
    {"outbox", "it is a dead letter without a reason",
     "SELECT id FROM #outbox WHERE state=4 AND coalesce(reason,'')=''"},
    {"outbox", "its sequence does not rise in its session",
     "SELECT id FROM (SELECT id,sequence,lag(sequence,1,0::bigint) OVER (PARTITION BY session_id ORDER BY id) AS "
     "earlier FROM #outbox WHERE sequence<>0) AS o WHERE sequence<=earlier"},
    {"outbox", "it was never tried, but its session's predecessor has passed it",
     "SELECT o.id FROM #outbox AS o JOIN #session_states AS m ON m.session_id=o.session_id WHERE o.state=0 AND "
     "o.attempt=0 AND o.sequence<>0 AND o.sequence<=m.previous_sequence AND NOT EXISTS(SELECT 1 FROM #claims AS c "
     "WHERE c.id=-o.session_id AND o.id=ANY(c.keys))"},
    {"outbox", "it is unordered but has a sequence, or is ordered and has none",
     "SELECT o.id FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id WHERE (s.lane<>0)<>(o.sequence=0)"},
    {"claims", "its owner is not registered", "SELECT id FROM #claims WHERE owner_id NOT IN (SELECT id FROM #owners)"},
    {"claims", "it claims a message that is missing or not pending",
     "SELECT c.id FROM #claims AS c, unnest(c.keys) AS k(key) WHERE NOT EXISTS(SELECT 1 FROM #outbox AS o WHERE "
     "o.id=k.key AND o.state=0 AND c.id=CASE WHEN o.sequence>0 THEN -o.session_id ELSE o.id END)"},
    {"claims", "it claims a session that is missing, or a queue of unordered messages",
     "SELECT id FROM #claims AS c WHERE id<0 AND NOT EXISTS(SELECT 1 FROM #sessions AS s WHERE s.id=-c.id AND "
     "s.lane=0)"},
    {"sessions", "its state is missing",
     "SELECT id FROM #sessions WHERE id NOT IN (SELECT session_id FROM #session_states)"},
    {"sessions", "its peer is missing", "SELECT id FROM #sessions WHERE peer_id NOT IN (SELECT id FROM #peers)"},
    {"session_states", "its session is missing",
     "SELECT session_id FROM #session_states WHERE session_id NOT IN (SELECT id FROM #sessions)"},
    {"session_states", "it stands by a message that was never given a number",
     "SELECT m.session_id FROM #session_states AS m WHERE greatest(m.previous_sequence,m.confirmed_sequence)>"
     "greatest(m.last_sequence,coalesce((SELECT max(o.sequence) FROM #outbox AS o WHERE o.session_id=m.session_id AND "
     "o.sequence>0),0))"},
    {"session_states", "the dead letter that blocks it is missing",
     "SELECT session_id FROM #session_states WHERE blocked_by<>0 AND blocked_by NOT IN (SELECT id FROM #outbox WHERE "
     "state=4)"},
    {"idempotency_keys", "a publish names a key that is missing",
     "SELECT position FROM #publications WHERE key NOT IN (SELECT key FROM #idempotency_keys WHERE peer_id=0)"},
    {"subscriptions", "its peer is missing",
     "SELECT peer_id FROM #subscriptions WHERE peer_id NOT IN (SELECT id FROM #peers WHERE removed_at_ms=0)"},
    {"inbox", "its owner is not registered",
     "SELECT id FROM #inbox WHERE owner_id<>0 AND owner_id NOT IN (SELECT id FROM #owners)"},
    {"inbox", "it was run without success, and nothing says why",
     "SELECT id FROM #inbox WHERE retry_count>0 AND (last_error IS NULL OR failed_at_ms IS NULL)"},
    {"inbox", "its session has no mark that covers it",
     "SELECT i.id FROM #inbox AS i WHERE i.sequence>0 AND NOT EXISTS(SELECT 1 FROM #inbound_sessions AS s WHERE "
     "s.source=i.source AND s.origin=i.origin AND s.session=i.session AND s.accepted_sequence>=i.sequence)"},
    {"counts", "the gauges of a peer are not what its messages are", nullptr, true},
    {"sender_shares", "what is counted of a sender is not what is kept of it", nullptr, true},
    {"counts", "the gauges of the inbox are not what it has", nullptr, true},
};

// The rules of gauges, in their order above.
std::vector<std::string> gaugeRules() {
  return {"SELECT g.peer_id FROM " + std::string(kPeerGauges) +
              " AS g LEFT JOIN (SELECT peer_id,sum(pending) AS pending,sum(sent) AS sent,sum(failed) AS "
              "failed,sum(retained) AS retained,sum(pending_bytes) AS pending_bytes FROM #counts GROUP BY peer_id) AS "
              "c ON c.peer_id=g.peer_id WHERE (g.pending,g.sent,g.failed,g.retained,g.pending_bytes) IS DISTINCT FROM "
              "(coalesce(c.pending,0),coalesce(c.sent,0),coalesce(c.failed,0),coalesce(c.retained,0),"
              "coalesce(c.pending_bytes,0))",
          "SELECT 0 FROM " + std::string(kShares) +
              " AS g FULL JOIN (SELECT source,sum(sessions) AS sessions,sum(origins) AS origins,sum(marks) AS marks,"
              "sum(bytes) AS bytes,sum(inbox) AS inbox,sum(inbox_bytes) AS inbox_bytes FROM #sender_shares GROUP BY "
              "source) AS c ON c.source=g.source WHERE (coalesce(g.sessions,0),coalesce(g.origins,0),"
              "coalesce(g.marks,0),coalesce(g.bytes,0),coalesce(g.inbox,0),coalesce(g.inbox_bytes,0)) IS DISTINCT FROM "
              "(coalesce(c.sessions,0),coalesce(c.origins,0),coalesce(c.marks,0),coalesce(c.bytes,0),"
              "coalesce(c.inbox,0),coalesce(c.inbox_bytes,0))",
          "SELECT 0 WHERE (SELECT (count(*),coalesce(sum(octet_length(data)),0)) FROM #inbox) IS DISTINCT FROM (SELECT "
          "(coalesce(sum(inbox),0)::bigint,coalesce(sum(inbox_bytes),0)::bigint) FROM #counts)"};
}

}  // namespace

std::string recountSql() {
  return "INSERT INTO #counts(peer_id,pending,sent,failed,retained,pending_bytes) SELECT g.peer_id,"
         "g.pending-coalesce(c.pending,0),g.sent-coalesce(c.sent,0),g.failed-coalesce(c.failed,0),"
         "g.retained-coalesce(c.retained,0),g.pending_bytes-coalesce(c.pending_bytes,0) FROM " +
         std::string(kPeerGauges) +
         " AS g LEFT JOIN (SELECT peer_id,sum(pending) AS pending,sum(sent) AS sent,sum(failed) AS failed,"
         "sum(retained) AS retained,sum(pending_bytes) AS pending_bytes FROM #counts GROUP BY peer_id) AS c ON "
         "c.peer_id=g.peer_id; DELETE FROM #sender_shares; INSERT INTO #sender_shares SELECT * FROM " +
         std::string(kShares) +
         " AS g; INSERT INTO #counts(peer_id,inbox,inbox_bytes,inbound_bytes,recounts) SELECT 0,(SELECT count(*) FROM "
         "#inbox)-coalesce(sum(inbox),0),(SELECT coalesce(sum(octet_length(data)),0) FROM "
         "#inbox)-coalesce(sum(inbox_bytes),0),(SELECT coalesce(sum(bytes),0) FROM "
         "#sender_shares)-coalesce(sum(inbound_bytes),0),1 FROM #counts";
}

std::vector<Finding> findingsOf(Connection& connection, Rules rules) {
  const std::vector<std::string> gauges = gaugeRules();
  std::vector<Finding> findings;
  std::size_t gauge = 0;
  for (const Rule& rule : kRules) {
    if (rules == Rules::gauges && !rule.isOfGauges) {
      continue;
    }
    const std::string sql = rule.isOfGauges ? gauges.at(gauge++) : std::string(rule.sql);
    for (const Row& row : connection.execute(sql + " LIMIT 100")) {
      findings.push_back({std::string("ackbox.") + rule.table, row.integer(0), rule.problem});
    }
  }
  return findings;
}

}  // namespace ackbox::store::postgres
