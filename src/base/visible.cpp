#include "ackbox/visible.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

namespace ackbox {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool isValid = false;
};

bool continues(std::string_view text, std::size_t index) {
  return index < text.size() && (static_cast<unsigned char>(text[index]) & 0xc0U) == 0x80U;
}

// The UTF-8 character at the front; a single invalid byte if the text there is damaged, overlong or a surrogate.
Character decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80U) {
    return {first, 1, true};
  }
  const std::size_t bytes = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : 2;
  if (first < 0xc2U || first > 0xf4U) {
    return {first, 1, false};
  }
  std::uint32_t code = first & (0x7fU >> bytes);
  for (std::size_t index = 1; index < bytes; ++index) {
    if (!continues(text, index)) {
      return {first, 1, false};
    }
    code = code << 6U | (static_cast<unsigned char>(text[index]) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool isSurrogate = code >= 0xd800U && code <= 0xdfffU;
  if (code < kLeast.at(bytes) || code > 0x10ffffU || isSurrogate) {
    return {first, 1, false};
  }
  return {code, bytes, true};
}

bool steersTerminal(std::uint32_t code) {
  const bool isControl = code < 0x20U || (code >= 0x7fU && code < 0xa0U);
  const bool isLineEnd = code == 0x2028U || code == 0x2029U;
  const bool isDirection = (code >= 0x202aU && code <= 0x202eU) || (code >= 0x2066U && code <= 0x2069U) ||
                           code == 0x200eU || code == 0x200fU || code == 0x061cU;
  return isControl || isLineEnd || isDirection;
}

std::string escaped(const Character& character, Escapes escapes) {
  const std::uint32_t code = escapes == Escapes::json && !character.isValid ? 0xfffdU : character.code;
  const bool isShort = escapes == Escapes::text && code < 0x100U;
  std::array<char, 12> text{};
  std::snprintf(text.data(), text.size(), isShort ? "\\x%02x" : "\\u%04x", code);
  return text.data();
}

}  // namespace

std::string visible(std::string_view text, Escapes escapes) {
  std::string seen;
  while (!text.empty()) {
    const Character character = decode(text);
    if (character.isValid && !steersTerminal(character.code)) {
      seen += text.substr(0, character.bytes);
    } else {
      seen += escaped(character, escapes);
    }
    text.remove_prefix(character.bytes);
  }
  return seen;
}

}  // namespace ackbox
