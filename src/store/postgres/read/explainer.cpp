#include "store/postgres/read/explainer.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/policies.hpp"
#include "delivery/types.hpp"
#include "store/decisions/known_peers.hpp"
#include "store/postgres/outbound/claims.hpp"

namespace ackbox::store::postgres {

struct Explainer::Facts {
  delivery::SessionKey session = 0;
  std::int64_t owner = 0;
  std::optional<WallTime> expiresAt;
  std::int64_t sessionOwner = 0;
  WallTime sessionDueAt{};
  bool peerDown = false;
  WallTime nextProbeAt{};
  std::string peerError;
  WallTime dueAt{};
  bool wasTried = false;
  std::optional<WallTime> notBefore;
  delivery::PeerHold peerHold{};
  WallTime peerPausedAt{};
  WallTime sessionPausedAt{};
  WallTime blockedAt{};
  std::uint64_t blockedBySequence = 0;
  std::string blockedByReason;
  WallTime downSince{};
  WallTime unattendedSince{};
  std::string unattendedType;
  WallTime peerRemovedAt{};
  std::uint64_t sequence = 0;
};

Explainer::Explainer(Connection& connection, const OutboxOptions& options, PeerLookup peers)
    : connection_(connection), options_(options), peers_(std::move(peers)) {}

std::vector<Reason> Explainer::reasons(const MessageInfo& message) {
  Facts facts;
  {
    static const std::string kFacts =
        "SELECT o.session_id,coalesce(" + std::string(kClaimant) +
        ",0),o.expires_at_ms,"
        "coalesce((SELECT owner_id FROM #claims WHERE id=-o.session_id),0),m.due_at_ms,p.down,p.next_probe_at_ms,"
        "p.last_error,o.due_at_ms,o.attempt<>0,o.not_before_ms,p.hold,p.paused_at_ms,m.paused_at_ms,m.blocked_at_ms,"
        "coalesce(b.sequence,0),coalesce(b.reason,''),p.down_since_ms,p.unattended_since_ms,p.unattended_type,"
        "p.removed_at_ms,o.sequence FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #session_states AS "
        "m ON m.session_id=s.id JOIN #peers AS p ON p.id=s.peer_id LEFT JOIN #outbox AS b ON b.id=m.blocked_by WHERE "
        "o.id=$1";
    const Result result = connection_.run(kFacts, message.row);
    Columns columns(result.front());
    columns >> facts.session >> facts.owner >> facts.expiresAt >> facts.sessionOwner >> facts.sessionDueAt >>
        facts.peerDown >> facts.nextProbeAt >> facts.peerError >> facts.dueAt >> facts.wasTried >> facts.notBefore >>
        facts.peerHold >> facts.peerPausedAt >> facts.sessionPausedAt >> facts.blockedAt >> facts.blockedBySequence >>
        facts.blockedByReason >> facts.downSince >> facts.unattendedSince >> facts.unattendedType >>
        facts.peerRemovedAt >> facts.sequence;
  }
  std::vector<Reason> reasons;
  switch (message.state) {
    case MessageState::acked:
      reasons.push_back({.blockReason = BlockReason::acknowledged, .until = message.dueAt, .detail = {}});
      break;
    case MessageState::failed:
      reasons.push_back({.blockReason = BlockReason::deadLetter, .until = message.dueAt, .detail = message.reason});
      break;
    case MessageState::sent:
      if (facts.unattendedSince != WallTime{} && facts.unattendedType == message.type) {
        reasons.push_back({.blockReason = BlockReason::peerUnattended,
                           .since = facts.unattendedSince,
                           .detail = facts.unattendedType});
      }
      reasons.push_back({.blockReason = BlockReason::awaitsAck, .until = message.dueAt, .detail = {}});
      break;
    case MessageState::sending:
      reasons.push_back(ownerReason(BlockReason::inFlight, facts.owner));
      break;
    case MessageState::pending:
      explainPending(facts, message, reasons);
      break;
  }
  return reasons;
}

void Explainer::explainPending(const Facts& facts, const MessageInfo& message, std::vector<Reason>& reasons) {
  const WallTime now = options_.clock->wallNow();
  if (facts.expiresAt && *facts.expiresAt <= now) {
    reasons.push_back({.blockReason = BlockReason::expired, .until = *facts.expiresAt, .detail = {}});
  }
  const auto horizon = retryOf(message).horizon;
  const WallTime start = std::max(message.enqueuedAt, facts.notBefore.value_or(message.enqueuedAt));
  if (horizon.count() > 0 && now - start >= horizon) {
    reasons.push_back({.blockReason = BlockReason::pastHorizon, .until = start + horizon, .detail = {}});
  }
  const bool unordered = message.sequence == 0;
  if (facts.dueAt > now && !facts.wasTried) {
    reasons.push_back({.blockReason = BlockReason::notBefore, .until = facts.dueAt, .detail = {}});
  } else if (facts.dueAt > now && unordered) {
    reasons.push_back({.blockReason = BlockReason::backoff, .until = facts.dueAt, .detail = message.lastError});
  }
  if (std::optional<Reason> before = unordered ? std::nullopt : ahead(facts)) {
    reasons.push_back(std::move(*before));
  }
  if (facts.blockedAt != WallTime{}) {
    reasons.push_back({.blockReason = BlockReason::sessionBlocked,
                       .until = facts.blockedAt,
                       .sequence = facts.blockedBySequence,
                       .detail = facts.blockedByReason});
  }
  if (facts.sessionPausedAt != WallTime{}) {
    reasons.push_back({.blockReason = BlockReason::sessionPaused, .until = facts.sessionPausedAt, .detail = {}});
  }
  if (facts.sessionOwner != 0) {
    reasons.push_back(ownerReason(BlockReason::sessionInFlight, facts.sessionOwner));
  }
  if (facts.sessionDueAt > now) {
    reasons.push_back({.blockReason = BlockReason::backoff, .until = facts.sessionDueAt, .detail = message.lastError});
  }
  explainPeer(facts, message, reasons);
}

void Explainer::explainPeer(const Facts& facts, const MessageInfo& message, std::vector<Reason>& reasons) const {
  if (facts.peerPausedAt != WallTime{}) {
    reasons.push_back({.blockReason = BlockReason::peerPaused, .until = facts.peerPausedAt, .detail = {}});
  }
  if (facts.peerDown) {
    const BlockReason how = facts.peerHold == delivery::PeerHold::disabled ? BlockReason::peerDisabled
                            : facts.peerHold == delivery::PeerHold::held   ? BlockReason::peerHeld
                                                                           : BlockReason::peerDown;
    reasons.push_back(
        {.blockReason = how, .until = facts.nextProbeAt, .since = facts.downSince, .detail = facts.peerError});
  }
  if (facts.peerRemovedAt != WallTime{}) {
    reasons.push_back({.blockReason = BlockReason::peerRemoved, .until = facts.peerRemovedAt, .detail = {}});
  } else if (!isPeerHere(message.peer)) {
    reasons.push_back({.blockReason = BlockReason::peerNotConfigured, .detail = {}});
  }
}

bool Explainer::isPeerHere(const std::string& name) const {
  if (options_.adoptPeers) {
    return true;
  }
  if (peers_) {
    return peers_(name) != nullptr;
  }
  const std::vector<PeerOptions> configured = configuredPeers(options_);
  return std::ranges::find(configured, name, &PeerOptions::name) != configured.end();
}

RetryPolicy Explainer::retryOf(const MessageInfo& message) const {
  const std::shared_ptr<const PeerOptions> peer = peers_ ? peers_(message.peer) : nullptr;
  const RetryPolicy* const own = retryPolicyOfSessions(options_, message.peer, message.session);
  return own == nullptr && peer ? retryPolicyOfPeer(options_, *peer)
                                : retryPolicyOf(options_, message.peer, message.session);
}

// The first live message of its session, if it is another one: the index of sessions has it.
std::optional<Reason> Explainer::ahead(const Facts& facts) {
  const Result result = connection_.run(
      "SELECT sequence,retry_count,coalesce(last_error,'') FROM #outbox WHERE session_id=$1 AND sequence>0 AND "
      "sequence<$2::bigint AND state=0 ORDER BY sequence LIMIT 1",
      facts.session, facts.sequence);
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
