#include "protocol/text_rules.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/byte_search.hpp"
#include "json/utf8.hpp"

namespace ackbox::protocol {
namespace {

bool isDigit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}

bool isDecimal(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, isDigit) && (text.size() == 1 || text.front() != '0');
}

}  // namespace

bool isPlainText(std::string_view text, std::size_t bytesMax) {
  if (text.size() > bytesMax) {
    return false;
  }
  // Nearly all texts are plain ASCII, and short.
  if (findByte(text, 0, [](auto byte) { return (byte < ' ') | (byte >= 0x7F); }) == text.size()) {
    return true;
  }
  if (!json::isUtf8(text)) {
    return false;
  }
  for (std::size_t position = 0; position < text.size(); ++position) {
    const auto byte = static_cast<unsigned char>(text[position]);
    // U+0080 to U+009F are written as C2 80 to C2 9F.
    const bool isC1 = byte == 0xC2 && static_cast<unsigned char>(text[position + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || isC1) {
      return false;
    }
  }
  return true;
}

bool isVisibleAscii(std::string_view text, std::size_t bytesMax) noexcept {
  return text.size() <= bytesMax &&
         findByte(text, 0, [](auto byte) { return (byte <= ' ') | (byte >= 0x7F); }) == text.size();
}

std::optional<std::uint64_t> parseCounter(std::string_view text) noexcept {
  std::uint64_t value = 0;
  if (!isDecimal(text) || std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
    return std::nullopt;
  }
  constexpr auto kCounterMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value <= kCounterMax ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> parseCapped(std::string_view text, std::uint64_t maximum) noexcept {
  if (!isDecimal(text)) {
    return std::nullopt;
  }
  return std::min(parseCounter(text).value_or(maximum), maximum);
}

std::string_view truncated(std::string_view text, std::size_t bytesMax) noexcept {
  if (text.size() <= bytesMax) {
    return text;
  }
  while (bytesMax != 0 && (static_cast<unsigned char>(text[bytesMax]) & 0xC0U) == 0x80U) {
    --bytesMax;
  }
  return text.substr(0, bytesMax);
}

}  // namespace ackbox::protocol
