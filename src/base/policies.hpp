#pragma once

#include <string_view>

#include "ackbox/options.hpp"

namespace ackbox {

/// The policies of one session: the first of `sessionPolicies` that fits, else the peer's, else the outbox's, which has
/// separate retries for webhooks. The references are into `options`. A peer that `options.peers` does not have is
/// native.
[[nodiscard]] const RetryPolicy& retryPolicyOf(const OutboxOptions& options, std::string_view peer,
                                               std::string_view session) noexcept;
[[nodiscard]] GapPolicy gapPolicyOf(const OutboxOptions& options, std::string_view peer,
                                    std::string_view session) noexcept;
/// The same for a peer with the options `known`, which `options.peers` need not have; null: no such peer is known.
[[nodiscard]] GapPolicy gapPolicyOf(const OutboxOptions& options, const PeerOptions* known, std::string_view peer,
                                    std::string_view session) noexcept;

/// The retry policy of the first of `sessionPolicies` that fits and has one; null: none has.
[[nodiscard]] const RetryPolicy* retryPolicyOfSessions(const OutboxOptions& options, std::string_view peer,
                                                       std::string_view session) noexcept;
/// The retry policy of a peer with these options, apart from `sessionPolicies`.
[[nodiscard]] const RetryPolicy& retryPolicyOfPeer(const OutboxOptions& options, const PeerOptions& peer) noexcept;

[[nodiscard]] PeerResetPolicy peerResetPolicyOf(const OutboxOptions& options, std::string_view peer) noexcept;

/// Whether `name` equals `pattern`, or begins with the part before the `*` at its end.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view name) noexcept;

}  // namespace ackbox
