#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// Everything that waits for an instant, in one heap. A timer is never taken out early; its owner says that it was
/// abandoned, and it is skipped when it surfaces, or swept once such timers are the majority.
class Timers {
public:
  enum class Kind : std::uint8_t {
    /// A session's backoff, or its next question after a session that another process holds.
    session,
    /// An unordered message's backoff or delay.
    row,
    /// A deferred message's ACK deadline.
    deadline,
    /// A peer that is down may be probed.
    probe,
    /// A peer's claims may go on.
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
