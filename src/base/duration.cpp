#include "base/duration.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace ackbox {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  milliseconds length;
};

constexpr std::array<Unit, 5> kUnits = {{{"d", std::chrono::hours(24)},
                                         {"h", std::chrono::hours(1)},
                                         {"m", std::chrono::minutes(1)},
                                         {"s", std::chrono::seconds(1)},
                                         {"ms", milliseconds(1)}}};

}  // namespace

std::optional<milliseconds> parseDuration(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) {
    return std::nullopt;
  }
  const std::string_view given = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::string_view name = given.empty() ? "s" : given;
  for (const Unit& unit : kUnits) {
    if (unit.name == name) {
      const milliseconds duration = unit.length * static_cast<std::int64_t>(number);
      return duration > kDurationMax ? std::nullopt : std::optional(duration);
    }
  }
  return std::nullopt;
}

std::string durationText(milliseconds duration) {
  for (const Unit& unit : kUnits) {
    if (duration >= unit.length && duration % unit.length == milliseconds(0)) {
      return std::to_string(duration / unit.length) + std::string(unit.name);
    }
  }
  return "0s";
}

}  // namespace ackbox
