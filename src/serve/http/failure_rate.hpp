#pragma once

#include <algorithm>
#include <chrono>

#include "ackbox/clock.hpp"

namespace ackbox::serve {

/// Limits how many failures are answered and logged as such: ten at once, and then one a second.
///
/// Thread-safety: none.
class FailureRate {
public:
  /// Counts a failure, and returns true, if the limit permits one more.
  [[nodiscard]] bool mayFail(SteadyTime now) {
    const SteadyTime until = std::max(until_, now) + kPause;
    if (until > now + kAtOnce * kPause) {
      return false;
    }
    until_ = until;
    return true;
  }
  /// Whether the limit is as it was before the first failure.
  [[nodiscard]] bool isFresh(SteadyTime now) const { return until_ <= now; }

private:
  static constexpr std::chrono::seconds kPause{1};
  static constexpr int kAtOnce = 10;

  // When the failures so far have expired, at one a second.
  SteadyTime until_ = SteadyTime::min();
};

}  // namespace ackbox::serve
