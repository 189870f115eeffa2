#pragma once

#include <cstdint>

namespace ackbox {

/// Whether there is no room for `more` of a sender that has `own` of the `all` that are there, of `most`. A sender may
/// have no more than there is room left, less an eighth: 7/16 if it is alone, 7/24 each if there are two. So there is
/// always room for another sender. The first of a sender may be larger than its share.
[[nodiscard]] constexpr bool hasNoRoom(std::uint64_t all, std::uint64_t own, std::uint64_t more,
                                       std::uint64_t most) noexcept {
  constexpr std::uint64_t kKeptPart = 8;
  const std::uint64_t left = all < most ? most - all : 0;
  return left == 0 || (own > 0 && own + more + most / kKeptPart > left);
}

}  // namespace ackbox
