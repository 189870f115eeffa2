#include "cli/duration.hpp"

#include <charconv>
#include <cstdint>

namespace ackbox::cli {

using std::chrono::milliseconds;

std::optional<milliseconds> parseDuration(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) {
    return std::nullopt;
  }
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  milliseconds length{0};
  if (unit == "ms") {
    length = milliseconds(1);
  } else if (unit == "s" || unit.empty()) {
    length = std::chrono::seconds(1);
  } else if (unit == "m") {
    length = std::chrono::minutes(1);
  } else if (unit == "h") {
    length = std::chrono::hours(1);
  } else if (unit == "d") {
    length = std::chrono::hours(24);
  } else {
    return std::nullopt;
  }
  const milliseconds duration = length * static_cast<std::int64_t>(number);
  return duration > std::chrono::hours(24 * 365 * 100) ? std::nullopt : std::optional(duration);
}

}  // namespace ackbox::cli
