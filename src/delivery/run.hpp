#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>

#include "delivery/machine.hpp"
#include "delivery/pending_step.hpp"
#include "delivery/process_health.hpp"
#include "delivery/run_actions.hpp"

namespace ackbox::delivery {

/// The state of a run.
enum class RunState : std::uint8_t {
  /// The peers and the first of the backlog are read; nothing can be decided yet.
  discovering,
  /// Delivers the rows that it knows, while the rest of the backlog is read.
  reading,
  /// All of the backlog is read; delivers.
  delivering,
  /// Stopped: makes no more claims, waits for answers and commits their results.
  draining,
  /// As `draining`, after `stopTimeout`: the requests under way were given up.
  givingUp,
  /// A pass that met an error, or a run that threw: ends as soon as none of its transactions is with the store.
  failing,
  ended,
};

/// One delivery run as a pure machine: events in, actions out. It decides when a step is committed and what it
/// contains, when to look for other processes' commits, and when the run is over. `Machine` decides the outcome of each
/// message. Knows no clock, no store and no thread.
///
/// At most one step is with the store; later decisions go into the next one. The decisions of a failed step are never
/// lost, see `PendingStep`. Each event appends to `actions`.
///
/// Thread-safety: none; owned by one strand.
class Run {
public:
  Run(RunOptions options, MachineOptions machineOptions, Random& random);

  void begin(const Now& now, RunActions& actions);

  void discovered(std::span<const RunPeer> peers, std::span<CommittedRows> rows, const Now& now, RunActions& actions);
  /// The file is busy or damaged, or the disk is full. The error is reported, and discovery is retried after growing
  /// pauses without limit; a pass does not retry.
  void discoveryFailed(const std::error_code& error, const Now& now, RunActions& actions);

  /// Whether `committed` takes rows. Before that, rows wait, because discovery shows their sessions first; after the
  /// stop they are not needed.
  [[nodiscard]] bool takesRows() const noexcept {
    return state_ == RunState::reading || state_ == RunState::delivering;
  }
  /// The rows of the commits since the last call, in order. Precondition: `takesRows`.
  void committed(std::span<CommittedRows> rows, const Now& now, RunActions& actions);

  /// For `SubmitStep`: the content of the step, which is with the store from here on. Does not throw, so that no
  /// decision is lost.
  [[nodiscard]] Actions takeStep() noexcept;
  /// Whether the next step settles and claims at most one message, and no other request is under way.
  [[nodiscard]] bool isStepLone() const;
  /// The store is done with the step; `stepCommitted` or `stepFailed` follows in the same event. It is a separate call,
  /// so that a run that throws in between knows that it need not wait for the store.
  void stepReturned() noexcept { step_ = Step::none; }
  /// One answer per claim of the step.
  void stepCommitted(std::span<const ClaimAnswer> claims, std::uint64_t epoch, const StepCounts& counts, const Now& now,
                     RunActions& actions);
  /// `step` is the one from `takeStep`.
  void stepFailed(Actions&& step, const std::error_code& error, const Now& now, RunActions& actions);

  /// For `Discover` and `Poll`: the read is with the store from here on.
  void lookBegun() noexcept { look_ = Look::withStore; }
  /// As `stepReturned`.
  void lookReturned() noexcept { look_ = Look::none; }
  /// `isUntidy`: the file has free pages to release, a slice at each poll.
  void polled(const std::error_code& error, bool isUntidy, std::span<CommittedRows> rows, const Now& now,
              RunActions& actions);

  /// The end of a request. No effect if the request was given up or already answered.
  void answered(RequestId request, const SendReport& report, const Now& now, RunActions& actions);

  void timerFired(RunTimer timer, const Now& now, RunActions& actions);

  /// A message was settled by its id.
  void settledOutside(SessionKey session, MessageKey key);
  /// The peer asks for a deferred message again.
  void recalled(SessionKey session, MessageKey key, const Now& now, RunActions& actions);

  /// `neighbourWrote` will report other processes' commits and deaths, so the run does not depend on polls alone.
  void setWatching() noexcept { isWatching_ = true; }
  /// Another process may be about to commit, or to die.
  void neighbourWrote(const Now& now, RunActions& actions);
  /// Poll now.
  void look(const Now& now, RunActions& actions);

  void stop(const Now& now, RunActions& actions);

