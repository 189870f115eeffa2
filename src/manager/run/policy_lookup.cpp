#include "manager/run/policy_lookup.hpp"

#include <utility>

#include "base/policies.hpp"

namespace ackbox::manager {

delivery::MachineOptions PolicyLookup::machineOptions() {
  delivery::MachineOptions made;
  made.retry = options_.retry;
  made.peerHealth = options_.peerHealth;
  made.batchFrames = options_.batchFrames;
  made.batchBytes = options_.batchBytes;
  made.ackTimeout = options_.ackTimeout;
  made.sharedPollInterval = options_.sharedPollInterval;
  if (options_.onFailure) {
    made.onFailure = [this](const delivery::Failure& failure) { return decide(failure); };
  }
  return made;
}

void PolicyLookup::addPeer(delivery::PeerKey peer, std::shared_ptr<const PeerOptions> options) {
  PeerPolicies& policies = peers_[peer];
  policies.retry = retryPolicyOfPeer(options_, *options);
  policies.options = std::move(options);
}

void PolicyLookup::introduce(std::span<delivery::SessionInfo> sessions) {
  for (delivery::SessionInfo& session : sessions) {
    const auto known = peers_.find(session.peer);
    const std::string_view peer = peerName(session.peer);
    const RetryPolicy* const own = retryPolicyOfSessions(options_, peer, session.name);
    // A peer that this process does not know is not sent anything.
    session.policy.retry =
        own != nullptr || known == peers_.end() ? &retryPolicyOf(options_, peer, session.name) : &known->second.retry;
    session.policy.gap =
        gapPolicyOf(options_, known == peers_.end() ? nullptr : known->second.options.get(), peer, session.name);
    if (options_.onFailure) {
      sessions_.insert_or_assign(session.key, SessionNames{session.peer, session.name});
    }
  }
}

void PolicyLookup::sending(delivery::MessageKey key, const OutboundFrame& frame) {
  if (options_.onFailure) {
    messages_.insert_or_assign(key, Named{frame.messageId, frame.type});
  }
}

void PolicyLookup::settled(delivery::MessageKey key) {
  messages_.erase(key);
}

FailureDecision PolicyLookup::decide(const delivery::Failure& failure) const {
  FailureContext context;
  if (const auto session = sessions_.find(failure.session); session != sessions_.end()) {
    context.peer = peerName(session->second.peer);
    context.session = session->second.session;
  }
  if (const auto message = messages_.find(failure.row.key); message != messages_.end()) {
    context.messageId = message->second.id;
    context.type = message->second.type;
  }
  context.sequence = failure.row.sequence;
  context.retryCount = failure.row.retryCount;
  context.enqueuedAt = failure.row.enqueuedAt;
  context.now = failure.now;
  context.code = failure.code;
  context.detail = failure.detail;
  context.isFinal = failure.isFinal;
  context.reason = failure.reason;
  return options_.onFailure(context);
}

std::string_view PolicyLookup::peerName(delivery::PeerKey peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? std::string_view() : std::string_view(found->second.options->name);
}

}  // namespace ackbox::manager
