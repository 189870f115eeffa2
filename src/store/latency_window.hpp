#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ackbox/clock.hpp"
#include "ackbox/stats.hpp"
#include "base/mutex.hpp"

namespace ackbox::store {

/// Durations counted in buckets that are exact below 16 ms and grow with the value above: 8 to each doubling, so that a
/// quantile is at most 6.25 % off. Durations beyond 17 years count as 17 years.
class LatencyHistogram {
public:
  void record(std::chrono::milliseconds duration) noexcept;
  LatencyHistogram& operator+=(const LatencyHistogram& other) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
  /// The duration that the fraction `share` (above 0, at most 1) of the recorded ones does not exceed; 0 when empty.
  [[nodiscard]] std::chrono::milliseconds quantile(double share) const noexcept;

private:
  static constexpr std::size_t kBuckets = 304;
  std::array<std::uint64_t, kBuckets> counts_{};
};

/// The latencies of the last minutes.
///
/// Thread-safety: all members may be called from any thread.
class LatencyWindow {
public:
  static constexpr std::chrono::minutes kLength{5};

  void record(std::span<const std::chrono::milliseconds> latencies, SteadyTime now);
  /// Sets the quantiles of `stats` to those of the last minutes, and no other field.
  void describe(LatencyStats& stats, SteadyTime now) const;

private:
  struct Minute {
    std::int64_t number = -1;
    LatencyHistogram histogram;
  };

  mutable Mutex mutex_;
  std::array<Minute, kLength.count()> minutes_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::store
