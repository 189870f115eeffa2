#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "delivery/machine.hpp"
#include "delivery/process_health.hpp"

namespace ackbox::delivery {

/// How long a run goes on.
enum class RunMode : std::uint8_t {
  /// Until it is stopped.
  continuous,
  /// One pass over the messages that are due; then the run ends.
  once,
  /// Until nothing is due and nothing is under way; then the run ends.
  untilIdle,
};

struct RunOptions {
  RunMode mode = RunMode::continuous;
  std::chrono::milliseconds pollInterval = std::chrono::seconds(1);
  std::chrono::milliseconds sharedPollInterval = std::chrono::milliseconds(20);
  /// How long a stop waits for answers.
  std::chrono::milliseconds stopTimeout = std::chrono::seconds(5);
};

/// A peer that the run may send to.
struct RunPeer {
  PeerKey key = 0;
  std::uint32_t maxRequests = 1;
  std::uint32_t creditFrames = 1;
  RateLimit rateLimit;
  /// The peer's own store as this file has recorded it.
  std::string store;
  std::uint64_t storeEpoch = 0;
  /// The run knows it already: only its limits have changed.
  bool isKnown = false;
};

/// Rows that were committed by any connection, as one commit shows them to the run.
struct CommittedRows {
  std::span<const SessionInfo> sessions;
  std::span<const RowSeen> rows;
  /// The file has more rows, which need a poll.
  bool hasMore = false;
  /// The holds, if they have changed.
  std::optional<HoldSnapshot> holds = {};
  /// See `Machine::rowsSeen`.
  std::optional<std::int64_t> recalls = {};
  /// Other processes have the file open.
  bool isShared = false;
  /// Peers that were added or changed.
  std::vector<RunPeer> peers = {};
};

/// The numbers of messages that a committed step changed.
struct StepCounts {
  std::uint64_t claimed = 0;
  std::uint64_t acked = 0;
  std::uint64_t deferred = 0;
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;
  /// Released without a charge.
  std::uint64_t released = 0;

  /// The messages with an outcome.
  [[nodiscard]] std::uint64_t settled() const noexcept { return acked + deferred + retried + failed; }
  StepCounts& operator+=(const StepCounts& other) noexcept;
};

/// The totals of a run.
struct RunReport {
  StepCounts all;
  /// The part of `all` after the stop.
  StepCounts whileStopping;
  /// Requests that were given up because they outlasted the stop's timeout.
  std::uint64_t abandonedRequests = 0;
};

/// A claim of a committed step, answered.
struct ClaimAnswer {
  RequestId request = 0;
  std::span<const SessionClaimed> sessions;
};

enum class RunTimer : std::uint8_t {
  /// The machine's next instant.
  wake,
  poll,
  /// The retry after the store refused a transaction.
  storeRetry,
  /// The end of a stop's wait for answers.
  patience,
};
constexpr std::size_t kRunTimers = 4;

/// The actions that a run asks for, done in list order. None calls the run back before the whole list is done.
namespace run_action {

/// Read the peers and begin to read the backlog, then `discovered` or `discoveryFailed`.
struct Discover {};
/// Take the step and commit it, then `stepCommitted` or `stepFailed`.
struct SubmitStep {};
/// Look for commits of other processes, then `polled`.
struct Poll {};
/// Pass these claimed messages on to the sender, then `answered`.
struct Send {
  Actions::Send send;
};
/// Replaces an earlier setting of the timer.
struct SetTimer {
  RunTimer timer = RunTimer::wake;
  SteadyTime at{};
};
struct CancelTimer {
  RunTimer timer = RunTimer::wake;
};
/// Show these peers' state to readers.
struct PublishPeers {
  std::vector<PeerKey> peers;
};
struct ReportProcess {
  ProcessReport report;
};
/// Stop waiting for requests under way.
struct StopSenders {};
/// The last action of a run.
struct Finish {};

}  // namespace run_action

using RunAction = std::variant<run_action::Discover, run_action::SubmitStep, run_action::Poll, run_action::Send,
                               run_action::SetTimer, run_action::CancelTimer, run_action::PublishPeers,
                               run_action::ReportProcess, run_action::StopSenders, run_action::Finish>;
using RunActions = std::vector<RunAction>;

}  // namespace ackbox::delivery
