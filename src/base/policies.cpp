#include "base/policies.hpp"

#include <algorithm>

namespace ackbox {
namespace {

// The nearest policy that sets the field: the session's, else the peer's; null: neither sets it.
template <typename Policy>
const Policy* nearest(const OutboxOptions& options, std::string_view peer, std::string_view session,
                      std::optional<Policy> SessionPolicy::*ofSessions, std::optional<Policy> PeerOptions::*ofPeer) {
  for (const SessionPolicy& policy : options.sessionPolicies) {
    if (policy.*ofSessions && fits(policy.peer, peer) && fits(policy.session, session)) {
      return &*(policy.*ofSessions);
    }
  }
  for (const PeerOptions& known : options.peers) {
    if (known.*ofPeer && known.name == peer) {
      return &*(known.*ofPeer);
    }
  }
  return nullptr;
}

bool isWebhook(const OutboxOptions& options, std::string_view peer) noexcept {
  return std::ranges::any_of(options.peers, [peer](const PeerOptions& known) {
    return known.name == peer && known.profile != PeerProfile::native;
  });
}

}  // namespace

bool fits(std::string_view pattern, std::string_view name) noexcept {
  if (pattern.ends_with('*')) {
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern == name;
}

const RetryPolicy& retryPolicyOf(const OutboxOptions& options, std::string_view peer,
                                 std::string_view session) noexcept {
  const RetryPolicy* policy = nearest(options, peer, session, &SessionPolicy::retry, &PeerOptions::retry);
  return policy == nullptr ? (isWebhook(options, peer) ? options.webhookRetry : options.retry) : *policy;
}

GapPolicy gapPolicyOf(const OutboxOptions& options, std::string_view peer, std::string_view session) noexcept {
  const GapPolicy* policy = nearest(options, peer, session, &SessionPolicy::gap, &PeerOptions::gap);
  return policy == nullptr ? options.gap : *policy;
}

PeerResetPolicy peerResetPolicyOf(const OutboxOptions& options, std::string_view peer) noexcept {
  for (const PeerOptions& known : options.peers) {
    if (known.peerReset && known.name == peer) {
      return *known.peerReset;
    }
  }
  return options.peerReset;
}

}  // namespace ackbox
