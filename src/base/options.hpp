#pragma once

#include <chrono>

#include "ackbox/options.hpp"

namespace ackbox {

/// The longest duration that an option may have: far below where an instant in nanoseconds overflows 64 bits (292
/// years).
inline constexpr std::chrono::milliseconds kDurationMax = std::chrono::hours(24 * 365 * 100);

/// `options` with the system's clock and randomness where none are given. Throws as `validate`.
[[nodiscard]] OutboxOptions validated(OutboxOptions options);

}  // namespace ackbox
