#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// How long a file must have been open here before messages from before the opening are given up because of their age.
inline constexpr std::chrono::milliseconds kHorizonGrace = std::chrono::hours(1);

/// Measures the age of messages by the time that really passed while the file was open. When the calendar jumps and the
/// monotonic clock does not, as when it is set or after a suspension, the jump does not age the messages from before
/// it. When the calendar is set back, earlier jumps are undone, so that correcting a wrong clock does not make messages
/// younger.
///
/// Thread-safety: none.
class OpenClock {
public:
  /// Records the calendar's offset; called at each event.
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
        // Merges the two oldest jumps; the instant of the later one covers more messages.
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

  /// Whether a message from `since` is older than `horizon`; with a horizon of 0, none ever is. A message from before
  /// the first look is not, whatever the calendar says, until the shorter of `grace` and the horizon has passed since
  /// that look: the time before the look was not observed.
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

  // A smaller move is an ordinary clock correction.
  static constexpr std::chrono::milliseconds kMovedMin = std::chrono::minutes(1);
  static constexpr std::size_t kJumpsMax = 32;

  // Starts with the last jump. The instant before a jump does not change.
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
