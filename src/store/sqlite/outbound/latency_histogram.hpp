#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox::store {

/// Durations counted in buckets that are exact below 16 ms and grow with the value above: 8 to each doubling, so that
/// what is read back is at most 6.25 % off. Durations beyond 17 years count as 17 years.
///
/// As bytes: for each bucket that is not empty, in rising order, how many buckets lie between it and the one before,
/// and its count, both as LEB128. Persisted: the buckets never change their bounds.
class LatencyHistogram {
public:
  void record(std::chrono::milliseconds duration) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
  /// The duration that the share `share` (above 0, at most 1) of the recorded ones does not exceed; 0 when empty.
  [[nodiscard]] std::chrono::milliseconds quantile(double share) const noexcept;

  [[nodiscard]] std::string encode() const;
  /// Bytes that are none of ours give an empty histogram: figures must not keep a file from being opened.
  [[nodiscard]] static LatencyHistogram decode(std::string_view bytes) noexcept;

private:
  static constexpr std::size_t kBuckets = 304;
  std::array<std::uint64_t, kBuckets> counts_{};
  // Behind the last bucket that is not empty.
  std::size_t end_ = 0;
};

}  // namespace ackbox::store
