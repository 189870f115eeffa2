#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "ackbox/random.hpp"

namespace ackbox {

/// When a message is tried again, and when it is given up.
///
/// Only attempts that are the message's own fault are charged: a refused connection, a timeout or a 503 for the whole
/// peer is the peer's state (see `PeerHealthPolicy`) and costs no message an attempt.
struct RetryPolicy {
  /// Upper bounds of the delay after the 1st, 2nd, … charged attempt; the last one repeats. Not empty.
  /// Default: the seed's table, 1 s doubling to 60 s.
  std::vector<std::chrono::milliseconds> delays = {
      std::chrono::seconds(1),  std::chrono::seconds(2),  std::chrono::seconds(4),  std::chrono::seconds(8),
      std::chrono::seconds(16), std::chrono::seconds(32), std::chrono::seconds(60),
  };
  /// Full jitter: each delay is drawn uniformly from [0, bound], so that many senders do not return in step.
  bool jitter = true;
  /// Charged attempts after the first before the message becomes a dead letter. 0: the first failure is final.
  std::uint32_t maxRetries = 10;
  /// Age since enqueue at which an undelivered message becomes a dead letter, whatever the cause. 0: never.
  /// Default: 7 days, longer than a long weekend without its operator.
  std::chrono::milliseconds horizon = std::chrono::hours(24 * 7);
};

/// The delay before attempt `retry` + 1, where `retry` counts charged failures so far (1 for the first).
/// Precondition: `policy.delays` is not empty and `retry` ≥ 1.
/// Source of full jitter: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
[[nodiscard]] std::chrono::milliseconds retryDelay(const RetryPolicy& policy, std::uint32_t retry, Random& random);

/// How an unreachable peer is treated.
struct PeerHealthPolicy {
  /// Upper bounds of the delay between probes of a peer that is down; the last one repeats. Jittered to [1/2, 1] of
  /// the bound: a probe that comes too soon only fails again.
  std::vector<std::chrono::milliseconds> probeDelays = {
      std::chrono::milliseconds(250), std::chrono::milliseconds(500), std::chrono::seconds(1),  std::chrono::seconds(2),
      std::chrono::seconds(5),        std::chrono::seconds(15),       std::chrono::seconds(30),
  };
  /// How often a connection may be lost while a message is alone in flight, before that message is taken to be what
  /// kills the peer and becomes a dead letter. 0: never. The peer must have answered others in between.
  std::uint32_t killerThreshold = 5;
  /// Without an answer to others, how long the losses must go on: a dead peer behind a proxy that accepts connections
  /// for it looks the same. Default 1 hour.
  std::chrono::milliseconds killerPatience = std::chrono::hours(1);
};

}  // namespace ackbox
