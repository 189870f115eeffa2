#include "records/text.hpp"

#include <array>
#include <cstdio>

namespace ackbox::records {
namespace {

using std::chrono::milliseconds;

bool continues(std::string_view text, std::size_t index) {
  return index < text.size() && (static_cast<unsigned char>(text[index]) & 0xc0U) == 0x80U;
}

}  // namespace

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

std::string joined(std::string_view reason, std::string_view error) {
  const std::string_view mark = reason.empty() || error.empty() ? "" : ": ";
  return std::string(reason).append(mark).append(error);
}

std::string listed(const std::vector<std::int64_t>& numbers, std::string_view mark) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text.append(text.empty() ? "" : mark).append(std::to_string(number));
  }
  return text;
}

std::string lowered(std::string_view text) {
  std::string small(text);
  for (char& letter : small) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return small;
}

std::string countText(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace ackbox::records
