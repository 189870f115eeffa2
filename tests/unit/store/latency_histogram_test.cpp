// Goal: what the histogram says of a duration is as near as it promises, and comes back from its bytes unchanged.
// Method: record every kind of magnitude, compare quantiles with the sorted durations; feed it bytes that are not its.

#include "store/sqlite/outbound/latency_histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ackbox/random.hpp"

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

TEST_CASE("a histogram comes back from its bytes, which are few") {
  LatencyHistogram histogram;
  CHECK(histogram.encode().empty());
  CHECK(histogram.quantile(0.5).count() == 0);
  for (int index = 0; index < 100'000; ++index) {
    histogram.record(milliseconds(index % 3));
  }
  histogram.record(milliseconds::max());
  histogram.record(milliseconds(-5));
  const LatencyHistogram back = LatencyHistogram::decode(histogram.encode());
  CHECK(histogram.encode().size() < 20);
  CHECK(back.count() == 100'002);
  CHECK(back.encode() == histogram.encode());
  CHECK(back.quantile(0.5) == milliseconds(1));
}

TEST_CASE("bytes that are no histogram give an empty one") {
  for (const char* bytes :
       {"\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x05", "\x7f\x01\x7f\x01\x7f\x01"}) {
    CHECK(LatencyHistogram::decode(bytes).count() == 0);
  }
}
