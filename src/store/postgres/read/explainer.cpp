#include "store/postgres/read/explainer.hpp"

#include <utility>

#include "store/decisions/explaining.hpp"
#include "store/postgres/outbound/claims.hpp"

namespace ackbox::store::postgres {

Explainer::Explainer(Connection& connection, const OutboxOptions& options, PeerLookup peers)
    : connection_(connection), options_(options), peers_(std::move(peers)) {}

std::vector<Reason> Explainer::reasons(const MessageInfo& message) {
  MessageFacts facts;
  {
    static const std::string kFacts =
        "SELECT o.session_id,coalesce(" + std::string(kClaimant) +
        ",0),o.expires_at_ms,"
        "coalesce((SELECT owner_id FROM #claims WHERE id=-o.session_id),0),m.due_at_ms,p.down,p.next_probe_at_ms,"
        "p.last_error,o.due_at_ms,o.attempt<>0,o.not_before_ms,p.hold,p.paused_at_ms,m.paused_at_ms,m.blocked_at_ms,"
        "coalesce(b.sequence,0),coalesce(b.reason,''),p.down_since_ms,p.unattended_since_ms,p.unattended_type,"
        "p.removed_at_ms FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #session_states AS "
        "m ON m.session_id=s.id JOIN #peers AS p ON p.id=s.peer_id LEFT JOIN #outbox AS b ON b.id=m.blocked_by WHERE "
        "o.id=$1";
    const Result result = connection_.run(kFacts, message.row);
    Columns columns(result.front());
    columns >> facts.session >> facts.owner >> facts.expiresAt >> facts.sessionOwner >> facts.sessionDueAt >>
        facts.peerDown >> facts.nextProbeAt >> facts.peerError >> facts.dueAt >> facts.wasTried >> facts.notBefore >>
        facts.peerHold >> facts.peerPausedAt >> facts.sessionPausedAt >> facts.blockedAt >> facts.blockedBySequence >>
        facts.blockedByReason >> facts.downSince >> facts.unattendedSince >> facts.unattendedType >>
        facts.peerRemovedAt;
  }
  return explain(
      message, facts, options_, peers_,
      {.ahead = [&] { return ahead(facts.session, message.sequence); },
       .ofOwner = [this](BlockReason whenAlive, std::int64_t owner) { return ownerReason(whenAlive, owner); }});
}

// The first live message of its session, if it is another one: the index of sessions has it.
std::optional<Reason> Explainer::ahead(delivery::SessionKey session, std::uint64_t sequence) {
  const Result result = connection_.run(
      "SELECT sequence,retry_count,coalesce(last_error,'') FROM #outbox WHERE session_id=$1 AND sequence>0 AND "
      "sequence<$2::bigint AND state=0 ORDER BY sequence LIMIT 1",
      session, sequence);
  if (result.empty()) {
    return std::nullopt;
  }
  const Row row = result.front();
  return Reason{.blockReason = BlockReason::behind,
                .sequence = row.as<std::uint64_t>(0),
                .retryCount = row.as<std::uint32_t>(1),
                .detail = row.text(2)};
}

Reason Explainer::ownerReason(BlockReason whenAlive, std::int64_t owner) {
  const OwnerLook look = lookAtOwner(connection_, owner);
  return {.blockReason = look.lives ? whenAlive : BlockReason::ownerDead, .processId = look.processId, .detail = {}};
}

OwnerLook lookAtOwner(Connection& connection, std::int64_t owner) {
  const Result result = connection.run("SELECT pid,#lives(id) FROM #owners WHERE id=$1", owner);
  return result.empty() ? OwnerLook{} : OwnerLook{result.front().integer(0), result.front().integer(1) != 0};
}

}  // namespace ackbox::store::postgres
