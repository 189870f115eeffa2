#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "ackbox/random.hpp"

namespace ackbox::transport {

/// A pause that doubles from `least` to `most`; each is drawn from its upper half, so that many agents do not come at
/// once.
class MailboxPause {
public:
  using Time = std::chrono::milliseconds;

  MailboxPause(Time least, Time most) : least_(least), most_(most), bound_(least) {}

  /// The next pause, at least `wished`.
  [[nodiscard]] Time next(Random& random, Time wished = Time(0)) {
    const Time bound = bound_;
    bound_ = std::min(most_, bound_ * 2);
    const auto half = static_cast<std::uint64_t>(bound.count() / 2);
    return std::max(wished, bound - Time(static_cast<Time::rep>(random.next() % (half + 1))));
  }

  void begin() noexcept { bound_ = least_; }

private:
  const Time least_;
  const Time most_;
  Time bound_;
};

}  // namespace ackbox::transport
