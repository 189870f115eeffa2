#include "ackbox/retry_policy.hpp"

#include <algorithm>
#include <cstddef>

namespace ackbox {

std::chrono::milliseconds retryDelay(const RetryPolicy& policy, std::uint32_t retry, Random& random) {
  const std::size_t step = std::min(static_cast<std::size_t>(std::max(retry, 1U)), policy.delays.size()) - 1;
  const std::chrono::milliseconds bound = policy.delays[step];
  if (!policy.jitter || bound.count() <= 0) {
    return bound;
  }
  // The bias of the remainder is below 2^-30 for any bound that a human would configure.
  const auto choices = static_cast<std::uint64_t>(bound.count()) + 1;
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(random.next() % choices));
}

}  // namespace ackbox
