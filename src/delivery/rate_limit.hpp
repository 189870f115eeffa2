#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "ackbox/retry_policy.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// A token bucket kept as the instant at which it was empty: no timer fills it, and no rounding drifts.
/// Source: the virtual scheduling form of the generic cell rate algorithm, ITU-T I.371.
class TokenBucket {
public:
  TokenBucket() = default;

  /// Goes on by this limit; false if it is the same. What was sent before counts on, so that no change gives a second
  /// burst.
  bool setLimit(const RateLimit& limit) {
    const auto interval = std::chrono::nanoseconds(limit.per) / std::max(limit.frames, 1U);
    const TokenBucket before = *this;
    interval_ = limit.frames == 0 ? std::chrono::nanoseconds(0) : interval;
    burst_ = limit.burst == 0 ? limit.frames : limit.burst;
    return interval_ != before.interval_ || burst_ != before.burst_;
  }

  [[nodiscard]] bool limits() const noexcept { return interval_.count() > 0; }

  /// Frames that may go now. Precondition of all that follow: `limits()`.
  [[nodiscard]] std::size_t available(SteadyTime now) {
    emptyAt_ = std::max(emptyAt_, now - interval_ * burst_);
    return now < emptyAt_ ? 0 : static_cast<std::size_t>((now - emptyAt_) / interval_);
  }
  void take(std::size_t frames) noexcept { emptyAt_ += interval_ * static_cast<std::int64_t>(frames); }
  /// These frames were not sent after all. They may have been taken before there was a limit.
  void giveBack(std::size_t frames) noexcept {
    if (emptyAt_ != SteadyTime::min()) {
      emptyAt_ -= interval_ * static_cast<std::int64_t>(frames);
    }
  }
  /// When the next frame may go.
  [[nodiscard]] SteadyTime nextAt() const noexcept { return emptyAt_ + interval_; }

private:
  std::chrono::nanoseconds interval_{0};
  std::int64_t burst_ = 0;
  // Full at first: the steady clock counts from the machine's start, which may be less than the bucket takes to fill.
  SteadyTime emptyAt_ = SteadyTime::min();
};

}  // namespace ackbox::delivery
