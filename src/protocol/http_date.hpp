#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox::protocol {

/// RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`. Instants outside the years 0000 to 9999 are clamped to the nearest
/// one that the format can express.
[[nodiscard]] std::string formatHttpDate(WallTime time);

/// Reads only this form, the only one that may be sent today. Nothing for any other text.
[[nodiscard]] std::optional<WallTime> parseHttpDate(std::string_view text) noexcept;

/// The wait that a `Retry-After` asks for, in whole seconds or up to a date, at most `most`. Nothing for any other
/// text, for a date in the past, and for any date if `now` is not given.
[[nodiscard]] std::optional<std::chrono::milliseconds> parseRetryAfter(std::string_view header,
                                                                       std::optional<WallTime> now,
                                                                       std::chrono::seconds most) noexcept;

}  // namespace ackbox::protocol
