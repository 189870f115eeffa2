#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ackbox::protocol {

/// UTF-8 without control characters (C0, DEL, C1), at most `bytesMax`; may be empty.
[[nodiscard]] bool isPlainText(std::string_view text, std::size_t bytesMax);

/// Visible ASCII without spaces, at most `bytesMax`; may be empty. Such a text passes through a header unchanged.
[[nodiscard]] bool isVisibleAscii(std::string_view text, std::size_t bytesMax) noexcept;

/// A decimal counter: digits only, no leading zero, at most 2^63-1, the limit of SQLite.
[[nodiscard]] std::optional<std::uint64_t> parseCounter(std::string_view text) noexcept;

/// As `parseCounter`, but a larger number counts as `maximum`, and so does anything above it.
[[nodiscard]] std::optional<std::uint64_t> parseCapped(std::string_view text, std::uint64_t maximum) noexcept;

/// At most `bytesMax` bytes of `text`, cut between characters.
[[nodiscard]] std::string_view truncated(std::string_view text, std::size_t bytesMax) noexcept;

}  // namespace ackbox::protocol
