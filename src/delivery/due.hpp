#pragma once

#include <chrono>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The steady instant of a stored wall instant. The wall clock is read only once; a later step of it does not change
/// the wait.
[[nodiscard]] inline SteadyTime steadyDue(const Now& now, WallTime due) noexcept {
  if (due <= now.wall) {
    return now.steady;
  }
  return now.steady + (due - now.wall < kWaitMax ? due - now.wall : kWaitMax);
}

/// The same with a bound of 50 years instead, so that the clock's count does not overflow: the full wait, however often
/// it is checked meanwhile.
[[nodiscard]] inline SteadyTime steadyFar(const Now& now, WallTime due) noexcept {
  constexpr std::chrono::milliseconds kFar = std::chrono::hours(24 * 365 * 50);
  return now.steady + (due - now.wall < kFar ? due - now.wall : kFar);
}

/// `wish` within [0, `kWaitMax`].
[[nodiscard]] inline std::chrono::milliseconds boundedWait(std::chrono::milliseconds wish) noexcept {
  return wish.count() < 0 ? std::chrono::milliseconds(0) : (wish < kWaitMax ? wish : kWaitMax);
}

}  // namespace ackbox::delivery
