#pragma once

#include <filesystem>
#include <span>

#include "ackbox/options.hpp"
#include "ackbox/retry_policy.hpp"
#include "base/option.hpp"

namespace ackbox {

/// The numbers among the options, each with its range.
[[nodiscard]] std::span<const Option<OutboxOptions>> outboxOptionRows();
[[nodiscard]] std::span<const Option<PeerOptions>> peerOptionRows();
[[nodiscard]] std::span<const Option<RetryPolicy>> retryOptionRows();

/// `options` with the system's clock and randomness where none are given. Throws like `validate`.
[[nodiscard]] OutboxOptions validated(OutboxOptions options);

/// Returns `file`, which must have a name: for an empty name SQLite would open a temporary database.
/// Throws `Error` with `invalidOption`.
[[nodiscard]] const std::filesystem::path& named(const std::filesystem::path& file);

}  // namespace ackbox
