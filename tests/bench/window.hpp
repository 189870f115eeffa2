#pragma once

#include <cstddef>
#include <cstdint>
#include <semaphore>

#include "ackbox/outbox_manager.hpp"
#include "bench/settings.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {

/// Bounds how much is outstanding. `enter` in one thread, `leave` in any.
class Window {
public:
  explicit Window(std::ptrdiff_t size) : size_(size), permits_(size) {}

  void enter() { permits_.acquire(); }
  void leave() { permits_.release(); }

  /// Waits until nothing is outstanding.
  void drain() {
    for (std::ptrdiff_t permit = 0; permit < size_; ++permit) {
      permits_.acquire();
    }
    permits_.release(size_);
  }

private:
  const std::ptrdiff_t size_;
  std::counting_semaphore<> permits_;
};

/// Enqueues for as long as `budget` lasts, 1,000 outstanding. Returns how many, when all of them are stored.
[[nodiscard]] std::uint64_t enqueueInWindow(OutboxManager& manager, Budget& budget, std::uint64_t sessions = kSessions);

}  // namespace ackbox::bench
