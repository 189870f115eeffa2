#pragma once

#include <chrono>
#include <thread>

#include "ackbox/clock.hpp"

namespace ackbox::testing {

/// Whether `condition` holds in the end. It is asked again and again, for a minute at most: a test that waits in vain
/// fails, and does not hang.
template <typename Condition>
bool comesTo(const Condition& condition) {
  const SteadyTime patience = systemClock()->steadyNow() + std::chrono::minutes(1);
  while (!condition()) {
    if (systemClock()->steadyNow() > patience) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace ackbox::testing
