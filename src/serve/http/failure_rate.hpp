#pragma once

#include <algorithm>
#include <chrono>

#include "ackbox/clock.hpp"

namespace ackbox::serve {

/// Of failures ten at once and then one a second are answered, and logged, as such.
///
/// Thread-safety: none.
class FailureRate {
public:
  /// Whether one more may be.
  [[nodiscard]] bool mayFail(SteadyTime now) {
    const SteadyTime until = std::max(until_, now) + kPause;
    if (until > now + kAtOnce * kPause) {
      return false;
    }
    until_ = until;
    return true;
  }
  /// Whether it is as if nothing had failed yet.
  [[nodiscard]] bool isFresh(SteadyTime now) const { return until_ <= now; }

private:
  static constexpr std::chrono::seconds kPause{1};
  static constexpr int kAtOnce = 10;

  // Until when the failures so far would take, at one a second.
  SteadyTime until_ = SteadyTime::min();
};

}  // namespace ackbox::serve
