#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "ackbox/error.hpp"
#include "base/duration.hpp"

namespace ackbox {

/// A pointer to a number among the options of a structure.
using OptionSlot = std::variant<std::chrono::milliseconds*, std::uint32_t*, std::uint64_t*>;

/// The unit of a number. A duration counts milliseconds.
enum class OptionUnit : std::uint8_t { count, bytes, duration };

inline constexpr std::uint64_t kOptionMost = std::numeric_limits<std::uint64_t>::max();
inline constexpr auto kDurationMost = static_cast<std::uint64_t>(kDurationMax.count());

/// The range of a numeric option, and its meaning. These rows validate the options, read the daemon's configuration,
/// and generate its documentation.
template <typename Options>
struct Option {
  /// The path within the structure, such as `busyTimeout` or `deferred.framesMax`.
  std::string_view field = {};
  OptionSlot (*slot)(Options&) = nullptr;
  OptionUnit unit = OptionUnit::count;
  std::uint64_t least = 0;
  std::uint64_t most = kOptionMost;
  std::string_view meaning = {};
};

/// Such as "4 MiB", "10m" or "256".
[[nodiscard]] std::string optionText(std::uint64_t value, OptionUnit unit);
/// Such as "1 to 256" or "at least 1ms".
[[nodiscard]] std::string rangeText(std::uint64_t least, std::uint64_t most, OptionUnit unit);
/// The number in the slot. A negative duration gives a number above every range.
[[nodiscard]] std::uint64_t valueOf(const OptionSlot& slot);
void setValue(const OptionSlot& slot, std::uint64_t value);

/// Throws `OptionError` if the value is outside the range.
void checkOption(const std::string& field, const OptionSlot& slot, OptionUnit unit, std::uint64_t least,
                 std::uint64_t most);

/// Throws `OptionError` for the first option of `rows` outside its range. `owner` is prefixed to each field's name,
/// such as `peers[0].`.
template <typename Options>
void checkOptions(std::span<const Option<Options>> rows, Options options, const std::string& owner = {}) {
  for (const Option<Options>& row : rows) {
    checkOption(owner + std::string(row.field), row.slot(options), row.unit, row.least, row.most);
  }
}

/// The row of this field. A missing row is a mistake in this program, and ends it.
template <typename Options>
const Option<Options>& optionNamed(std::span<const Option<Options>> rows, std::string_view field) {
  const auto found = std::ranges::find(rows, field, &Option<Options>::field);
  if (found == rows.end()) {
    std::terminate();
  }
  return *found;
}

}  // namespace ackbox
