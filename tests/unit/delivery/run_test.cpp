// Goal: a run takes every step that it may take and no other, ends when it is stopped, in whatever state, and loses
// nothing that was decided (P3, P4).
// Method: the pure run on a stage: the test says when each transaction commits or fails, when each request is answered
// and when time passes. A property test does so at random.

#include "delivery/run.hpp"

#include <doctest/doctest.h>

#include "delivery/process_health.hpp"
#include "run_stage.hpp"

namespace ackbox::delivery::run_test {
namespace {

const std::error_code kFull = make_error_code(Errc::diskFull);

SendReport reportOf(RequestOutcome outcome) {
  SendReport report;
  report.outcome = outcome;
  return report;
}

/// A run with one message under way to the peer.
struct Sending : RunStage {
  explicit Sending(RunMode mode = RunMode::continuous) : RunStage(mode) {
    key = store(1);
    start();
    commit();
    REQUIRE(sends.size() == 1);
  }
  MessageKey key = 0;
};

TEST_CASE("a message is claimed by one step, sent, and settled by the next") {
  RunStage stage;
  const MessageKey key = stage.store(1);
  stage.begin();
  CHECK(stage.run->state() == RunState::discovering);
  stage.discover();
  CHECK(stage.run->state() == RunState::delivering);
  REQUIRE(stage.step);
  CHECK(stage.step->claims.size() == 1);
  CHECK(stage.isLone);
  stage.commit();
  CHECK_FALSE(stage.step);
  stage.reply(Outcome::ack);
  REQUIRE(stage.step);
  CHECK(stage.step->settlements.size() == 1);
  CHECK(stage.step->releases.size() == 1);
  stage.commit();
  CHECK(stage.state(key) == MessageState::acked);
  CHECK_FALSE(stage.step);
  CHECK(stage.run->report().all.acked == 1);
  CHECK(stage.run->report().all.claimed == 1);
  stage.stop();
  CHECK(stage.isFinished);
  CHECK(stage.run->report().whileStopping.acked == 0);
}

TEST_CASE("what is decided while a step is with the store goes into the next one, all of it") {
  Sending stage;
  stage.add(2);
  REQUIRE(stage.step);
  stage.add(3);
  stage.reply(Outcome::ack);
  CHECK(stage.step->settlements.empty());
  stage.commit();
  REQUIRE(stage.step);
  CHECK(stage.step->claims.size() == 1);
  CHECK(stage.step->settlements.size() == 1);
  CHECK_FALSE(stage.isLone);
}

TEST_CASE("P10: a discovery that fails is told once, and tried again after pauses that grow, as often as it takes") {
  RunStage stage;
  const MessageKey key = stage.store(1);
  stage.begin();
  for (const auto pause : {250ms, 500ms, 1000ms, 2000ms, 4000ms, 4000ms}) {
    stage.discover(kFull);
    CHECK(stage.run->state() == RunState::discovering);
    CHECK_FALSE(stage.isDiscovering);
    CHECK(stage.timers.at(RunTimer::storeRetry) == stage.now.steady + pause);
    REQUIRE(stage.reports.size() == 1);
    REQUIRE(stage.fireNext());
  }
  CHECK(stage.reports[0].isRaised);
  CHECK(stage.reports[0].sentence.find(kFull.message()) != std::string::npos);
  stage.discover();
  REQUIRE(stage.reports.size() == 2);
  CHECK_FALSE(stage.reports[1].isRaised);
  stage.commit();
  CHECK(stage.reports.size() == 2);
  CHECK(Stage::keysOf(stage.sends.front()) == std::vector{key});
}

TEST_CASE("P10: polls that fail are told once, and come after pauses that grow, also where there is more to read") {
  RunStage stage;
  stage.store(1);
  stage.begin();
  SUBCASE("while the backlog is read") {
    stage.hasMore = true;
    stage.discover();
    REQUIRE(stage.run->state() == RunState::reading);
  }
  SUBCASE("later") {
    stage.discover();
    stage.fire(RunTimer::poll);
  }
  stage.commit();
  for (const auto pause : {250ms, 500ms, 1000ms, 2000ms, 4000ms, 4000ms}) {
    REQUIRE(stage.isPolling);
    stage.poll(kFull);
    CHECK(stage.timers.at(RunTimer::poll) == stage.now.steady + pause);
    REQUIRE(stage.reports.size() == 1);
    stage.now.steady += pause;
    stage.fire(RunTimer::poll);
  }
  CHECK(stage.reports[0].isRaised);
  // That decisions are committed meanwhile is no sign of it.
  stage.reply(Outcome::ack);
  stage.commit();
  CHECK(stage.reports.size() == 1);
  stage.poll();
  REQUIRE(stage.reports.size() == 2);
  CHECK_FALSE(stage.reports[1].isRaised);
  CHECK(stage.timers.at(RunTimer::poll) == stage.now.steady + stage.options.pollInterval);
  // And anew.
  stage.fire(RunTimer::poll);
  stage.poll(kFull);
  CHECK(stage.timers.at(RunTimer::poll) == stage.now.steady + 250ms);
  CHECK(stage.reports.size() == 3);
}

TEST_CASE("a neighbour's signs bring no look forward that follows one that failed") {
  RunStage stage;
  stage.isShared = true;
  stage.start();
  stage.fire(RunTimer::poll);
  stage.poll(kFull);
  const SteadyTime due = stage.timers.at(RunTimer::poll);
  stage.on([&](RunActions& actions) { stage.run->neighbourWrote(stage.now, actions); });
  CHECK(stage.timers.at(RunTimer::poll) == due);
}

TEST_CASE("a pass whose discovery fails ends with that error") {
  for (const RunMode mode : {RunMode::once, RunMode::untilIdle}) {
    RunStage stage(mode);
    stage.begin();
    stage.discover(kFull);
    CHECK(stage.isFinished);
    CHECK(stage.run->failure() == kFull);
  }
}

TEST_CASE("rows that come during the discovery wait for it") {
  RunStage stage;
  stage.begin();
  stage.store(1);
  CHECK_FALSE(stage.run->takesRows());
  stage.discover();
  CHECK(stage.run->takesRows());
  CHECK(stage.step);
}

TEST_CASE("a backlog is read by one poll after the other, and sent meanwhile") {
  RunStage stage;
  stage.store(1);
  stage.begin();
  stage.hasMore = true;
  stage.discover();
  CHECK(stage.run->state() == RunState::reading);
  CHECK(stage.isPolling);
  REQUIRE(stage.step);
  stage.store(2);
  stage.hasMore = true;
  stage.poll();
  CHECK(stage.isPolling);
  CHECK(stage.run->state() == RunState::reading);
  stage.poll();
  CHECK_FALSE(stage.isPolling);
  CHECK(stage.run->state() == RunState::delivering);
  CHECK(stage.timers.at(RunTimer::poll) == stage.now.steady + stage.options.pollInterval);
}

TEST_CASE("P5 row 5: a stop ends the run in every state, and claims nothing more") {
  SUBCASE("before it has begun: at once, and it looks for nothing") {
    RunStage stage;
    stage.store(1);
    stage.stop();
    CHECK(stage.isFinished);
    stage.begin();
    CHECK_FALSE(stage.isDiscovering);
  }
  SUBCASE("during the discovery: after it") {
    RunStage stage;
    stage.store(1);
    stage.begin();
    stage.stop();
    CHECK(stage.run->state() == RunState::draining);
    CHECK_FALSE(stage.isFinished);
    std::error_code error;
    SUBCASE("which succeeds") {}
    SUBCASE("which fails") {
      error = kFull;
    }
    stage.discover(error);
    CHECK(stage.isFinished);
    CHECK_FALSE(stage.step);
  }
  SUBCASE("before a discovery is tried again: at once") {
    RunStage stage;
    stage.begin();
    stage.discover(kFull);
    stage.stop();
    CHECK(stage.isFinished);
  }
  SUBCASE("while the backlog is read: after the poll") {
    RunStage stage;
    stage.begin();
    stage.hasMore = true;
    stage.discover();
    stage.stop();
    CHECK_FALSE(stage.isFinished);
    stage.store(1);
    stage.hasMore = true;
    stage.poll();
    CHECK(stage.isFinished);
  }
  SUBCASE("idle: at once") {
    RunStage stage;
    stage.start();
    stage.stop();
    CHECK(stage.isFinished);
  }
  SUBCASE("with a claim at the store: what it brings goes back, uncharged") {
    RunStage stage;
    const MessageKey key = stage.store(1);
    stage.start();
    stage.stop();
    stage.commit();
    CHECK(stage.sends.empty());
    REQUIRE(stage.step);
    stage.commit();
    CHECK(stage.isFinished);
    CHECK(stage.state(key) == MessageState::pending);
    CHECK(stage.rows.at(key).retryCount == 0);
    CHECK_FALSE(stage.sessions.at(1).owned);
    CHECK(stage.run->report().whileStopping.released == 1);
  }
  SUBCASE("with a claim that waits for its step: it is dropped") {
    Sending stage;
    stage.reply(Outcome::ack);
    stage.add(2);
    stage.stop();
    stage.commit();
    CHECK(stage.isFinished);
    CHECK(stage.rows.at(2).attempt == 0);
  }
  SUBCASE("with a request under way: after its answer") {
    Sending stage;
    stage.stop();
    CHECK_FALSE(stage.isFinished);
    stage.reply(Outcome::ack);
    stage.commit();
    CHECK(stage.isFinished);
    CHECK(stage.state(stage.key) == MessageState::acked);
    CHECK(stage.run->report().whileStopping.settled() == 1);
    CHECK(stage.run->report().abandonedRequests == 0);
  }
  SUBCASE("after a refused step: when it is committed") {
    Sending stage;
    stage.reply(Outcome::ack);
    stage.refuse();
    stage.stop();
    CHECK_FALSE(stage.isFinished);
    stage.fire(RunTimer::storeRetry);
    stage.commit();
    CHECK(stage.isFinished);
    CHECK(stage.state(stage.key) == MessageState::acked);
  }
  SUBCASE("twice: once") {
    Sending stage;
    stage.stop();
    stage.timers.erase(RunTimer::patience);
    stage.stop();
    CHECK_FALSE(stage.timers.contains(RunTimer::patience));
  }
}

TEST_CASE("row 5: when a stop's patience is over, requests are given up, uncharged") {
  Sending stage;
  stage.stop();
  CHECK(stage.timers.at(RunTimer::patience) == stage.now.steady + stage.options.stopTimeout);
  stage.fire(RunTimer::patience);
  CHECK(stage.run->state() == RunState::givingUp);
  CHECK(stage.senderStops == 1);
  CHECK(stage.run->report().abandonedRequests == 1);
  // The answer comes too late.
  stage.reply(Outcome::ack);
  stage.commit();
  CHECK(stage.isFinished);
  CHECK(stage.state(stage.key) == MessageState::pending);
  CHECK(stage.rows.at(stage.key).retryCount == 0);
}

TEST_CASE("row 5: a stop whose patience is over ends though the store refuses, and before that it does not") {
  Sending stage;
  stage.reply(Outcome::ack);
  stage.refuse();
  stage.stop();
  stage.fire(RunTimer::storeRetry);
  stage.refuse();
  CHECK_FALSE(stage.isFinished);
  SUBCASE("at the patience's end the store has refused") {
    stage.fire(RunTimer::patience);
    CHECK(stage.isFinished);
  }
  SUBCASE("at the patience's end a step is with the store, which refuses it") {
    stage.fire(RunTimer::storeRetry);
    stage.fire(RunTimer::patience);
    CHECK_FALSE(stage.isFinished);
    stage.refuse();
    CHECK(stage.isFinished);
  }
  SUBCASE("at the patience's end a step is with the store, which commits it") {
    stage.fire(RunTimer::storeRetry);
    stage.fire(RunTimer::patience);
    stage.commit();
    CHECK(stage.isFinished);
    CHECK(stage.state(stage.key) == MessageState::acked);
  }
}

TEST_CASE("P3 P4: a step that fails comes again, in front of what was decided since") {
  Sending stage;
  stage.add(2);
  REQUIRE(stage.step);
  stage.commit();
  stage.reply(Outcome::ack);
  const Actions first = *stage.step;
  stage.reply(Outcome::ack);
  stage.refuse();
  CHECK_FALSE(stage.step);
  REQUIRE(stage.reports.size() == 1);
  CHECK(stage.reports[0].isRaised);
  stage.fire(RunTimer::storeRetry);
  REQUIRE(stage.step);
  REQUIRE(stage.step->settlements.size() == 2);
  CHECK(stage.step->settlements[0].key == first.settlements[0].key);
  REQUIRE(stage.step->releases.size() == 2);
  CHECK(stage.step->releases[0].session == first.releases[0].session);
  // A trouble is reported once, whatever number of steps fail.
  stage.refuse();
  CHECK(stage.reports.size() == 1);
  stage.fire(RunTimer::storeRetry);
  stage.commit();
  REQUIRE(stage.reports.size() == 2);
  CHECK_FALSE(stage.reports[1].isRaised);
}

TEST_CASE("P4: a step that carries a release only is committed though it fails first") {
  RunStage stage;
  const MessageKey key = stage.store(1);
  stage.start();
  // Settled by another process, before the claim.
  stage.rows.at(key).state = MessageState::acked;
  stage.commit();
  REQUIRE(stage.step);
  CHECK(stage.step->settlements.empty());
  CHECK(stage.step->releases.size() == 1);
  stage.refuse();
  stage.fire(RunTimer::storeRetry);
  stage.commit();
  CHECK_FALSE(stage.sessions.at(1).owned);
}

TEST_CASE("P3: what an answer has shown of a peer's identity is committed though its step fails first") {
  Sending stage;
  SendReport report = reportOf(RequestOutcome::answered);
  report.results.assign(1, Stage::result(Outcome::ack));
  report.store = "one";
  report.storeEpoch = 1;
  stage.reply(report);
  REQUIRE(stage.step->identities.size() == 1);
  stage.refuse();
  stage.fire(RunTimer::storeRetry);
  stage.commit();
  CHECK(stage.identities.size() == 1);
}

TEST_CASE("a claim that the store refused is decided anew after the pause") {
  RunStage stage;
  const MessageKey key = stage.store(1);
  stage.start();
  stage.refuse();
  CHECK_FALSE(stage.step);
  stage.fire(RunTimer::storeRetry);
  while (!stage.step) {
    REQUIRE(stage.fireNext());
  }
  stage.commit();
  CHECK(Stage::keysOf(stage.sends.front()) == std::vector{key});
}

TEST_CASE("a session that is resumed while a claim of it comes back held goes on") {
  RunStage stage;
  stage.store(1);
  stage.start();
  REQUIRE(stage.step);
  // The claim finds the session held; what people hold back by then comes before the end of the step.
  stage.shownHolds = HoldSnapshot{};
  stage.show();
  stage.sessions.at(1).blockedBy = 1;
  stage.commit();
  stage.sessions.at(1).blockedBy = 0;
  REQUIRE(stage.step);
  stage.commit();
  CHECK(stage.sends.size() == 1);
}

TEST_CASE("answers after the end, and second ones, are nobody's") {
  Sending stage;
  const RequestId request = stage.sends.front().request;
  stage.reply(Outcome::ack);
  stage.on([&](RunActions& actions) {
    stage.run->answered(request, reportOf(RequestOutcome::peerUnavailable), stage.now, actions);
  });
  stage.commit();
  stage.stop();
  REQUIRE(stage.isFinished);
  RunActions actions;
  stage.run->answered(request, reportOf(RequestOutcome::answered), stage.now, actions);
  stage.run->timerFired(RunTimer::wake, stage.now, actions);
  stage.run->stop(stage.now, actions);
  stage.run->look(stage.now, actions);
  stage.run->recalled(1, 1, stage.now, actions);
  CHECK(actions.empty());
  CHECK(stage.state(stage.key) == MessageState::acked);
}

TEST_CASE("row 21: a pass claims once what is due, waits for the answers, and ends") {
  Sending stage(RunMode::once);
  stage.add(2);
  CHECK_FALSE(stage.step);
  SUBCASE("with an answer that settles") {
    stage.reply(Outcome::ack);
  }
  SUBCASE("with one that asks for a later try") {
    stage.reply(Outcome::nack);
  }
  stage.commit();
  CHECK(stage.isFinished);
  CHECK(stage.rows.at(2).attempt == 0);
  CHECK_FALSE(stage.run->failure());
}

TEST_CASE("row 21: a pass asks a peer that was down for all that is due; a continuous run probes with one frame") {
  for (const RunMode mode : {RunMode::once, RunMode::untilIdle, RunMode::continuous}) {
    CAPTURE(static_cast<int>(mode));
    RunStage stage(mode);
    stage.store(1);
    stage.store(2);
    PeerHolds held;
    held.record.peer = kPeer;
    held.record.down = true;
    held.record.failures = 3;
    stage.shownHolds.emplace().peers.push_back(held);
    stage.start();
    stage.commit();
    REQUIRE(stage.sends.size() == 1);
    CHECK(stage.sends.front().items.size() == (mode == RunMode::continuous ? 1 : 2));
  }
}

TEST_CASE("row 21: a pass reads the whole backlog before it claims") {
  RunStage stage(RunMode::once);
  stage.store(1);
  stage.begin();
  stage.hasMore = true;
  stage.discover();
  CHECK_FALSE(stage.step);
  stage.store(2);
  stage.poll();
  REQUIRE(stage.step);
  stage.commit();
  CHECK(stage.sends.front().items.size() == 2);
}

TEST_CASE("row 21: a run until it is idle looks once more, and goes on if that shows something") {
  Sending stage(RunMode::untilIdle);
  stage.reply(Outcome::ack);
  stage.commit();
  CHECK(stage.isPolling);
  CHECK_FALSE(stage.isFinished);
  const MessageKey later = stage.store(2);
  stage.poll();
  REQUIRE(stage.step);
  stage.commit();
  stage.reply(Outcome::ack);
  stage.commit();
  CHECK(stage.isPolling);
  stage.poll();
  CHECK(stage.isFinished);
  CHECK(stage.state(later) == MessageState::acked);
}

TEST_CASE("a pass that meets an error ends when the store has nothing of it, with its counts") {
  Sending stage(RunMode::untilIdle);
  stage.hasMore = true;
  stage.show();
  REQUIRE(stage.isPolling);
  stage.reply(Outcome::ack);
  SUBCASE("the poll first") {
    stage.poll(kFull);
    CHECK(stage.run->state() == RunState::failing);
    CHECK_FALSE(stage.isFinished);
    stage.commit();
    CHECK(stage.run->report().all.acked == 1);
  }
  SUBCASE("the step first") {
    stage.refuse();
    CHECK_FALSE(stage.isFinished);
    stage.poll();
    CHECK(stage.run->report().all.acked == 0);
  }
  CHECK(stage.isFinished);
  CHECK(stage.run->failure() == kFull);
}

TEST_CASE("a poll that fails is no trouble of a continuous run") {
  RunStage stage;
  stage.start();
  REQUIRE(stage.fireNext());
  stage.poll(kFull);
  CHECK(stage.run->state() == RunState::delivering);
  CHECK(stage.timers.contains(RunTimer::poll));
}

TEST_CASE("a neighbour's sign brings two polls soon, one after the other") {
  RunStage stage;
  stage.isShared = true;
  stage.run->setWatching();
  stage.start();
  const SteadyTime quiet = stage.timers.at(RunTimer::poll);
  CHECK(quiet == stage.now.steady + stage.options.pollInterval);
  stage.on([&](RunActions& actions) { stage.run->neighbourWrote(stage.now, actions); });
  CHECK(stage.timers.at(RunTimer::poll) < quiet);
  stage.fire(RunTimer::poll);
  stage.isShared = true;
  stage.poll();
  CHECK(stage.timers.at(RunTimer::poll) == stage.now.steady + 4ms);
  stage.fire(RunTimer::poll);
  stage.isShared = true;
  stage.poll();
  CHECK(stage.timers.at(RunTimer::poll) == stage.now.steady + stage.options.pollInterval);
}

TEST_CASE(
    "who asks for a look while a poll is under way gets another one, which sees what the first came too early for") {
  RunStage stage;
  stage.start();
  stage.fire(RunTimer::poll);
  REQUIRE(stage.isPolling);
  stage.run->lookBegun();
  stage.on([&](RunActions& actions) { stage.run->look(stage.now, actions); });
  stage.poll();
  CHECK(stage.isPolling);
  stage.poll();
  CHECK_FALSE(stage.isPolling);
}

TEST_CASE("a run in which something threw ends, at once or when the store has nothing of it") {
  const std::error_code memory = make_error_code(Errc::outOfMemory);
  SUBCASE("idle") {
    RunStage stage;
    stage.start();
    CHECK(stage.run->breakOff(memory));
    CHECK(stage.run->failure() == memory);
  }
  SUBCASE("a step was asked for and could not be taken") {
    RunStage stage;
    stage.store(1);
    RunActions actions;
    stage.run->begin(stage.now, actions);
    stage.run->lookBegun();
    const SessionInfo session{.key = 1, .peer = kPeer, .dueAt = {}};
    const RowSeen row{.key = 1, .session = 1, .dueAt = {}};
    CommittedRows rows{.sessions = {&session, 1}, .rows = {&row, 1}};
    const RunPeer peer{.key = kPeer, .rateLimit = {}, .store = {}};
    stage.run->discovered({&peer, 1}, {&rows, 1}, stage.now, actions);
    CHECK(stage.run->breakOff(memory));
  }
  SUBCASE("a discovery was asked for and could not be begun") {
    RunStage stage;
    RunActions actions;
    stage.run->begin(stage.now, actions);
    CHECK(stage.run->breakOff(memory));
  }
  SUBCASE("a step is with the store") {
    RunStage stage;
    stage.store(1);
    stage.start();
    REQUIRE(stage.step);
    CHECK_FALSE(stage.run->breakOff(memory));
    stage.stop();
    CHECK_FALSE(stage.isFinished);
    SUBCASE("which commits it") {
      stage.commit();
    }
    SUBCASE("which refuses it") {
      stage.refuse();
    }
    CHECK(stage.isFinished);
  }
  SUBCASE("a step is back from the store, and its end could not be taken in") {
    RunStage stage;
    stage.store(1);
    stage.start();
    stage.run->stepReturned();
    CHECK(stage.run->breakOff(memory));
  }
  SUBCASE("a poll is back from the store, and its end could not be taken in") {
    RunStage stage;
    stage.start();
    stage.fire(RunTimer::poll);
    stage.run->lookReturned();
    CHECK(stage.run->breakOff(memory));
  }
  SUBCASE("a poll is with the store") {
    RunStage stage;
    stage.start();
    stage.fire(RunTimer::poll);
    CHECK_FALSE(stage.run->breakOff(memory));
    stage.poll();
    CHECK(stage.isFinished);
  }
}

TEST_CASE("P11: that this process cannot send is reported once, and its end after a while of answers") {
  RunStage stage;
  stage.maxRequests = 1;
  stage.start();
  const auto sendOne = [&](RequestOutcome outcome) {
    stage.add(1);
    while (stage.sends.empty()) {
      stage.step ? stage.commit() : static_cast<void>(stage.fireNext());
      if (stage.isPolling) {
        stage.poll();
      }
    }
    if (outcome == RequestOutcome::answered) {
      stage.reply(Outcome::ack);
    } else {
      stage.reply(reportOf(outcome));
    }
    stage.commit();
  };
  sendOne(RequestOutcome::notSent);
  sendOne(RequestOutcome::notSent);
  REQUIRE(stage.reports.size() == 1);
  CHECK(stage.reports[0].isRaised);
  sendOne(RequestOutcome::answered);
  CHECK(stage.reports.size() == 1);
  stage.now.steady += 10s;
  stage.now.wall += 10s;
  sendOne(RequestOutcome::answered);
  REQUIRE(stage.reports.size() == 2);
  CHECK_FALSE(stage.reports[1].isRaised);
}

TEST_CASE("P13: a store that fails is reported again when it fails otherwise, and a lock after that is not") {
  ProcessHealth health;
  const auto step = [&](Errc errc) { return health.onStep(make_error_code(errc)); };
  CHECK_FALSE(health.onStep({}));
  CHECK(step(Errc::databaseBusy)->error == Errc::databaseBusy);
  CHECK_FALSE(step(Errc::databaseBusy));
  CHECK(step(Errc::databaseReadOnly)->error == Errc::databaseReadOnly);
  CHECK_FALSE(step(Errc::databaseReadOnly));
  CHECK_FALSE(step(Errc::databaseBusy));
  CHECK(step(Errc::ioError)->error == Errc::ioError);
  CHECK(step(Errc::databaseReadOnly)->error == Errc::databaseReadOnly);
  CHECK_FALSE(health.onStep({})->isRaised);
}

TEST_CASE("P11: a shortage of this process is over when answers come ten seconds after it was last met, not earlier") {
  ProcessHealth health;
  const SteadyTime met{100s};
  CHECK(health.onAnswer(reportOf(RequestOutcome::notSent), met)->isRaised);
  const SendReport answered = reportOf(RequestOutcome::answered);
  CHECK_FALSE(health.onAnswer(answered, met + 10s - 1ms));
  const auto over = health.onAnswer(answered, met + 10s);
  REQUIRE(over);
  CHECK_FALSE(over->isRaised);
}

TEST_CASE("a move of the calendar is reported by the next poll, and says which instants go by the calendar") {
  RunStage stage;
  stage.start();
  stage.fire(RunTimer::poll);
  stage.poll();
  CHECK(stage.reports.empty());
  stage.now.wall += 24h;
  stage.fire(RunTimer::poll);
  REQUIRE(stage.reports.size() == 1);
  CHECK(stage.reports[0].sentence.find("ahead by 86400 s") != std::string::npos);
  CHECK(stage.reports[0].sentence.find("expiry times go by the calendar") != std::string::npos);
  stage.poll();
  stage.now.wall -= 24h;
  stage.fire(RunTimer::poll);
  REQUIRE(stage.reports.size() == 2);
  CHECK(stage.reports[1].sentence.find("set back by 86400 s") != std::string::npos);
}

/// Random events. Nothing that the run has decided may be lost: at a clean end no message is under way, no session is
/// claimed, and each identity that an answer has shown is in the store.
struct RandomRun : RunStage {
  RandomRun(RunMode mode, std::uint64_t seed) : RunStage(mode, seed) { maxRequests = 1; }