  /// An exception was thrown while an event or an action was handled: the run's state may be inconsistent, so it does
  /// nothing more. Returns true if the run has ended. Otherwise a transaction is still with the store; its end must be
  /// reported as usual, and ends the run. The next run finds messages with uncommitted decisions in the file.
  [[nodiscard]] bool breakOff(const std::error_code& error) noexcept;

  [[nodiscard]] bool isContinuous() const noexcept { return !isPass(); }
  [[nodiscard]] RunState state() const noexcept { return state_; }
  [[nodiscard]] bool hasEnded() const noexcept { return state_ == RunState::ended; }
  [[nodiscard]] bool isStopping() const noexcept {
    return state_ == RunState::draining || state_ == RunState::givingUp;
  }
  /// Why a pass, or a run that threw, ended early.
  [[nodiscard]] const std::error_code& failure() const noexcept { return failure_; }
  [[nodiscard]] const RunReport& report() const noexcept { return report_; }
  [[nodiscard]] std::optional<PeerView> peer(PeerKey key) const { return machine_.peer(key); }

private:
  // How long a run pauses after the store refused a transaction.
  static constexpr std::chrono::milliseconds kStorePause{250};
  // The longest pause after a failed discovery or poll. The pause grows to it from `kStorePause`, because each look may
  // read much of a damaged file.
  static constexpr std::chrono::milliseconds kLookPauseMax{4000};
  // The pause between looks for other processes' writes to the log, so that a busy one does not keep the run looking.
  static constexpr std::chrono::milliseconds kSoon{4};

  // The state of the one transaction that carries decisions.
  enum class Step : std::uint8_t {
    none,
    /// An action asks for it.
    wanted,
    withStore,
    /// The store refused the last one: none is asked for before `storeRetry`.
    refused,
  };
  // The same for transactions that only look: the discovery and polls.
  enum class Look : std::uint8_t { none, wanted, withStore };

  [[nodiscard]] bool isActive() const noexcept { return takesRows() || state_ == RunState::discovering; }
  [[nodiscard]] bool isPass() const noexcept { return options_.mode != RunMode::continuous; }
  /// Returns true if a pass ends early because of `error`.
  bool failsPass(const std::error_code& error);
  void take(std::span<CommittedRows> rows, const Now& now, Actions& decided, RunActions& actions);
  void addPeers(std::span<const RunPeer> peers);
  void takeOne(CommittedRows& rows, const Now& now, Actions& decided, RunActions& actions);
  void applyLateHolds(const Now& now, Actions& decided);
  void gather(Actions&& decided, const Now& now, RunActions& actions);
  /// The end of every event: gathers, asks for a step, sets the timer, and ends the run if it is over.
  void conclude(Actions&& decided, const Now& now, RunActions& actions);
  void wantStep(RunActions& actions);
  void wantPoll(const Now& now, RunActions& actions);
  void pollLater(const Now& now, RunActions& actions);
  void looked(const std::error_code& error, const Now& now, RunActions& actions);
  void setWakeTimer(RunActions& actions);
  void publishPeers(RunActions& actions);
  void report(std::optional<ProcessReport>&& report, RunActions& actions);
  [[nodiscard]] bool isWithStore() const noexcept;
  void endIfDone(const Now& now, RunActions& actions);

  const RunOptions options_;
  Machine machine_;
  ProcessHealth health_;
  PendingStep pending_;

  RunState state_ = RunState::discovering;
  Step step_ = Step::none;
  Look look_ = Look::none;

  // Holds that were shown while a step is with the store: that step may still find sessions held.
  std::optional<HoldSnapshot> lateHolds_;
  std::optional<SteadyTime> wakeAt_;
  SteadyTime polledAt_{};
  // After failed looks: the last pause, and when the next look is due.
  std::chrono::milliseconds lookPause_{0};
  std::optional<SteadyTime> lookAgainAt_;
  // Polls that are due soon, because a neighbour wrote.
  int pollsDue_ = 0;
  bool looksAgain_ = false;
  // The last rows were not all of them, and no poll has begun since.
  bool isBehind_ = false;
  bool isShared_ = false;
  bool isUntidy_ = false;
  bool isWatching_ = false;
  // For `untilIdle`: no work was done since the last look for more.
  bool hasLooked_ = false;
  std::error_code failure_;
  RunReport report_;
};

}  // namespace ackbox::delivery
