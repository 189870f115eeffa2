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
  /// One pass over what is due, then it ends by itself.
  once,
  /// Until nothing is due and nothing is under way, then it ends by itself.
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
  /// What the file knows of the peer's own store.
  std::string store;
  std::uint64_t storeEpoch = 0;
};

/// What one commit shows the run: rows that appeared, of any connection's commits.
struct CommittedRows {
  std::span<const SessionInfo> sessions;
  std::span<const RowSeen> rows;
  /// More wait in the file, for a poll.
  bool hasMore = false;
  /// What people hold back, when that has changed.
  std::optional<HoldSnapshot> holds = {};
  /// See `Machine::rowsSeen`.
  std::optional<std::int64_t> recalls = {};
  /// Other processes have the file open.
  bool isShared = false;
};

/// What a committed step did, by messages.
struct StepCounts {
  std::uint64_t claimed = 0;
  std::uint64_t acked = 0;
  std::uint64_t deferred = 0;
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;
  /// Put back without a charge.
  std::uint64_t released = 0;

  /// Those that came to an outcome.
  [[nodiscard]] std::uint64_t settled() const noexcept { return acked + deferred + retried + failed; }
  StepCounts& operator+=(const StepCounts& other) noexcept;
};

/// What a run did.
struct RunReport {
  StepCounts all;
  /// Of those, after the stop.
  StepCounts whileStopping;
  /// Requests that were given up because they outlasted the stop.
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
  /// The store refused; it is tried again.
  storeRetry,
  /// The stop has waited for answers long enough.
  patience,
};
constexpr std::size_t kRunTimers = 4;

/// What a run wants done, in the order of the list. Nothing of it calls the run back before the whole list is done.
namespace run_action {

/// Read the peers and begin to read the backlog, then `discovered` or `discoveryFailed`.
struct Discover {};
/// Take the step and commit it, then `stepCommitted` or `stepFailed`.
struct SubmitStep {};
/// Look for what other processes committed, then `polled`.
struct Poll {};
/// Pass these claimed messages on to the sender, then `answered`.
struct Send {
  Actions::Send send;
};
/// Sets it anew if it was set.
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
/// Requests under way are not waited for any more.
struct StopSenders {};
/// The last action of a run.
struct Finish {};

}  // namespace run_action

using RunAction = std::variant<run_action::Discover, run_action::SubmitStep, run_action::Poll, run_action::Send,
                               run_action::SetTimer, run_action::CancelTimer, run_action::PublishPeers,
                               run_action::ReportProcess, run_action::StopSenders, run_action::Finish>;
using RunActions = std::vector<RunAction>;

}  // namespace ackbox::delivery
