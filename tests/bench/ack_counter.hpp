#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace ackbox::bench {

/// Counts acknowledgements and awaits a number of them. `add` in any thread, `await` in one.
class AckCounter {
public:
  void add() {
    const std::uint64_t now = ++count_;
    if (now >= awaited_) {
      const std::scoped_lock lock(mutex_);
      reached_.notify_all();
    }
  }

  /// Throws `std::runtime_error` when there is none at all for too long.
  void await(std::uint64_t number) {
    constexpr std::chrono::seconds kPatience{30};
    std::unique_lock lock(mutex_);
    awaited_ = number;
    for (std::uint64_t seen = count_; seen < number; seen = count_) {
      if (!reached_.wait_for(lock, kPatience, [&] { return count_ >= number; }) && count_ == seen) {
        throw std::runtime_error("delivery stands still at " + std::to_string(seen) + " of " + std::to_string(number) +
                                 " messages");
      }
    }
  }

private:
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> awaited_{~std::uint64_t{0}};
  std::mutex mutex_;
  std::condition_variable reached_;
};

}  // namespace ackbox::bench
