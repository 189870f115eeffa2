#include "ackbox/retry_policy.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace ackbox {
namespace {

std::chrono::milliseconds boundOf(const RetryPolicy& policy, std::uint32_t retry) {
  const std::uint32_t failures = std::max(retry, 1U);
  switch (policy.backoff) {
    case Backoff::exponential: {
      // It becomes infinite in the end; below the cap no loss of precision matters.
      const double bound = static_cast<double>(policy.base.count()) * std::pow(policy.factor, failures - 1);
      return bound < static_cast<double>(policy.cap.count())
                 ? std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(bound))
                 : policy.cap;
    }
    case Backoff::fixed:
      return policy.base;
    case Backoff::table:
    case Backoff::custom:
      break;
  }
  return policy.delays[std::min(static_cast<std::size_t>(failures), policy.delays.size()) - 1];
}

}  // namespace

RetryPolicy webhookRetryPolicy() {
  RetryPolicy policy;
  policy.delays.insert(policy.delays.end(), {std::chrono::minutes(2), std::chrono::minutes(5), std::chrono::minutes(10),
                                             std::chrono::minutes(15), std::chrono::minutes(30)});
  policy.maxRetries = std::numeric_limits<std::uint32_t>::max();
  return policy;
}

std::chrono::milliseconds retryDelay(const RetryPolicy& policy, std::uint32_t retry, Random& random) {
  const std::chrono::milliseconds bound = boundOf(policy, retry);
  if (!policy.jitter || bound.count() <= 0) {
    return bound;
  }
  // The bias of the remainder is below 2^-30 for any bound that a person would configure.
  const auto choices = static_cast<std::uint64_t>(bound.count()) + 1;
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(random.next() % choices));
}

}  // namespace ackbox
