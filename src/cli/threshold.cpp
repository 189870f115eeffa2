#include "cli/threshold.hpp"

#include <charconv>
#include <limits>
#include <system_error>

#include "base/duration.hpp"

namespace ackbox::cli {

std::optional<Threshold> parseThreshold(std::string_view text, const Measure& measure) {
  const std::size_t comma = text.find(',');
  Threshold threshold;
  const auto parse = [&](std::string_view side, std::optional<std::uint64_t>& value) {
    if (side == "off") {
      return true;
    }
    value = measure(side);
    return value.has_value();
  };
  if (!parse(text.substr(0, comma), threshold.warning) ||
      (comma != std::string_view::npos && !parse(text.substr(comma + 1), threshold.critical))) {
    return std::nullopt;
  }
  return threshold;
}

std::optional<std::uint64_t> parseCount(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(count) : std::nullopt;
}

std::optional<std::uint64_t> parseBytes(std::string_view text) {
  unsigned shift = 0;
  unsigned unitShift = 10;
  for (const std::string_view unit : {"KiB", "MiB", "GiB", "TiB"}) {
    if (text.ends_with(unit)) {
      shift = unitShift;
      text.remove_suffix(unit.size());
      break;
    }
    unitShift += 10;
  }
  const std::optional<std::uint64_t> count = parseCount(text);
  return count && *count <= std::numeric_limits<std::uint64_t>::max() >> shift ? std::optional(*count << shift)
                                                                               : std::nullopt;
}

std::optional<std::uint64_t> parseMilliseconds(std::string_view text) {
  const auto duration = parseDuration(text);
  return duration ? std::optional(static_cast<std::uint64_t>(duration->count())) : std::nullopt;
}

}  // namespace ackbox::cli
