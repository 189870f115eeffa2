#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox {

/// RFC 3339 in UTC with milliseconds: `2026-01-31T23:59:59.999Z`. Instants outside the years 0000 to 9999, which the
/// format cannot say, become the nearest that it can.
[[nodiscard]] std::string formatTimestamp(WallTime time);
/// The same, at the end of `out`.
void appendTimestamp(std::string& out, WallTime time);

/// Reads an RFC 3339 date-time with any offset. Fractions are cut to milliseconds; a leap second, allowed only where
/// one can be, is the second after it. Nothing for anything else.
[[nodiscard]] std::optional<WallTime> parseTimestamp(std::string_view text) noexcept;

}  // namespace ackbox
