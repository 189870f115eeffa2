#include "base/policies.hpp"

#include <algorithm>

namespace ackbox {
namespace {

// Null: no policy for sessions sets the field.
template <typename Policy>
const Policy* ofSessions(const OutboxOptions& options, std::string_view peer, std::string_view session,
                         std::optional<Policy> SessionPolicy::*field) {
  for (const SessionPolicy& policy : options.sessionPolicies) {
    if (policy.*field && fits(policy.peer, peer) && fits(policy.session, session)) {
      return &*(policy.*field);
    }
  }
  return nullptr;
}

const PeerOptions* peerNamed(const OutboxOptions& options, std::string_view name) noexcept {
  const auto found = std::ranges::find(options.peers, name, &PeerOptions::name);
  return found == options.peers.end() ? nullptr : &*found;
}

}  // namespace

bool fits(std::string_view pattern, std::string_view name) noexcept {
  if (pattern.ends_with('*')) {
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern == name;
}

const RetryPolicy* retryPolicyOfSessions(const OutboxOptions& options, std::string_view peer,
                                         std::string_view session) noexcept {
  return ofSessions(options, peer, session, &SessionPolicy::retry);
}

const RetryPolicy& retryPolicyOfPeer(const OutboxOptions& options, const PeerOptions& peer) noexcept {
  if (peer.retry) {
    return *peer.retry;
  }
  return peer.profile == PeerProfile::native ? options.retry : options.webhookRetry;
}

const RetryPolicy& retryPolicyOf(const OutboxOptions& options, std::string_view peer,
                                 std::string_view session) noexcept {
  if (const RetryPolicy* policy = retryPolicyOfSessions(options, peer, session)) {
    return *policy;
  }
  const PeerOptions* const known = peerNamed(options, peer);
  return known == nullptr ? options.retry : retryPolicyOfPeer(options, *known);
}

GapPolicy gapPolicyOf(const OutboxOptions& options, std::string_view peer, std::string_view session) noexcept {
  return gapPolicyOf(options, peerNamed(options, peer), peer, session);
}

GapPolicy gapPolicyOf(const OutboxOptions& options, const PeerOptions* known, std::string_view peer,
                      std::string_view session) noexcept {
  if (const GapPolicy* policy = ofSessions(options, peer, session, &SessionPolicy::gap)) {
    return *policy;
  }
  return known == nullptr ? options.gap : known->gap.value_or(options.gap);
}

PeerResetPolicy peerResetPolicyOf(const OutboxOptions& options, std::string_view peer) noexcept {
  const PeerOptions* const known = peerNamed(options, peer);
  return known == nullptr ? options.peerReset : known->peerReset.value_or(options.peerReset);
}

}  // namespace ackbox
