#pragma once

#include <chrono>
#include <filesystem>

#include "ackbox/options.hpp"

namespace ackbox {

/// The longest duration that an option may have: far below where an instant in nanoseconds overflows 64 bits (292
/// years).
inline constexpr std::chrono::milliseconds kDurationMax = std::chrono::hours(24 * 365 * 100);

/// `options` with the system's clock and randomness where none are given. Throws as `validate`.
[[nodiscard]] OutboxOptions validated(OutboxOptions options);

/// `file`, which must have a name: SQLite would take an empty one for a database of its own that is deleted at its end.
/// Throws `Error` with `invalidOption`.
[[nodiscard]] const std::filesystem::path& named(const std::filesystem::path& file);

}  // namespace ackbox
