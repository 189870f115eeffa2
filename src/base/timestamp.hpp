#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox {

/// RFC 3339 in UTC with milliseconds: `2026-01-31T23:59:59.999Z`. Instants outside the years 0000 to 9999 are clamped
/// to the nearest one that the format can express.
[[nodiscard]] std::string formatTimestamp(WallTime time);
/// Appends the same text to `out`.
void appendTimestamp(std::string& out, WallTime time);

/// Reads an RFC 3339 date-time with any offset. Fractions are cut to milliseconds. A leap second, allowed only where
/// one can be, is read as the following second. Nothing for any other text.
[[nodiscard]] std::optional<WallTime> parseTimestamp(std::string_view text) noexcept;

}  // namespace ackbox
