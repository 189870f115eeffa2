// Goal: retry delays follow the policy's table with full jitter.
// Method: the table exactly without jitter; bounds and distribution over many seeded draws with it.

#include "ackbox/retry_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace ackbox::retry_policy_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("Without jitter the n-th delay is the table's n-th, and the last repeats") {
  const auto random = seededRandom(1);
  RetryPolicy policy;
  policy.jitter = false;
  const std::chrono::seconds expected[] = {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s};
  std::uint32_t retry = 0;
  for (const auto delay : expected) {
    CHECK((retryDelay(policy, ++retry, *random) == delay));
  }
  CHECK((retryDelay(policy, 4'000'000'000U, *random) == 60s));
}

TEST_CASE("With jitter every delay lies in [0, bound], ends included") {
  const auto random = seededRandom(2);
  RetryPolicy policy;
  policy.delays = {3ms};
  bool sawLeast = false;
  bool sawMost = false;
  for (int draw = 0; draw < 1'000; ++draw) {
    const auto delay = retryDelay(policy, 1, *random);
    REQUIRE((delay >= 0ms && delay <= 3ms));
    sawLeast = sawLeast || delay == 0ms;
    sawMost = sawMost || delay == 3ms;
  }
  CHECK(sawLeast);
  CHECK(sawMost);
}

TEST_CASE("With jitter the delays are spread evenly") {
  const auto random = seededRandom(3);
  const RetryPolicy policy;
  constexpr int kDraws = 80'000;
  std::array<int, 8> eighths{};
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto delay = retryDelay(policy, 4, *random);
    ++eighths[static_cast<std::size_t>(std::min<std::int64_t>(delay.count() / 1'000, 7))];
  }
  for (const int count : eighths) {
    // Five standard deviations of a fair draw are under 500.
    CHECK(count > kDraws / 8 - 500);
    CHECK(count < kDraws / 8 + 500);
  }
}

TEST_CASE("A delay of zero stays zero") {
  const auto random = seededRandom(4);
  RetryPolicy policy;
  policy.delays = {0ms};
  CHECK((retryDelay(policy, 1, *random) == 0ms));
}

}  // namespace
}  // namespace ackbox::retry_policy_test
