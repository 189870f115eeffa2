#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace ackbox {

/// The longest duration that an option may have: far below where an instant in nanoseconds overflows 64 bits (292
/// years).
inline constexpr std::chrono::milliseconds kDurationMax = std::chrono::hours(24 * 365 * 100);

/// Parses `500ms`, `10s`, `5m`, `2h`, `7d`; a number alone counts seconds. Nothing if the text has another form or is
/// more than 100 years.
[[nodiscard]] std::optional<std::chrono::milliseconds> parseDuration(std::string_view text);

/// The reverse, in the longest unit that divides the duration: `10m`, `90s`, `1500ms`. `duration` must not be negative.
[[nodiscard]] std::string durationText(std::chrono::milliseconds duration);

}  // namespace ackbox
