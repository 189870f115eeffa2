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

/// Where a run stands.
enum class RunState : std::uint8_t {
  /// The peers and the first of the backlog are read; nothing can be decided yet.
  discovering,
  /// Delivers what it knows of, while the rest of the backlog is read.
  reading,
  /// Delivers.
  delivering,
  /// Stopped: claims nothing more, waits for answers and commits what they decide.
  draining,
  /// As `draining`, after its patience: the requests under way were given up.
  givingUp,
  /// A pass that met an error, or a run in which something threw: ends as soon as the store has nothing of it.
  failing,
  ended,
};

/// One delivery run as a pure machine: events in, actions out. It decides when a step is committed and what goes into
/// it, when to look for other processes' commits, and when it is over; the machine inside decides what becomes of each
/// message. Knows no clock, no store and no thread.
///
/// At most one step is with the store; what is decided meanwhile goes into the next one. What a step that failed had
/// decided is never lost, see `PendingStep`. Each event appends to `actions`.
///
/// Thread-safety: none; owned by one strand.
class Run {
public:
  Run(RunOptions options, MachineOptions machineOptions, Random& random);

  void begin(const Now& now, RunActions& actions);

  void discovered(std::span<const RunPeer> peers, std::span<CommittedRows> rows, const Now& now, RunActions& actions);
  /// The file is busy or damaged, or the disk full: it is reported and tried again, after pauses that grow, as often as
  /// it takes; by a pass never.
  void discoveryFailed(const std::error_code& error, const Now& now, RunActions& actions);

  /// Whether `committed` takes rows. Before, they wait, because discovery shows their sessions first; after the stop
  /// nothing needs them.
  [[nodiscard]] bool takesRows() const noexcept {
    return state_ == RunState::reading || state_ == RunState::delivering;
  }
  /// What commits have shown since the last time, in their order. Precondition: `takesRows`.
  void committed(std::span<CommittedRows> rows, const Now& now, RunActions& actions);

  /// For `SubmitStep`: what the step is to do. From here on it is with the store. Throws nothing, so that what is
  /// taken is never lost.
  [[nodiscard]] Actions takeStep() noexcept;
  /// What `takeStep` would take settles and claims one message at most, and no other request is under way.
  [[nodiscard]] bool isStepLone() const;
  /// The store has nothing of the step any more; one of the two below follows in the same event. Apart from them, so
  /// that a run in which something throws in between knows that there is nothing to wait for.
  void stepReturned() noexcept { step_ = Step::none; }
  /// One answer per claim of the step.
  void stepCommitted(std::span<const ClaimAnswer> claims, std::uint64_t epoch, const StepCounts& counts, const Now& now,
                     RunActions& actions);
  /// `step` is what was taken.
  void stepFailed(Actions&& step, const std::error_code& error, const Now& now, RunActions& actions);

  /// For `Discover` and `Poll`: it is with the store from here on.
  void lookBegun() noexcept { look_ = Look::withStore; }
  /// As `stepReturned`.
  void lookReturned() noexcept { look_ = Look::none; }
  /// `isUntidy`: the file has pages to be given back, a slice each poll.
  void polled(const std::error_code& error, bool isUntidy, std::span<CommittedRows> rows, const Now& now,
              RunActions& actions);

  /// The end of a request; of one that was given up, or was answered before, nothing happens.
  void answered(RequestId request, const SendReport& report, const Now& now, RunActions& actions);

  void timerFired(RunTimer timer, const Now& now, RunActions& actions);

  /// A message was settled by its id.
  void settledOutside(SessionKey session, MessageKey key);
  /// The peer asks for a deferred message again.
  void recalled(SessionKey session, MessageKey key, const Now& now, RunActions& actions);

  /// Others' commits and deaths are noticed by `neighbourWrote`, not by polls alone.
  void setWatching() noexcept { isWatching_ = true; }
  /// Another process may be about to commit, or to die.
  void neighbourWrote(const Now& now, RunActions& actions);
  /// Poll now.
  void look(const Now& now, RunActions& actions);

  void stop(const Now& now, RunActions& actions);

  /// Something threw while an event or an action was handled: what the run knows may be half changed, so it does
  /// nothing more. Returns true if it has ended with that; otherwise the store still has something of it; the end
  /// of that is to be reported as ever, and ends the run. What was decided and not committed is found again in the
  /// file.
  [[nodiscard]] bool breakOff(const std::error_code& error) noexcept;

  [[nodiscard]] bool isContinuous() const noexcept { return !isPass(); }
  [[nodiscard]] RunState state() const noexcept { return state_; }
  [[nodiscard]] bool hasEnded() const noexcept { return state_ == RunState::ended; }
  [[nodiscard]] bool isStopping() const noexcept {
    return state_ == RunState::draining || state_ == RunState::givingUp;
  }
  /// Why a pass, or a run in which something threw, ended early.
  [[nodiscard]] const std::error_code& failure() const noexcept { return failure_; }
  [[nodiscard]] const RunReport& report() const noexcept { return report_; }
  [[nodiscard]] std::optional<PeerView> peer(PeerKey key) const { return machine_.peer(key); }

private:
  // How long a run holds still after the store refused a transaction.
  static constexpr std::chrono::milliseconds kStorePause{250};
  // The longest pause between looks that fail, the discovery or polls. It grows up to that from `kStorePause`, because
  // each look may read much of a damaged file.
  static constexpr std::chrono::milliseconds kLookPauseMax{4000};
  // Between looks for what others write to the log, so that a busy neighbour does not keep the run looking.
  static constexpr std::chrono::milliseconds kSoon{4};

  // Where the one transaction that carries decisions is.
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
  /// True if a pass ends early because of it.
  bool failsPass(const std::error_code& error);
  void take(std::span<CommittedRows> rows, const Now& now, Actions& decided, RunActions& actions);
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

  // What people hold back, as shown while a step is with the store: that step may yet find sessions held.
  std::optional<HoldSnapshot> lateHolds_;
  std::optional<SteadyTime> wakeAt_;
  SteadyTime polledAt_{};
  // Of looks that fail: the pause after the last one, and when the next is due.
  std::chrono::milliseconds lookPause_{0};
  std::optional<SteadyTime> lookAgainAt_;
  // Polls that are to follow soon, because a neighbour wrote.
  int pollsDue_ = 0;
  bool looksAgain_ = false;
  // The last rows were not all, and no poll has begun since.
  bool isBehind_ = false;
  bool isShared_ = false;
  bool isUntidy_ = false;
  bool isWatching_ = false;
  // Of a run until it is idle: nothing has been done since the last look for more.
  bool hasLooked_ = false;
  std::error_code failure_;
  RunReport report_;
};

}  // namespace ackbox::delivery
