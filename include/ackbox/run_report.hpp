#pragma once

// The results of delivery that `OutboxManager` returns.

#include <cstdint>

namespace ackbox {

/// Counts of one `drainOnce` or `processAll`.
struct DrainReport {
  std::uint64_t claimed = 0;
  std::uint64_t acked = 0;
  std::uint64_t deferred = 0;
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;
  /// Put back without a charge: the peer was unreachable.
  std::uint64_t released = 0;
};

/// What `stop` did.
struct StopReport {
  /// Requests that were given up because they outlasted `stopTimeout`.
  std::uint64_t abandonedRequests = 0;
  /// Claimed messages put back to pending without a charge.
  std::uint64_t released = 0;
  /// Messages with an outcome that came while `stop` waited: acknowledged, deferred, dead letters, or to be retried.
  std::uint64_t settled = 0;
};

}  // namespace ackbox
