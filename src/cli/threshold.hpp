#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace ackbox::cli {

/// The values from which `ackbox check` warns or is critical; without a value: never.
struct Threshold {
  std::optional<std::uint64_t> warning;
  std::optional<std::uint64_t> critical;
};

/// Parses one side of a threshold.
using Measure = std::function<std::optional<std::uint64_t>(std::string_view)>;

/// Parses `WARNING,CRITICAL`; or `WARNING` alone, which is never critical; or `off` in place of either value. Returns
/// nothing for any other text.
[[nodiscard]] std::optional<Threshold> parseThreshold(std::string_view text, const Measure& measure);

/// `1000`.
[[nodiscard]] std::optional<std::uint64_t> parseCount(std::string_view text);

/// `1000`, `500KiB`, `200MiB`, `1GiB`, `1TiB`.
[[nodiscard]] std::optional<std::uint64_t> parseBytes(std::string_view text);

/// A duration in milliseconds.
[[nodiscard]] std::optional<std::uint64_t> parseMilliseconds(std::string_view text);

}  // namespace ackbox::cli
