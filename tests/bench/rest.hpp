#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace ackbox::bench {

/// Leaves the processor to others for `length`: in a measurement, time is what is given, not what is waited for.
inline void rest(std::chrono::nanoseconds length) {
  const auto nanoseconds = std::max<std::chrono::nanoseconds::rep>(length.count(), 0);
  const timespec left{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  ppoll(nullptr, 0, &left, nullptr);
}

inline void restUntil(std::chrono::steady_clock::time_point instant) {
  rest(instant - std::chrono::steady_clock::now());
}

}  // namespace ackbox::bench
