#include "base/option.hpp"

#include <array>
#include <type_traits>

namespace ackbox {
namespace {

using std::chrono::milliseconds;

std::string bytesText(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 3> kNames = {" GiB", " MiB", " KiB"};
  unsigned shift = 30;
  for (const std::string_view name : kNames) {
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0) {
      return std::to_string(bytes >> shift) + std::string(name);
    }
    shift -= 10;
  }
  return std::to_string(bytes);
}

}  // namespace

std::string optionText(std::uint64_t value, OptionUnit unit) {
  switch (unit) {
    case OptionUnit::count:
      return std::to_string(value);
    case OptionUnit::bytes:
      return bytesText(value);
    case OptionUnit::duration:
      return durationText(milliseconds(static_cast<milliseconds::rep>(value)));
  }
  return {};
}

std::string rangeText(std::uint64_t least, std::uint64_t most, OptionUnit unit) {
  const bool isOpen = most == kOptionMost || (unit == OptionUnit::duration && most == kDurationMost);
  return isOpen ? "at least " + optionText(least, unit) : optionText(least, unit) + " to " + optionText(most, unit);
}

std::uint64_t valueOf(const OptionSlot& slot) {
  return std::visit(
      [](const auto* value) {
        if constexpr (std::is_same_v<decltype(value), const milliseconds*>) {
          return static_cast<std::uint64_t>(value->count());
        } else {
          return std::uint64_t{*value};
        }
      },
      slot);
}

void setValue(const OptionSlot& slot, std::uint64_t value) {
  std::visit(
      [value](auto* place) {
        if constexpr (std::is_same_v<decltype(place), milliseconds*>) {
          *place = milliseconds(static_cast<milliseconds::rep>(value));
        } else {
          *place = static_cast<std::remove_reference_t<decltype(*place)>>(value);
        }
      },
      slot);
}

void checkOption(const std::string& field, const OptionSlot& slot, OptionUnit unit, std::uint64_t least,
                 std::uint64_t most) {
  const std::uint64_t value = valueOf(slot);
  if (value < least || value > most) {
    const std::string number =
        unit == OptionUnit::duration ? std::to_string(static_cast<std::int64_t>(value)) + " ms" : std::to_string(value);
    throw OptionError(field, "is " + number, rangeText(least, most, unit));
  }
}

}  // namespace ackbox
