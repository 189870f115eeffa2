#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox::protocol {

/// RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`. Instants outside the years 0000 to 9999, which the format cannot
/// say, become the nearest that it can.
[[nodiscard]] std::string formatHttpDate(WallTime time);

/// Reads that form alone, the only one that may be sent today. Nothing for anything else.
[[nodiscard]] std::optional<WallTime> parseHttpDate(std::string_view text) noexcept;

/// The wait that a `Retry-After` asks for, in whole seconds or up to a date, at most `most`. Nothing for anything else,
/// for a date that is over, and for any date where `now` is not known.
[[nodiscard]] std::optional<std::chrono::milliseconds> parseRetryAfter(std::string_view header,
                                                                       std::optional<WallTime> now,
                                                                       std::chrono::seconds most) noexcept;

}  // namespace ackbox::protocol
