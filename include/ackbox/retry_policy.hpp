#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/random.hpp"

namespace ackbox {

/// How the delays between a message's attempts grow.
enum class Backoff : std::uint8_t {
  /// As `RetryPolicy::delays` lists them.
  table,
  /// `base`, then `factor` times the one before, up to `cap`.
  exponential,
  /// Always `base`.
  fixed,
  /// The result of `RetryPolicy::custom`.
  custom,
};

/// The failure that a `RetryFunction` decides about.
struct RetryContext {
  /// Charged failures so far, including this one: 1 for the first.
  std::uint32_t retry = 1;
  /// Time since the enqueue.
  std::chrono::milliseconds age{0};
  /// The peer's code and its text for people; valid during the call.
  std::string_view code = {};
  std::string_view detail = {};
};

/// Returns the delay before the next attempt, from 0 to 100 years. It is used unchanged; jitter is up to the function.
/// Empty: give up; the message becomes a dead letter with reason `retry-policy`.
///
/// Called on the delivery executor; must not block. If it throws, `delays` are used instead, and the message's last
/// error and its retry event say so.
using RetryFunction = std::function<std::optional<std::chrono::milliseconds>(const RetryContext&)>;

/// When a message is tried again, and when it becomes a dead letter. One for the outbox (`OutboxOptions::retry`),
/// others for some peers (`PeerOptions::retry`) or sessions (`SessionPolicy::retry`); the most specific one applies, as
/// a whole.
///
/// Only attempts that are the message's own fault are charged: a refused connection, a timeout or a 503 for the whole
/// peer is the peer's state (see `PeerHealthPolicy`) and costs no message an attempt. A refusal (404, say) is the
/// message's own only if the message was refused before and another one of the peer was accepted since.
struct RetryPolicy {
  /// Which of the fields below make the delays. Default: the table.
  Backoff backoff = Backoff::table;
  /// `table`: upper bounds of the delay after the 1st, 2nd, … charged attempt; the last one repeats. Not empty.
  /// Default: 1 s doubling to 60 s.
  std::vector<std::chrono::milliseconds> delays = {
      std::chrono::seconds(1),  std::chrono::seconds(2),  std::chrono::seconds(4),  std::chrono::seconds(8),
      std::chrono::seconds(16), std::chrono::seconds(32), std::chrono::seconds(60),
  };
  /// `exponential` and `fixed`: the first upper bound. 1 ms to 100 years. Default 1 s.
  std::chrono::milliseconds base = std::chrono::seconds(1);
  /// `exponential`: the ratio of each bound to the one before. 1 to 100. Default 2.
  double factor = 2;
  /// `exponential`: the highest bound, not below `base`. Default 60 s.
  std::chrono::milliseconds cap = std::chrono::seconds(60);
  /// `custom`: must be set.
  RetryFunction custom = {};
  /// Full jitter: each delay is drawn uniformly from [0, bound], so that many senders do not return in step.
  bool jitter = true;
  /// Charged attempts after the first before the message becomes a dead letter. 0: the first failure is final.
  std::uint32_t maxRetries = 10;
  /// Age since enqueue at which an undelivered message becomes a dead letter, whatever the cause. 0: never. Default: 7
  /// days, longer than a long weekend without an operator.
  ///
  /// The age is measured by the calendar, less any step forward of the calendar while a process had the file open and
  /// delivered (`start`, `drainOnce`, `claim`); if the calendar is set back again, the step counts no longer. A process
  /// remembers this until it closes the file: after a restart, the age is measured by the calendar alone. Therefore a
  /// process ends messages from before it opened the file by their age only after it has had the file open for an hour,
  /// or for the horizon if that is shorter. A process that never has it open that long ends none of them.
  std::chrono::milliseconds horizon = std::chrono::hours(24 * 7);
};

/// The default of `OutboxOptions::webhookRetry`. A webhook reports only that it failed, and a deployment often fixes
/// it, so its messages are tried for days: after 1 s doubling to 60 s, then 2, 5, 10, 15 and every 30 minutes, without
/// a limit on the number of attempts, until the horizon of 7 days. About 700 attempts of a message in that time.
[[nodiscard]] RetryPolicy webhookRetryPolicy();

/// The delay before attempt `retry` + 1, where `retry` counts charged failures so far (1 for the first). For `custom`,
/// the delay of the table, which is used when the function throws.
/// Precondition: `policy` is valid and `retry` ≥ 1.
/// Source of full jitter: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
[[nodiscard]] std::chrono::milliseconds retryDelay(const RetryPolicy& policy, std::uint32_t retry, Random& random);

/// The effect of a dead letter on its session.
enum class GapPolicy : std::uint8_t {
  /// The session goes on past it; the receiver sees a numbered gap.
  skip,
  /// The session stops, in the file and for every process, until the dead letter is redriven or discarded, or
  /// `OutboxOperator::unblock` lets the session go on past it. For work in which a message is wrong without the one
  /// before it. Unordered messages have nothing behind them, and block nothing. A message that an operator marks as
  /// failed blocks nothing either: the operator has decided about it.
  block,
};

/// The maximum rate of frames to a peer: a token bucket, on the monotonic clock, per process. Frames that are sent
/// again count again. Each run (`start`, `drainOnce`, a first `claim`) begins with a full bucket.
struct RateLimit {
  /// In each `per`, on average. 0 (default): no limit. At most 1,000,000.
  std::uint32_t frames = 0;
  /// 1 ms to 1 day. Default 1 s.
  std::chrono::milliseconds per = std::chrono::seconds(1);
  /// Frames that may go at once after a pause. 0 (default): as many as `frames`. At most 1,000,000. Refused without
  /// `frames`.
  std::uint32_t burst = 0;
};

/// How an unreachable peer is treated.
struct PeerHealthPolicy {
  /// Upper bounds of the delay between probes of a peer that is down; the last one repeats. Jittered to [1/2, 1] of the
  /// bound, because a probe that comes too soon only fails again. A peer that refuses is probed with messages that it
  /// has not refused yet: eight different ones at each of these delays, then others at the last delay. So with the
  /// default, a message that the peer would accept waits 6 s at most behind 16 that it refuses.
  std::vector<std::chrono::milliseconds> probeDelays = {
      std::chrono::milliseconds(250), std::chrono::milliseconds(500), std::chrono::seconds(1),  std::chrono::seconds(2),
      std::chrono::seconds(5),        std::chrono::seconds(15),       std::chrono::seconds(30),
  };
  /// Lost connections after which the peer is down. Each answer offsets three of them, so a peer that answers a quarter
  /// of its requests stays up, and a network that loses some is no outage. A refused connection, a timeout while no
  /// later request was accepted, or an answer such as 503 still puts the peer down at once. 1 to 1,000; 1: each loss
  /// does. Default 8: the requests that may be under way together, all of which a dying peer loses at once.
  std::uint32_t lossTolerance = 8;
  /// How often a connection may be lost while a message is alone in flight before the message may be judged to crash
  /// the peer and becomes a dead letter. Between these attempts it waits as its retry policy says, and is charged
  /// nothing. 0: it never becomes a dead letter for this, but waits all the same.
  std::uint32_t killerThreshold = 5;
  /// How long the losses must also go on, whatever other messages are answered meanwhile: a dead peer behind a proxy
  /// that accepts its connections looks the same, and a failing peer may be repaired. 0 to 100 years. Default 1 hour.
  std::chrono::milliseconds killerPatience = std::chrono::hours(1);
};

}  // namespace ackbox