  std::uint64_t below(std::uint64_t bound) { return random->next() % bound; }
  bool oneIn(std::uint64_t count) { return below(count) == 0; }

  void replyAny() {
    SendReport report = reportOf(RequestOutcome::answered);
    const std::uint64_t dice = below(10);
    if (dice == 0) {
      report.outcome = RequestOutcome::peerUnavailable;
    } else if (dice == 1) {
      report.outcome = RequestOutcome::notSent;
    } else {
      for (std::size_t index = 0; index < sends.front().items.size(); ++index) {
        constexpr Outcome kOutcomes[] = {Outcome::ack, Outcome::ack, Outcome::ack, Outcome::nack, Outcome::defer};
        report.results.push_back(result(kOutcomes[below(5)]));
      }
      if (oneIn(3) && run->state() != RunState::givingUp && run->state() != RunState::failing) {
        report.store = "store" + std::to_string(++expectedIdentities);
        report.storeEpoch = 1;
      }
    }
    reply(report);
  }

  void stepAny() {
    switch (below(12)) {
      case 0:
      case 1:
        add(static_cast<SessionKey>(1 + below(4)));
        return;
      case 2:
      case 3:
      case 4:
        if (step) {
          oneIn(4) ? refuse(oneIn(2) ? kFull : make_error_code(Errc::outOfMemory)) : commit();
        }
        return;
      case 5:
      case 6:
        if (!sends.empty()) {
          replyAny();
        }
        return;
      case 7:
        if (isPolling) {
          hasMore = run->takesRows() && oneIn(4);
          poll(oneIn(5) ? kFull : std::error_code());
        }
        return;
      case 8:
        if (isDiscovering) {
          discover(oneIn(3) ? kFull : std::error_code());
        }
        return;
      case 9:
        fireNext();
        return;
      case 10:
        on([this](RunActions& actions) { oneIn(2) ? run->look(now, actions) : run->neighbourWrote(now, actions); });
        return;
      default:
        if (!rows.empty()) {
          const auto key = static_cast<MessageKey>(1 + below(rows.size()));
          StoredRow& row = rows.at(key);
          if (row.state == MessageState::sent && oneIn(2)) {
            on([&](RunActions& actions) { run->recalled(row.session, key, now, actions); });
          } else if (row.state == MessageState::sent || row.state == MessageState::pending) {
            row.state = MessageState::acked;
            run->settledOutside(row.session, key);
          }
        }
        return;
    }
  }

