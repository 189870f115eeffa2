#include "delivery/run.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/error.hpp"
#include "delivery/check.hpp"

namespace ackbox::delivery {
namespace {

SendReport cancelled() {
  SendReport report;
  report.outcome = RequestOutcome::cancelled;
  return report;
}

// The caller of a pass chooses the time of the next one, so a peer needs no probe first.
MachineOptions forMode(MachineOptions options, RunMode mode) {
  options.restoresHealth = mode == RunMode::continuous;
  return options;
}

}  // namespace

StepCounts& StepCounts::operator+=(const StepCounts& other) noexcept {
  claimed += other.claimed;
  acked += other.acked;
  deferred += other.deferred;
  retried += other.retried;
  failed += other.failed;
  released += other.released;
  return *this;
}

Run::Run(RunOptions options, MachineOptions machineOptions, Random& random)
    : options_(options), machine_(forMode(std::move(machineOptions), options.mode), random) {
  machine_.setClaiming(options_.mode != RunMode::once);
}

void Run::begin(const Now& /*now*/, RunActions& actions) {
  if (state_ != RunState::discovering || look_ != Look::none) {
    return;
  }
  look_ = Look::wanted;
  actions.emplace_back(run_action::Discover{});
}

void Run::discovered(std::span<const RunPeer> peers, std::span<CommittedRows> rows, const Now& now,
                     RunActions& actions) {
  look_ = Look::none;
  Actions decided;
  if (state_ == RunState::discovering) {
    state_ = RunState::reading;
    looked({}, now, actions);
    addPeers(peers);
    take(rows, now, decided, actions);
  }
  conclude(std::move(decided), now, actions);
}

void Run::discoveryFailed(const std::error_code& error, const Now& now, RunActions& actions) {
  look_ = Look::none;
  if (!failsPass(error) && state_ == RunState::discovering) {
    looked(error, now, actions);
    actions.emplace_back(run_action::SetTimer{RunTimer::storeRetry, *lookAgainAt_});
    return;
  }
  conclude({}, now, actions);
}

void Run::committed(std::span<CommittedRows> rows, const Now& now, RunActions& actions) {
  Actions decided;
  take(rows, now, decided, actions);
  conclude(std::move(decided), now, actions);
}

void Run::take(std::span<CommittedRows> rows, const Now& now, Actions& decided, RunActions& actions) {
  if (!takesRows()) {
    return;
  }
  for (CommittedRows& one : rows) {
    takeOne(one, now, decided, actions);
  }
}

void Run::addPeers(std::span<const RunPeer> peers) {
  for (const RunPeer& peer : peers) {
    machine_.peerAdded(peer.key, peer.maxRequests, peer.creditFrames, peer.rateLimit);
    if (!peer.isKnown) {
      machine_.peerKnown(peer.key, peer.store, peer.storeEpoch);
    }
  }
}

void Run::takeOne(CommittedRows& rows, const Now& now, Actions& decided, RunActions& actions) {
  isShared_ = rows.isShared;
  addPeers(rows.peers);
  if (rows.holds) {
    machine_.applyHolds(*rows.holds, now, decided);
    if (step_ == Step::withStore) {
      rows.holds->peers.clear();
      lateHolds_ = std::move(rows.holds);
    }
  }
  machine_.rowsSeen(rows.sessions, rows.rows, now, decided, rows.recalls);
  isBehind_ = rows.hasMore;
  if (isBehind_) {
    wantPoll(now, actions);
  } else if (state_ == RunState::reading) {
    state_ = RunState::delivering;
    pollLater(now, actions);
    if (options_.mode == RunMode::once) {
      machine_.setClaiming(true);
      machine_.tick(now, decided);
      machine_.setClaiming(false);
    }
  }
}

Actions Run::takeStep() noexcept {
  check(step_ == Step::wanted, "a step is taken once for each time that it is asked for");
  step_ = Step::withStore;
  return pending_.take();
}

bool Run::isStepLone() const {
  return machine_.requestsInFlight() <= 1 && pending_.isLone();
}

void Run::stepCommitted(std::span<const ClaimAnswer> claims, std::uint64_t epoch, const StepCounts& counts,
                        const Now& now, RunActions& actions) {
  step_ = Step::none;
  report_.all += counts;
  if (isStopping()) {
    report_.whileStopping += counts;
  }
  if (state_ == RunState::failing) {
    endIfDone(now, actions);
    return;
  }
  report(health_.onStep({}), actions);
  Actions decided;
  for (const ClaimAnswer& claim : claims) {
    machine_.claimed(claim.request, claim.sessions, epoch, now, decided);
  }
  applyLateHolds(now, decided);
  conclude(std::move(decided), now, actions);
}

void Run::stepFailed(Actions&& step, const std::error_code& error, const Now& now, RunActions& actions) {
  step_ = Step::none;
  if (state_ == RunState::failing) {
    endIfDone(now, actions);
    return;
  }
  Actions later;
  pending_.putBack(std::move(step), machine_, kStorePause, error == Errc::outOfMemory, now, later);
  if (!failsPass(error)) {
    report(health_.onStep(error), actions);
    applyLateHolds(now, later);
    step_ = Step::refused;
    actions.emplace_back(run_action::SetTimer{RunTimer::storeRetry, now.steady + kStorePause});
  }
  conclude(std::move(later), now, actions);
}

// Applies holds once more after a step that was under way when they were shown: only now is it known which sessions
// that step found held.
void Run::applyLateHolds(const Now& now, Actions& decided) {
  if (const auto holds = std::exchange(lateHolds_, std::nullopt)) {
    machine_.applyHolds(*holds, now, decided);
  }
}

void Run::polled(const std::error_code& error, bool isUntidy, std::span<CommittedRows> rows, const Now& now,
                 RunActions& actions) {
  look_ = Look::none;
  isUntidy_ = isUntidy;
  Actions decided;
  if (!failsPass(error) && takesRows()) {
    looked(error, now, actions);
    // Rows that were taken during this poll may need the next one.
    const bool looksAgain = std::exchange(looksAgain_, false);
    if (!error && (isBehind_ || looksAgain)) {
      wantPoll(now, actions);
    }
    take(rows, now, decided, actions);
    pollLater(now, actions);
  }
  conclude(std::move(decided), now, actions);
}

void Run::answered(RequestId request, const SendReport& report, const Now& now, RunActions& actions) {
  if (state_ == RunState::failing || state_ == RunState::ended) {
    return;
  }
  this->report(health_.onAnswer(report, now.steady), actions);
  Actions decided;
  machine_.answered(request, report, now, decided);
  conclude(std::move(decided), now, actions);
}

void Run::timerFired(RunTimer timer, const Now& now, RunActions& actions) {
  if (state_ == RunState::failing || state_ == RunState::ended) {
    return;
  }
  Actions decided;
  switch (timer) {
    case RunTimer::wake:
      wakeAt_.reset();
      machine_.tick(now, decided);
      break;
    case RunTimer::poll:
      wantPoll(now, actions);
      return;
    case RunTimer::storeRetry:
      if (state_ == RunState::discovering) {
        begin(now, actions);
        return;
      }
      step_ = step_ == Step::refused ? Step::none : step_;
      break;
    case RunTimer::patience:
      if (state_ != RunState::draining) {
        return;
      }
      state_ = RunState::givingUp;
      actions.emplace_back(run_action::StopSenders{});
      for (const RequestId request : machine_.requestsSent()) {
        ++report_.abandonedRequests;
        machine_.answered(request, cancelled(), now, decided);
      }
      break;
  }
  conclude(std::move(decided), now, actions);
}

void Run::settledOutside(SessionKey session, MessageKey key) {
  if (state_ != RunState::failing) {
    machine_.forget(session, key);
  }
}

void Run::recalled(SessionKey session, MessageKey key, const Now& now, RunActions& actions) {
  if (state_ == RunState::failing || state_ == RunState::ended) {
    return;
  }
  Actions decided;
  machine_.recalled(session, key, now, decided);
  conclude(std::move(decided), now, actions);
}

// Polls twice, because the sign comes just before a commit is visible or a dead process's lock is gone. The sign may
// come from this process's own write; each poll arms the watch again, so there are never more signs than polls.
void Run::neighbourWrote(const Now& now, RunActions& actions) {
  pollsDue_ = 2;
  if (isShared_ && look_ == Look::none) {
    pollLater(now, actions);
  }
}

// A poll that is under way may have read before the commit was there.
void Run::look(const Now& now, RunActions& actions) {
  looksAgain_ = looksAgain_ || look_ == Look::withStore;
  wantPoll(now, actions);
}

void Run::stop(const Now& now, RunActions& actions) {
  if (!isActive()) {
    return;
  }
  state_ = RunState::draining;
  machine_.setClaiming(false);
  Actions decided;
  pending_.dropClaims(machine_, now, decided);
  actions.emplace_back(run_action::SetTimer{RunTimer::patience, now.steady + options_.stopTimeout});
  conclude(std::move(decided), now, actions);
}

bool Run::breakOff(const std::error_code& error) noexcept {
  if (state_ == RunState::ended) {
    return true;
  }
  failure_ = error;
  state_ = RunState::failing;
  step_ = step_ == Step::withStore ? step_ : Step::none;
  look_ = look_ == Look::withStore ? look_ : Look::none;
  if (!isWithStore()) {
    state_ = RunState::ended;
  }
  return state_ == RunState::ended;
}

void Run::looked(const std::error_code& error, const Now& now, RunActions& actions) {
  report(health_.onLook(error), actions);
  if (error) {
    lookPause_ = std::clamp(2 * lookPause_, kStorePause, kLookPauseMax);
    lookAgainAt_ = now.steady + lookPause_;
  } else {
    lookPause_ = {};
    lookAgainAt_.reset();
  }
}

// A pass reports an error to its caller instead of waiting for its end.
bool Run::failsPass(const std::error_code& error) {
  if (error && isPass() && state_ != RunState::failing && state_ != RunState::ended) {
    failure_ = error;
    state_ = RunState::failing;
  }
  return state_ == RunState::failing;
}

void Run::gather(Actions&& decided, const Now& now, RunActions& actions) {
  for (Actions::Send& send : std::exchange(decided.sends, {})) {
    if (takesRows()) {
      actions.emplace_back(run_action::Send{std::move(send)});
    } else {
      machine_.answered(send.request, cancelled(), now, decided);
    }
  }
  pending_.add(std::move(decided));
}

void Run::conclude(Actions&& decided, const Now& now, RunActions& actions) {
  if (state_ == RunState::ended) {
    return;
  }
  if (state_ != RunState::failing) {
    gather(std::move(decided), now, actions);
    wantStep(actions);
    setWakeTimer(actions);
    publishPeers(actions);
  }
  endIfDone(now, actions);
}

void Run::wantStep(RunActions& actions) {
  if (step_ != Step::none || pending_.isEmpty()) {
    return;
  }
  step_ = Step::wanted;
  hasLooked_ = false;
  actions.emplace_back(run_action::SubmitStep{});
}

void Run::wantPoll(const Now& now, RunActions& actions) {
  if (look_ != Look::none || !takesRows()) {
    return;
  }
  look_ = Look::wanted;
  isBehind_ = false;
  report(health_.lookAtCalendar(now), actions);
  pollsDue_ = std::max(pollsDue_ - 1, 0);
  polledAt_ = now.steady;
  actions.emplace_back(run_action::Poll{});
}

void Run::pollLater(const Now& now, RunActions& actions) {
  if (!takesRows() || isPass()) {
    return;
  }
  // An untidy file is tidied by one slice at each poll.
  const auto interval = isUntidy_ || (isShared_ && !isWatching_) ? options_.sharedPollInterval : options_.pollInterval;
  // After a neighbour's sign, the delay counts from the last poll, so that a further sign does not postpone the poll.
  const SteadyTime due = isShared_ && pollsDue_ > 0 ? polledAt_ + kSoon : now.steady + interval;
  actions.emplace_back(run_action::SetTimer{RunTimer::poll, lookAgainAt_.value_or(due)});
}

void Run::setWakeTimer(RunActions& actions) {
  const std::optional<SteadyTime> wake = takesRows() && !isPass() ? machine_.nextWake() : std::nullopt;
  if (wake == wakeAt_) {
    return;
  }
  wakeAt_ = wake;
  if (wake) {
    actions.emplace_back(run_action::SetTimer{RunTimer::wake, *wake});
  } else {
    actions.emplace_back(run_action::CancelTimer{RunTimer::wake});
  }
}

void Run::publishPeers(RunActions& actions) {
  std::vector<PeerKey> changed = machine_.takeChangedPeers();
  if (!changed.empty()) {
    actions.emplace_back(run_action::PublishPeers{std::move(changed)});
  }
}

void Run::report(std::optional<ProcessReport>&& report, RunActions& actions) {
  if (report) {
    actions.emplace_back(run_action::ReportProcess{*std::move(report)});
  }
}

bool Run::isWithStore() const noexcept {
  return step_ == Step::wanted || step_ == Step::withStore || look_ != Look::none;
}

void Run::endIfDone(const Now& now, RunActions& actions) {
  const bool isEnding = state_ == RunState::failing || isStopping() || (isPass() && state_ == RunState::delivering);
  if (!isEnding || isWithStore()) {
    return;
  }
  if (state_ != RunState::failing) {
    // Messages with decisions that cannot be committed now stay claimed until the file is closed or next opened.
    const bool isStuck = state_ == RunState::givingUp && step_ == Step::refused;
    if (!isStuck && (machine_.requestsInFlight() != 0 || !pending_.isEmpty())) {
      return;
    }
    if (options_.mode == RunMode::untilIdle && !isStopping() && !std::exchange(hasLooked_, true)) {
      // Messages enqueued before now must still be sent, and their commits may not have shown them yet.
      wantPoll(now, actions);
      return;
    }
  }
  state_ = RunState::ended;
  actions.emplace_back(run_action::Finish{});
}

}  // namespace ackbox::delivery
