#include "json/utf8.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

// For the loadable extension, in the place of utf8.cpp: a host loads it alone, without simdjson.

namespace ackbox::json {
namespace {

/// Of the first bytes from `first` to `last`: how many follow, and the range of the next one. All others are 80 to BF.
struct Lead {
  std::uint8_t first = 0;
  std::uint8_t last = 0;
  std::uint8_t following = 0;
  std::uint8_t least = 0x80;
  std::uint8_t most = 0xbf;
};

// Unicode, table 3-7: without longer forms than needed, surrogates, and what is above U+10FFFF.
constexpr std::array<Lead, 9> kLeads = {{{0x00, 0x7f, 0},
                                         {0xc2, 0xdf, 1},
                                         {0xe0, 0xe0, 2, 0xa0, 0xbf},
                                         {0xe1, 0xec, 2},
                                         {0xed, 0xed, 2, 0x80, 0x9f},
                                         {0xee, 0xef, 2},
                                         {0xf0, 0xf0, 3, 0x90, 0xbf},
                                         {0xf1, 0xf3, 3},
                                         {0xf4, 0xf4, 3, 0x80, 0x8f}}};

const Lead* leadOf(std::uint8_t byte) noexcept {
  for (const Lead& lead : kLeads) {
    if (byte >= lead.first && byte <= lead.last) {
      return &lead;
    }
  }
  return nullptr;
}

}  // namespace

bool isUtf8(std::string_view text) noexcept {
  const auto byteAt = [text](std::size_t place) { return static_cast<std::uint8_t>(text[place]); };
  for (std::size_t place = 0; place < text.size();) {
    const Lead* const lead = leadOf(byteAt(place));
    if (lead == nullptr || text.size() - place <= lead->following) {
      return false;
    }
    std::uint8_t least = lead->least;
    std::uint8_t most = lead->most;
    for (std::size_t next = 1; next <= lead->following; ++next) {
      if (byteAt(place + next) < least || byteAt(place + next) > most) {
        return false;
      }
      least = 0x80;
      most = 0xbf;
    }
    place += lead->following + 1U;
  }
  return true;
}

}  // namespace ackbox::json
