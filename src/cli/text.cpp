#include "cli/text.hpp"

#include <array>
#include <cstdio>

namespace ackbox::cli {
namespace {

using std::chrono::milliseconds;

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool isValid = false;
};

bool continues(std::string_view text, std::size_t index) {
  return index < text.size() && (static_cast<unsigned char>(text[index]) & 0xc0U) == 0x80U;
}

// The UTF-8 character at the front; one byte that is none when it is damaged, overlong or a surrogate.
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

std::size_t widthOf(std::string_view text) noexcept {
  std::size_t width = 0;
  for (const char byte : text) {
    width += (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U ? 1U : 0U;
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (widthOf(text) <= width) {
    return std::string(text);
  }
  std::size_t end = 0;
  for (std::size_t taken = 0; taken + 1 < width; ++taken) {
    do {
      ++end;
    } while (continues(text, end));
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string bytesText(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    return std::to_string(bytes) + " B";
  }
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits.at(unit));
  return text.data();
}

std::string durationText(milliseconds duration) {
  struct Unit {
    milliseconds length;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits = {{{std::chrono::hours(24), " d"},
                                                  {std::chrono::hours(1), " h"},
                                                  {std::chrono::minutes(1), " m"},
                                                  {std::chrono::seconds(1), " s"}}};
  for (const Unit& unit : kUnits) {
    if (duration >= unit.length) {
      return std::to_string(duration / unit.length) + unit.name;
    }
  }
  return std::to_string(duration.count()) + " ms";
}

std::string agoText(WallTime now, WallTime instant) {
  if (instant == now) {
    return "now";
  }
  return instant < now ? durationText(now - instant) + " ago" : "in " + durationText(instant - now);
}

std::string instantText(WallTime instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<milliseconds> time(instant - day);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d UTC", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

std::string countText(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace ackbox::cli
