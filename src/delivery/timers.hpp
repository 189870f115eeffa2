#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// All timers, in one heap. A timer is never removed early: its owner reports it as abandoned, and it is skipped when
/// it reaches the top, or swept once abandoned timers are the majority.
class Timers {
public:
  enum class Kind : std::uint8_t {
    /// A session's backoff, or its next check of whether another process still holds it.
    session,
    /// An unordered message's backoff or delay.
    row,
    /// A deferred message's ACK deadline.
    deadline,
    /// A peer that is down may be probed.
    probe,
    /// A peer's pause of claims is over.
    pause,
  };
  struct Timer {
    SteadyTime due;
    std::int64_t owner = 0;
    MessageKey key = 0;
    Kind kind = Kind::session;
  };
  /// Whether the owner still waits for this timer.
  using IsLive = std::function<bool(const Timer&)>;

  explicit Timers(IsLive isLive) : isLive_(std::move(isLive)) {}

  void add(const Timer& timer);
  /// A timer's owner has stopped waiting for it.
  void abandoned();

  /// The next live timer that is due by `now`, removed.
  [[nodiscard]] std::optional<Timer> takeDue(SteadyTime now);

  /// Drops abandoned timers from the top, so that `next` is right.
  void settle();
  /// The earliest due instant.
  [[nodiscard]] std::optional<SteadyTime> next() const;

  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

private:
  Timer pop();

  IsLive isLive_;
  std::vector<Timer> heap_;
  std::size_t abandoned_ = 0;
};

}  // namespace ackbox::delivery
