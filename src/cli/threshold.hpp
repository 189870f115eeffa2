#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace ackbox::cli {

/// From where on `ackbox check` warns, and from where on it is critical; nothing: never.
struct Threshold {
  std::optional<std::uint64_t> warning;
  std::optional<std::uint64_t> critical;
};

/// What one side of a threshold is written as.
using Measure = std::function<std::optional<std::uint64_t>(std::string_view)>;

/// `WARNING,CRITICAL`, `WARNING` alone, which is never critical, or `off` in the place of either. Nothing when it is
/// none of these.
[[nodiscard]] std::optional<Threshold> parseThreshold(std::string_view text, const Measure& measure);

/// `1000`.
[[nodiscard]] std::optional<std::uint64_t> parseCount(std::string_view text);

/// `1000`, `500KiB`, `200MiB`, `1GiB`, `1TiB`.
[[nodiscard]] std::optional<std::uint64_t> parseBytes(std::string_view text);

/// A duration in milliseconds.
[[nodiscard]] std::optional<std::uint64_t> parseMilliseconds(std::string_view text);

}  // namespace ackbox::cli
