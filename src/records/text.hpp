#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::records {

/// The number of characters of UTF-8 text, which is the display width of most text.
[[nodiscard]] std::size_t widthOf(std::string_view text) noexcept;

/// The width of an error or a reason in a table, in characters.
inline constexpr std::size_t kWhyWidth = 60;

/// The first `width` characters; the last one is `…` if the text was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// `512 B`, `1.2 MiB`.
[[nodiscard]] std::string bytesText(std::uint64_t bytes);

/// `250 ms`, `12 s`, `3 m`, `5 h`, `2 d`: the largest unit that fits.
[[nodiscard]] std::string durationText(std::chrono::milliseconds duration);

/// `3 m ago`, `in 12 s`, `now`.
[[nodiscard]] std::string agoText(WallTime now, WallTime instant);

/// `2026-11-21 14:02:15 UTC`.
[[nodiscard]] std::string instantText(WallTime instant);

/// `reason: error`, or only the text that is not empty.
[[nodiscard]] std::string joined(std::string_view reason, std::string_view error);

/// `4711, 4712`.
[[nodiscard]] std::string listed(const std::vector<std::int64_t>& numbers, std::string_view mark = ", ");

/// `text` with its ASCII letters in lower case.
[[nodiscard]] std::string lowered(std::string_view text);

/// `1 message`, `2 messages`.
[[nodiscard]] std::string countText(std::uint64_t count, std::string_view noun);

}  // namespace ackbox::records