  // Whatever is under way comes to its end.
  void endAny() {
    if (isDiscovering && oneIn(2)) {
      discover(oneIn(3) ? kFull : std::error_code());
    } else if (isPolling && oneIn(2)) {
      poll(oneIn(3) ? kFull : std::error_code());
    } else if (step && oneIn(2)) {
      oneIn(3) ? refuse() : commit();
    } else if (!sends.empty() && oneIn(2)) {
      replyAny();
    } else if (oneIn(2)) {
      fireNext();
    }
  }

  std::size_t expectedIdentities = 0;
};

TEST_CASE("P3 P4: whatever happens, a stopped run ends, and nothing that it decided is lost") {
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    CAPTURE(seed);
    constexpr RunMode kModes[] = {RunMode::continuous, RunMode::continuous, RunMode::once, RunMode::untilIdle};
    RandomRun stage(kModes[seed % 4], seed);
    for (std::uint64_t stored = stage.below(5); stored > 0; --stored) {
      stage.store(static_cast<SessionKey>(stored));
    }
    stage.begin();
    for (std::uint64_t left = stage.below(200); left > 0 && !stage.hasEnded(); --left) {
      stage.stepAny();
    }
    const bool hasEndedByItself = stage.hasEnded();
    const bool mayEnd = stage.options.mode != RunMode::continuous;
    CHECK((!hasEndedByItself || mayEnd));
    stage.stop();
    int steps = 0;
    for (; !stage.hasEnded() && steps < 10'000; ++steps) {
      stage.endAny();
    }
    REQUIRE(stage.isFinished);
    REQUIRE(steps < 10'000);
    if (stage.run->failure()) {
      continue;
    }
    // Only a stop whose patience is over leaves something to the next opening of the file.
    const bool isStuck = stage.run->state() == RunState::ended && stage.senderStops > 0;
    if (isStuck) {
      continue;
    }
    CHECK(stage.identities.size() == stage.expectedIdentities);
    for (const auto& row : stage.rows) {
      CAPTURE(row.first);
      CHECK(row.second.state != MessageState::sending);
    }
    for (const auto& session : stage.sessions) {
      CAPTURE(session.first);
      CHECK_FALSE(session.second.owned);
    }
  }
}

}  // namespace
}  // namespace ackbox::delivery::run_test
