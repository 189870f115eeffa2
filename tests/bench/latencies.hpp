#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace ackbox::bench {

/// Every latency of one measurement, so that percentiles are exact. Used by one thread; `merge` joins the threads'.
class Latencies {
public:
  void add(std::chrono::steady_clock::duration latency) {
    microseconds_.push_back(std::chrono::duration<double, std::micro>(latency).count());
  }

  void merge(const Latencies& other) {
    microseconds_.insert(microseconds_.end(), other.microseconds_.begin(), other.microseconds_.end());
  }

  [[nodiscard]] std::size_t size() const noexcept { return microseconds_.size(); }

  /// The smallest latency that a `share` (0 to 1) of all do not exceed, in microseconds; 0 when there is none.
  [[nodiscard]] double percentile(double share) {
    if (microseconds_.empty()) {
      return 0;
    }
    const auto last = static_cast<double>(microseconds_.size() - 1);
    const auto rank = static_cast<std::ptrdiff_t>(share * last + 0.5);
    std::nth_element(microseconds_.begin(), microseconds_.begin() + rank, microseconds_.end());
    return microseconds_[static_cast<std::size_t>(rank)];
  }

private:
  std::vector<double> microseconds_;
};

}  // namespace ackbox::bench
