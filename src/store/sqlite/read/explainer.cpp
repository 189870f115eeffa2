#include "store/sqlite/read/explainer.hpp"

#include <utility>

#include "store/decisions/explaining.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/peers/liveness.hpp"

namespace ackbox::store::sqlite {
namespace {

// The number of rows that are searched from either end for an earlier message: a few milliseconds.
constexpr std::int64_t kLooksMax = 20'000;

}  // namespace

struct Explainer::Facts : MessageFacts {
  delivery::MessageKey key = 0;
  delivery::MessageKey head = 0;
  std::int64_t live = 0;
};

Explainer::Explainer(sqlite3* connection, const OutboxOptions& options, PeerLookup peers)
    : options_(options),
      peers_(std::move(peers)),
      sidecar_(ownersFile(connection, options.tablePrefix)),
      facts_(
          connection,
          std::string("SELECT o.id,o.session_id,")
              .append(kRowOwner)
              .append(",o.expires_at_ms,")
              .append(kSessionOwner)
              .append(",m.due_at_ms,p.down,p.next_probe_at_ms,"
                      "p.last_error,o.due_at_ms,o.attempt<>0,o.not_before_ms,p.hold,p.paused_at_ms,s.paused_at_ms,"
                      "s.blocked_at_ms,b.sequence,b.reason,p.down_since_ms,")
              .append(kSessionHead)
              .append(",")
              .append(kSessionLive)
              .append(
                  ",p.unattended_since_ms,p.unattended_type,p.removed_at_ms FROM #outbox AS o JOIN #sessions AS s ON "
                  "s.id=o.session_id JOIN #session_states AS m ON "
                  "m.session_id=s.id JOIN #peers AS p ON p.id=s.peer_id LEFT JOIN #outbox AS b ON "
                  "b.id=s.blocked_by LEFT JOIN ")
              .append(kUnwrittenTails)
              .append(" AS t ON t.session_id=s.id WHERE o.id=")
              .append(keyOfMessage()),
          options.tablePrefix),
      inFlight_(connection,
                std::string("SELECT min(o.sequence),o.retry_count,o.last_error FROM ")
                    .append(kClaimedRows)
                    .append(" WHERE o.session_id=?1 AND o.id<?2"),
                options.tablePrefix),
      head_(connection,
            "SELECT sequence,retry_count,last_error FROM #outbox WHERE id=?1 AND id<?2 AND session_id=?3 AND state<=1",
            options.tablePrefix),
      lookUp_(connection,
              "SELECT sequence,retry_count,last_error FROM (SELECT session_id,state,sequence,retry_count,last_error "
              "FROM #outbox WHERE id>=?1 AND id<?2 ORDER BY id LIMIT ?4) WHERE session_id=?3 AND state<=1 LIMIT 1",
              options.tablePrefix),
      lookDown_(connection,
                "SELECT sequence,retry_count,last_error FROM (SELECT session_id,state,sequence,retry_count,last_error "
                "FROM #outbox WHERE id<?1 ORDER BY id DESC LIMIT ?3) WHERE session_id=?2 AND state<=1 LIMIT 1",
                options.tablePrefix),
      beyond_(connection, "SELECT 1 FROM #outbox WHERE id>=?1 AND id<?2 ORDER BY id LIMIT 1 OFFSET ?3",
              options.tablePrefix),
      process_(connection, "SELECT pid FROM #owners WHERE id=?1", options.tablePrefix) {}

std::vector<Reason> Explainer::reasons(const MessageInfo& message, delivery::MessageKey oldest) {
  Facts facts;
  {
    Query query(facts_, message.messageId);
    query.next();
    facts.key = query.integer(0);
    facts.session = query.integer(1);
    facts.owner = query.integer(2);
    facts.expiresAt = query.optionalInstant(3);
    facts.sessionOwner = query.integer(4);
    facts.sessionDueAt = query.instant(5);
    facts.peerDown = query.integer(6) != 0;
    facts.nextProbeAt = query.instant(7);
    facts.peerError = query.text(8);
    facts.dueAt = query.instant(9);
    facts.wasTried = query.integer(10) != 0;
    facts.notBefore = query.optionalInstant(11);
    facts.peerHold = query.as<delivery::PeerHold>(12);
    facts.peerPausedAt = query.instant(13);
    facts.sessionPausedAt = query.instant(14);
    facts.blockedAt = query.instant(15);
    facts.blockedBySequence = query.as<std::uint64_t>(16);
    facts.blockedByReason = query.text(17);
    facts.downSince = query.instant(18);
    facts.head = query.integer(19);
    facts.live = query.integer(20);
    facts.unattendedSince = query.instant(21);
    facts.unattendedType = query.text(22);
    facts.peerRemovedAt = query.instant(23);
  }
  return explain(
      message, facts, options_, peers_,
      {.ahead = [&] { return ahead(facts, oldest); },
       .ofOwner = [this](BlockReason whenAlive, std::int64_t owner) { return ownerReason(whenAlive, owner); }});
}

// The session stores its head, which is stale only while a claim is partly settled. Then, as there is no index by
// session, the search is bounded: the rows in flight, then up from the oldest live row, then down from the message
// itself. A reason with sequence 0: a message may be ahead beyond the searched rows.
std::optional<Reason> Explainer::ahead(const Facts& facts, delivery::MessageKey oldest) {
  const auto behindRow = [](const Query& query) {
    return Reason{.blockReason = BlockReason::behind,
                  .sequence = query.as<std::uint64_t>(0),
                  .retryCount = query.as<std::uint32_t>(1),
                  .detail = query.text(2)};
  };
  if (facts.sessionOwner != 0) {
    Query query(inFlight_, facts.session, facts.key);
    if (query.next() && !query.isNull(0)) {
      return behindRow(query);
    }
  }
  if (facts.live <= 1 || facts.head == facts.key) {
    return std::nullopt;
  }
  if (Query query(head_, facts.head, facts.key, facts.session); query.next()) {
    return behindRow(query);
  }
  if (Query query(lookUp_, oldest, facts.key, facts.session, kLooksMax); query.next()) {
    return behindRow(query);
  }
  if (Query query(beyond_, oldest, facts.key, kLooksMax); !query.next()) {
    return std::nullopt;
  }
  if (Query query(lookDown_, facts.key, facts.session, kLooksMax); query.next()) {
    return behindRow(query);
  }
  Query query(beyond_, oldest, facts.key, 2 * kLooksMax);
  return query.next() ? std::optional(Reason{.blockReason = BlockReason::behind, .detail = {}}) : std::nullopt;
}

Reason Explainer::ownerReason(BlockReason whenAlive, std::int64_t owner) {
  Query query(process_, owner);
  const bool registered = query.next();
  return {.blockReason = registered && ownerLives(sidecar_, owner) ? whenAlive : BlockReason::ownerDead,
          .processId = registered ? query.integer(0) : 0,
          .detail = {}};
}

}  // namespace ackbox::store::sqlite
