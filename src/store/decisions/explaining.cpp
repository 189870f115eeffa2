#include "store/decisions/explaining.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/policies.hpp"
#include "delivery/transition.hpp"
#include "store/decisions/known_peers.hpp"

namespace ackbox::store {
namespace {

RetryPolicy retryOf(const MessageInfo& message, const OutboxOptions& options, const PeerLookup& peers) {
  const std::shared_ptr<const PeerOptions> peer = peers ? peers(message.peer) : nullptr;
  const RetryPolicy* const own = retryPolicyOfSessions(options, message.peer, message.session);
  return own == nullptr && peer ? retryPolicyOfPeer(options, *peer)
                                : retryPolicyOf(options, message.peer, message.session);
}

/// The last error. What was no failure of the message, such as a limit of its peer, must not read as one.
std::string errorOf(const MessageInfo& message) {
  const bool isCharged =
      message.attempts.empty() || message.attempts.front().outcome != delivery::toString(delivery::Transition::release);
  return isCharged ? message.lastError : "not charged to the message: " + message.lastError;
}

bool isPeerHere(const std::string& name, const OutboxOptions& options, const PeerLookup& peers) {
  if (options.adoptPeers) {
    return true;
  }
  if (peers) {
    return peers(name) != nullptr;
  }
  const std::vector<PeerOptions> configured = configuredPeers(options);
  return std::ranges::find(configured, name, &PeerOptions::name) != configured.end();
}

void explainPeer(const MessageInfo& message, const MessageFacts& facts, const OutboxOptions& options,
                 const PeerLookup& peers, std::vector<Reason>& reasons) {
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
  } else if (!isPeerHere(message.peer, options, peers)) {
    reasons.push_back({.blockReason = BlockReason::peerNotConfigured, .detail = {}});
  }
}

void explainPending(const MessageInfo& message, const MessageFacts& facts, const OutboxOptions& options,
                    const PeerLookup& peers, const FurtherFacts& further, std::vector<Reason>& reasons) {
  const WallTime now = options.clock->wallNow();
  if (facts.expiresAt && *facts.expiresAt <= now) {
    reasons.push_back({.blockReason = BlockReason::expired, .until = *facts.expiresAt, .detail = {}});
  }
  const auto horizon = retryOf(message, options, peers).horizon;
  const WallTime start = std::max(message.enqueuedAt, facts.notBefore.value_or(message.enqueuedAt));
  if (horizon.count() > 0 && now - start >= horizon) {
    reasons.push_back({.blockReason = BlockReason::pastHorizon, .until = start + horizon, .detail = {}});
  }
  const bool unordered = message.sequence == 0;
  if (facts.dueAt > now && !facts.wasTried) {
    reasons.push_back({.blockReason = BlockReason::notBefore, .until = facts.dueAt, .detail = {}});
  } else if (facts.dueAt > now && unordered) {
    reasons.push_back({.blockReason = BlockReason::backoff, .until = facts.dueAt, .detail = errorOf(message)});
  }
  if (std::optional<Reason> before = unordered ? std::nullopt : further.ahead()) {
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
    reasons.push_back(further.ofOwner(BlockReason::sessionInFlight, facts.sessionOwner));
  }
  if (facts.sessionDueAt > now) {
    reasons.push_back({.blockReason = BlockReason::backoff, .until = facts.sessionDueAt, .detail = errorOf(message)});
  }
  explainPeer(message, facts, options, peers, reasons);
}

}  // namespace

std::vector<Reason> explain(const MessageInfo& message, const MessageFacts& facts, const OutboxOptions& options,
                            const PeerLookup& peers, const FurtherFacts& further) {
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
      reasons.push_back(further.ofOwner(BlockReason::inFlight, facts.owner));
      break;
    case MessageState::pending:
      explainPending(message, facts, options, peers, further, reasons);
      break;
  }
  return reasons;
}

}  // namespace ackbox::store
