#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// How long a file must have been open here before what was there before is given up by its age.
inline constexpr std::chrono::milliseconds kHorizonGrace = std::chrono::hours(1);

/// How old a message is, by the time that really passed while somebody looked. Where the calendar moves and the
/// monotonic clock does not, as when it is set, or after a suspension, what it skips makes no message older that was
/// there before. A calendar that is set back takes back what was left out for it, so that the correction of a wrong
/// clock makes no message younger than it is.
///
/// Thread-safety: none.
class OpenClock {
public:
  /// Notes where the calendar stands; at each event.
  void look(const Now& now) {
    const auto offset = offsetOf(now);
    if (!isStarted_) {
      isStarted_ = true;
      startedAt_ = now.steady;
      startedWall_ = now.wall;
      offset_ = offset;
      return;
    }
    const auto moved = offset - offset_;
    if (moved < kMovedMin && moved > -kMovedMin) {
      return;
    }
    offset_ = offset;
    if (moved < std::chrono::milliseconds(0)) {
      takeBack(-moved);
    } else {
      if (jumps_.size() == kJumpsMax) {
        // Of the oldest two, the later one's instant excuses more messages.
        jumps_[1].by += jumps_[0].by;
        jumps_.pop_front();
      }
      jumps_.push_back({.to = now.wall, .by = moved});
    }
  }

  [[nodiscard]] std::chrono::milliseconds age(WallTime since, WallTime now) const {
    auto age = now - since;
    for (const Jump& jump : jumps_) {
      if (since < jump.to - jump.by + kMovedMin) {
        age -= jump.by;
      }
    }
    return age;
  }

  /// Whether something of the instant `since` is older than `horizon`; 0: nothing ever is. What was there before the
  /// first look is not, whatever the calendar says, until that was `grace` ago, or as long as the horizon: nobody saw
  /// the time in between pass.
  [[nodiscard]] bool hasPassed(std::chrono::milliseconds horizon, WallTime since, std::chrono::milliseconds grace,
                               const Now& now) const {
    return horizon.count() > 0 && age(since, now.wall) >= horizon &&
           (since >= startedWall_ || openFor(now.steady) >= std::min(grace, horizon));
  }

private:
  /// Since the first look.
  [[nodiscard]] std::chrono::milliseconds openFor(SteadyTime now) const {
    return std::chrono::floor<std::chrono::milliseconds>(now - startedAt_);
  }

  struct Jump {
    WallTime to;
    std::chrono::milliseconds by;
  };

  // Less is a clock that is being corrected.
  static constexpr std::chrono::milliseconds kMovedMin = std::chrono::minutes(1);
  static constexpr std::size_t kJumpsMax = 32;

  // From the last jump on. The instant before a jump stays what it was.
  void takeBack(std::chrono::milliseconds by) {
    while (by.count() > 0 && !jumps_.empty()) {
      Jump& last = jumps_.back();
      const auto taken = std::min(by, last.by);
      last.by -= taken;
      last.to -= taken;
      by -= taken;
      if (last.by.count() == 0) {
        jumps_.pop_back();
      }
    }
  }

  static std::chrono::milliseconds offsetOf(const Now& now) {
    return now.wall.time_since_epoch() - std::chrono::floor<std::chrono::milliseconds>(now.steady.time_since_epoch());
  }

  bool isStarted_ = false;
  SteadyTime startedAt_{};
  WallTime startedWall_{};
  std::chrono::milliseconds offset_{0};
  std::deque<Jump> jumps_;
};

}  // namespace ackbox::delivery
