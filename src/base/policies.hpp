#pragma once

#include <string_view>

#include "ackbox/options.hpp"

namespace ackbox {

/// The policies of one session: the first of `sessionPolicies` that fits, else the peer's, else the outbox's, which has
/// separate retries for webhooks. The references are into `options`.
[[nodiscard]] const RetryPolicy& retryPolicyOf(const OutboxOptions& options, std::string_view peer,
                                               std::string_view session) noexcept;
[[nodiscard]] GapPolicy gapPolicyOf(const OutboxOptions& options, std::string_view peer,
                                    std::string_view session) noexcept;

[[nodiscard]] PeerResetPolicy peerResetPolicyOf(const OutboxOptions& options, std::string_view peer) noexcept;

/// Whether `name` equals `pattern`, or begins with the part before the `*` at its end.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view name) noexcept;

}  // namespace ackbox
