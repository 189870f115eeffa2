#pragma once

// What the run's tests play on: a run, the stage's store and clocks, and a performer that does each action when the
// test says so. Everything that the run takes for the store is kept until the test commits or refuses it.

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "delivery/run.hpp"
#include "stage.hpp"

namespace ackbox::delivery {

/// The stage's machine is not used; its store, its clocks and its random numbers are.
struct RunStage : Stage {
  explicit RunStage(RunMode mode = RunMode::continuous, std::uint64_t seed = 1, MachineOptions machineOptions = {})
      : Stage({}, seed) {
    options.mode = mode;
    run.emplace(options, std::move(machineOptions), *random);
  }

  // --- Events.

  template <typename Event>
  void on(Event event) {
    RunActions actions;
    event(actions);
    for (RunAction& action : actions) {
      std::visit([this](auto& one) { this->perform(std::move(one)); }, action);
    }
  }
  void begin() {
    on([this](RunActions& actions) { run->begin(now, actions); });
  }
  /// Ends the discovery that is with the store: with what is stored by now.
  void discover(std::error_code error = {}) {
    REQUIRE(std::exchange(isDiscovering, false));
    if (error) {
      on([&](RunActions& actions) { run->discoveryFailed(error, now, actions); });
      return;
    }
    // Everything that lives is shown anew.
    newSessions.clear();
    newRows.clear();
    for (auto& [key, session] : sessions) {
      session.owned = false;
      newSessions.push_back({.key = key, .peer = session.peer, .dueAt = session.dueAt, .unordered = session.unordered});
    }
    for (auto& [key, row] : rows) {
      if (row.state == MessageState::sending) {
        row.state = MessageState::pending;
      }
      if (row.state == MessageState::pending || row.state == MessageState::sent) {
        newRows.push_back({.key = key, .session = row.session, .state = row.state, .dueAt = row.dueAt});
      }
    }
    const RunPeer peer{.key = kPeer, .maxRequests = maxRequests, .creditFrames = 256, .rateLimit = {}, .store = {}};
    Shown shown(*this);
    on([&](RunActions& actions) { run->discovered({&peer, 1}, shown.rows, now, actions); });
  }
  void start() {
    begin();
    discover();
  }
  /// Shows the run what was stored since the last time.
  void show() {
    if (run->takesRows()) {
      Shown shown(*this);
      on([&](RunActions& actions) { run->committed(shown.rows, now, actions); });
    }
  }
  MessageKey add(SessionKey session) {
    const MessageKey key = store(session);
    show();
    return key;
  }
  void poll(std::error_code error = {}) {
    REQUIRE(std::exchange(isPolling, false));
    Shown shown(*this, run->takesRows());
    on([&](RunActions& actions) { run->polled(error, false, shown.rows, now, actions); });
  }
  void stop() {
    on([this](RunActions& actions) { run->stop(now, actions); });
  }
  /// Commits the step that is with the store.
  void commit() {
    REQUIRE(step);
    const Actions done = *std::exchange(step, std::nullopt);
    std::vector<std::vector<SessionClaimed>> replies;
    std::vector<ClaimAnswer> answers;
    StepCounts counts;
    for (const PeerIdentity& identity : done.identities) {
      identities.push_back(identity);
    }
    for (const Settlement& settlement : done.settlements) {
      const std::size_t before = settled.size();
      apply(settlement);
      const bool isApplied = settled.size() > before;
      counts.acked += isApplied && settlement.transition == Transition::ack ? 1U : 0U;
      counts.released += isApplied && settlement.transition == Transition::release ? 1U : 0U;
    }
    for (const SessionRelease& release : done.releases) {
      StoredSession& session = sessions.at(release.session);
      CHECK(session.owned);
      session.owned = false;
      session.dueAt = release.dueAt;
    }
    records.insert(records.end(), done.peers.begin(), done.peers.end());
    for (const Actions::Claim& made : done.claims) {
      std::vector<SessionClaimed>& reply = replies.emplace_back();
      framesLeft = made.framesMax;
      for (const SessionClaim& asked : *made.sessions) {
        reply.push_back(claim(asked));
        counts.claimed += reply.back().rows.size();
      }
    }
    for (std::size_t index = 0; index < replies.size(); ++index) {
      answers.push_back({.request = done.claims[index].request, .sessions = replies[index]});
    }
    ++commits;
    on([&](RunActions& actions) { run->stepCommitted(answers, ownEpoch, counts, now, actions); });
  }
  void refuse(std::error_code error = make_error_code(Errc::diskFull)) {
    REQUIRE(step);
    Actions failed = *std::exchange(step, std::nullopt);
    on([&](RunActions& actions) { run->stepFailed(std::move(failed), error, now, actions); });
  }
  /// Answers the oldest send.
  void reply(SendReport report) {
    REQUIRE_FALSE(sends.empty());
    const Actions::Send send = std::move(sends.front());
    sends.pop_front();
    on([&](RunActions& actions) { run->answered(send.request, report, now, actions); });
  }
  void reply(Outcome outcome) {
    REQUIRE_FALSE(sends.empty());
    SendReport report;
    report.outcome = RequestOutcome::answered;
    report.results.assign(sends.front().items.size(), result(outcome));
    reply(report);
  }
  void fire(RunTimer timer) {
    REQUIRE(timers.erase(timer) == 1);
    on([&](RunActions& actions) { run->timerFired(timer, now, actions); });
  }
  /// Moves the clocks to the next timer, and fires it. False when none is set.
  bool fireNext() {
    const auto next = std::ranges::min_element(timers, {}, [](const auto& timer) { return timer.second; });
    if (next == timers.end()) {
      return false;
    }
    const auto by = std::chrono::ceil<std::chrono::milliseconds>(std::max(next->second, now.steady) - now.steady);
    now.steady += by;
    now.wall += by;
    fire(next->first);
    return true;
  }
  [[nodiscard]] bool hasEnded() const { return run->hasEnded(); }

