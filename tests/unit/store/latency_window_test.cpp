// Goal: what the histogram says of a duration is as near as it promises, and the window is of the last minutes.
// Method: record every kind of magnitude, compare quantiles with the sorted durations; time by hand.

#include "store/latency_window.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ackbox/random.hpp"

namespace latency_window_test {

using ackbox::store::LatencyHistogram;
using std::chrono::milliseconds;

TEST_CASE("row 24: a quantile is at most 6.25 % off, and exact below 16 ms") {
  for (std::int64_t value = 0; value < 16; ++value) {
    LatencyHistogram one;
    one.record(milliseconds(value));
    CHECK(one.quantile(0.5).count() == value);
  }
  const auto random = ackbox::seededRandom(3);
  LatencyHistogram histogram;
  std::vector<double> durations;
  for (int index = 0; index < 5'000; ++index) {
    const auto value = static_cast<std::int64_t>(random->next() >> (25U + random->next() % 39U));
    durations.push_back(static_cast<double>(value));
    histogram.record(milliseconds(value));
  }
  std::sort(durations.begin(), durations.end());
  for (const double share : {0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0}) {
    CAPTURE(share);
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(durations.size())));
    const double truth = durations[rank - 1];
    CHECK(std::abs(static_cast<double>(histogram.quantile(share).count()) - truth) <= 0.0625 * truth + 0.001);
  }
}

TEST_CASE("the window tells of the last five minutes, and of nothing before them") {
  ackbox::store::LatencyWindow window;
  ackbox::LatencyStats stats;
  // Its first minute counts like any other.
  ackbox::SteadyTime now{};
  window.describe(stats, now);
  CHECK(stats.recent == 0);
  CHECK(stats.p99.count() == 0);
  const std::vector<milliseconds> slow(10, milliseconds(1'000));
  const std::vector<milliseconds> quick(90, milliseconds(2));
  window.record(slow, now);
  now += std::chrono::minutes(1);
  window.record(quick, now);
  window.describe(stats, now);
  CHECK(stats.recent == 100);
  CHECK(stats.p50.count() == 2);
  CHECK(std::abs(static_cast<double>(stats.p95.count()) - 1'000) <= 62.5);
  now += std::chrono::minutes(4);
  window.describe(stats, now);
  CHECK(stats.recent == 90);
  CHECK(stats.p99.count() == 2);
  now += std::chrono::hours(1);
  window.describe(stats, now);
  CHECK(stats.recent == 0);
  // The minute's place is taken by a new one.
  window.record(quick, now);
  window.describe(stats, now);
  CHECK(stats.recent == 90);
}

}  // namespace latency_window_test
