#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ackbox {

/// Two digits for each byte, in lower case.
[[nodiscard]] inline std::string hexOf(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

/// Appends `%` and the byte's two digits, as in URLs and headers.
inline void appendPercent(std::string& out, char letter) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(letter);
  out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
}

/// The byte that `%` and two digits at `position` encode; nothing if no digits follow.
[[nodiscard]] inline std::optional<char> percentAt(std::string_view text, std::size_t position) noexcept {
  const auto valueOf = [](char digit) {
    const char lower = static_cast<char>(digit | 0x20);
    return digit >= '0' && digit <= '9' ? digit - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  if (position + 2 >= text.size()) {
    return std::nullopt;
  }
  const int high = valueOf(text[position + 1]);
  const int low = valueOf(text[position + 2]);
  return high < 0 || low < 0 ? std::nullopt : std::optional(static_cast<char>(high * 16 + low));
}

/// A segment or value of a URL, with all characters but letters, digits and `-_.~` percent-encoded (RFC 3986, 2.3).
[[nodiscard]] inline std::string percentEncoded(std::string_view text) {
  constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  std::string url;
  for (const char letter : text) {
    if (kUnreserved.find(letter) != std::string_view::npos) {
      url += letter;
    } else {
      appendPercent(url, letter);
    }
  }
  return url;
}

}  // namespace ackbox