  // --- Actions.

  void perform(run_action::Discover&&) {
    CHECK_FALSE(std::exchange(isDiscovering, true));
    run->lookBegun();
  }
  void perform(run_action::SubmitStep&&) {
    CHECK_FALSE(step);
    isLone = run->isStepLone();
    step = run->takeStep();
  }
  void perform(run_action::Poll&&) {
    CHECK_FALSE(std::exchange(isPolling, true));
    run->lookBegun();
  }
  void perform(run_action::Send&& action) { sends.push_back(std::move(action.send)); }
  void perform(run_action::SetTimer&& action) { timers[action.timer] = action.at; }
  void perform(run_action::CancelTimer&& action) { timers.erase(action.timer); }
  void perform(run_action::PublishPeers&& action) {
    for (const PeerKey key : action.peers) {
      CHECK(run->peer(key).has_value());
    }
  }
  void perform(run_action::ReportProcess&& action) { reports.push_back(std::move(action.report)); }
  void perform(run_action::StopSenders&&) { ++senderStops; }
  void perform(run_action::Finish&&) {
    CHECK(run->hasEnded());
    CHECK_FALSE(std::exchange(isFinished, true));
    // Nothing of the run may be with the store.
    CHECK_FALSE(step);
    CHECK_FALSE(isPolling);
    CHECK_FALSE(isDiscovering);
    timers.clear();
  }

  // What one commit shows, with the memory that it points to.
  struct Shown {
    explicit Shown(RunStage& stage, bool takes = true) {
      if (takes) {
        sessions = std::exchange(stage.newSessions, {});
        seen = std::exchange(stage.newRows, {});
        rows.push_back({.sessions = sessions,
                        .rows = seen,
                        .hasMore = std::exchange(stage.hasMore, false),
                        .holds = std::exchange(stage.shownHolds, std::nullopt),
                        .isShared = stage.isShared});
      }
    }
    std::vector<SessionInfo> sessions;
    std::vector<RowSeen> seen;
    std::vector<CommittedRows> rows;
  };

  RunOptions options;
  std::optional<Run> run;
  std::uint32_t maxRequests = 4;

  bool isDiscovering = false;
  bool isPolling = false;
  bool isFinished = false;
  bool isLone = false;
  /// With the store.
  std::optional<Actions> step;
  std::map<RunTimer, SteadyTime> timers;
  std::vector<ProcessReport> reports;
  std::vector<PeerIdentity> identities;
  int senderStops = 0;
  std::size_t commits = 0;

  /// For the next look.
  bool hasMore = false;
  bool isShared = false;
  std::optional<HoldSnapshot> shownHolds;
};

}  // namespace ackbox::delivery
