#include "store/sqlite/outbound/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

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

void append(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80U; number >>= 7U) {
    bytes.push_back(static_cast<char>(0x80U | (number & 0x7fU)));
  }
  bytes.push_back(static_cast<char>(number));
}

std::optional<std::uint64_t> take(std::string_view& bytes) noexcept {
  std::uint64_t number = 0;
  for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace

void LatencyHistogram::record(std::chrono::milliseconds duration) noexcept {
  // A calendar that was set back between enqueue and ACK makes it negative.
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  const std::size_t bucket = bucketOf(std::min(value, kLongest));
  ++counts_[bucket];
  end_ = std::max(end_, bucket + 1);
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

std::string LatencyHistogram::encode() const {
  std::string bytes;
  std::size_t next = 0;
  for (std::size_t bucket = 0; bucket < end_; ++bucket) {
    if (counts_[bucket] != 0) {
      append(bytes, bucket - next);
      append(bytes, counts_[bucket]);
      next = bucket + 1;
    }
  }
  return bytes;
}

LatencyHistogram LatencyHistogram::decode(std::string_view bytes) noexcept {
  LatencyHistogram histogram;
  std::size_t next = 0;
  while (!bytes.empty()) {
    const auto skipped = take(bytes);
    const auto count = take(bytes);
    if (!skipped || !count || *skipped >= kBuckets - next) {
      return {};
    }
    histogram.counts_[next + *skipped] = *count;
    next += *skipped + 1;
    histogram.end_ = next;
  }
  return histogram;
}

}  // namespace ackbox::store
