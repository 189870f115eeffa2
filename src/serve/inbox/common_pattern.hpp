#pragma once

#include <optional>
#include <string_view>

#include "base/pattern.hpp"

namespace ackbox::serve {

/// The pattern of the types that match both patterns; nothing if no type does.
[[nodiscard]] constexpr std::optional<std::string_view> commonPattern(std::string_view one, std::string_view other) {
  if (fitsPattern(one, other)) {
    return other;
  }
  return fitsPattern(other, one) ? std::optional(one) : std::nullopt;
}

}  // namespace ackbox::serve
