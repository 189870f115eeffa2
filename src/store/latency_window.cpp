#include "store/latency_window.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace ackbox::store {
namespace {

// Buckets to each doubling: 1 << kSplit.
constexpr unsigned kSplit = 3;
constexpr std::uint64_t kSplitCount = 1U << kSplit;
constexpr std::uint64_t kLongest = (std::uint64_t{1} << 39U) - 1;

std::size_t bucketOf(std::uint64_t value) noexcept {
  if (value < kSplitCount) {
    return value;
  }
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  return (exponent - kSplit + 1) * kSplitCount + ((value >> (exponent - kSplit)) & (kSplitCount - 1));
}

// The middle of the bucket.
std::uint64_t valueOf(std::size_t bucket) noexcept {
  if (bucket < kSplitCount) {
    return bucket;
  }
  const std::uint64_t shift = bucket / kSplitCount - 1;
  const std::uint64_t low = (kSplitCount + bucket % kSplitCount) << shift;
  return low + ((std::uint64_t{1} << shift) / 2);
}

std::int64_t minuteOf(SteadyTime instant) noexcept {
  return std::chrono::floor<std::chrono::minutes>(instant.time_since_epoch()).count();
}

}  // namespace

void LatencyHistogram::record(std::chrono::milliseconds duration) noexcept {
  // The duration is negative if the clock was set back between enqueue and ACK.
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  ++counts_[bucketOf(std::min(value, kLongest))];
}

LatencyHistogram& LatencyHistogram::operator+=(const LatencyHistogram& other) noexcept {
  std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(), std::plus<>());
  return *this;
}

std::uint64_t LatencyHistogram::count() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::chrono::milliseconds LatencyHistogram::quantile(double share) const noexcept {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count())));
  std::uint64_t passed = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    passed += counts_[bucket];
    if (passed != 0 && passed >= rank) {
      return std::chrono::milliseconds(valueOf(bucket));
    }
  }
  return std::chrono::milliseconds(0);
}

void LatencyWindow::record(std::span<const std::chrono::milliseconds> latencies, SteadyTime now) {
  const std::int64_t number = minuteOf(now);
  const MutexLock lock(mutex_);
  Minute& minute = minutes_[static_cast<std::size_t>(number) % minutes_.size()];
  if (minute.number != number) {
    minute = {number, {}};
  }
  for (const std::chrono::milliseconds latency : latencies) {
    minute.histogram.record(latency);
  }
}

void LatencyWindow::describe(LatencyStats& stats, SteadyTime now) const {
  const std::int64_t number = minuteOf(now);
  LatencyHistogram all;
  {
    const MutexLock lock(mutex_);
    for (const Minute& minute : minutes_) {
      if (minute.number >= 0 && number - minute.number < static_cast<std::int64_t>(minutes_.size())) {
        all += minute.histogram;
      }
    }
  }
  stats.recent = all.count();
  stats.p50 = all.quantile(0.50);
  stats.p95 = all.quantile(0.95);
  stats.p99 = all.quantile(0.99);
}

}  // namespace ackbox::store
