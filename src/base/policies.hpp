#pragma once

#include <string_view>

#include "ackbox/options.hpp"

namespace ackbox {

/// The policies of one session: the first of `sessionPolicies` that fits, else the peer's, else the outbox's, where
/// webhooks have retries of their own. The references are into `options`.
[[nodiscard]] const RetryPolicy& retryPolicyOf(const OutboxOptions& options, std::string_view peer,
                                               std::string_view session) noexcept;
[[nodiscard]] GapPolicy gapPolicyOf(const OutboxOptions& options, std::string_view peer,
                                    std::string_view session) noexcept;

[[nodiscard]] PeerResetPolicy peerResetPolicyOf(const OutboxOptions& options, std::string_view peer) noexcept;

/// Whether `name` is `pattern`, or begins with it up to a `*` at its end.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view name) noexcept;

}  // namespace ackbox
