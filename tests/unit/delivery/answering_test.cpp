// Goal: what each answer does to its message and its session (P3, P4).
// Method: short conversations on the stage; the peer's words are the test's, the store guards every settle.

#include <doctest/doctest.h>

#include <utility>

#include "delivery/due.hpp"
#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::answering_test {
namespace {

using Keys = std::vector<MessageKey>;

struct Answering : Stage {
  explicit Answering(MachineOptions machineOptions = exactOptions()) : Stage(std::move(machineOptions)) {
    machine->peerAdded(kPeer, 2);
  }
  static MachineOptions exactOptions() {
    MachineOptions options;
    options.retry.jitter = false;
    return options;
  }
  void enqueueTogether(int count, SessionKey session = 1) {
    for (int made = 0; made < count; ++made) {
      store(session);
    }
    showRows();
  }
};

TEST_CASE("An ack retires the message and carries the peer's word on it") {
  Answering stage;
  stage.enqueue(1);
  FrameResult result = Stage::result(Outcome::ack);
  result.duplicate = true;
  result.result = "{}";
  stage.answer({result});
  CHECK((stage.state(1) == MessageState::acked));
  CHECK(stage.settled.back().duplicate);
  CHECK(stage.settled.back().result == "{}");
  CHECK(stage.sessions.at(1).previousSequence == 1);
}

TEST_CASE("P4: a nack holds its session back; the frames behind it are not charged") {
  Answering stage;
  stage.enqueueTogether(2);
  stage.answer({Stage::result(Outcome::nack, "not-now"), Stage::held()});
  CHECK(stage.rows.at(1).retryCount == 1);
  CHECK(stage.rows.at(1).error == "not-now");
  CHECK((stage.rows.at(1).dueAt == stage.now.wall + 1s));
  CHECK((stage.sessions.at(1).dueAt == stage.now.wall + 1s));
  CHECK(stage.rows.at(2).retryCount == 0);
  CHECK(stage.sends.empty());
  stage.advance(999ms);
  CHECK(stage.sends.empty());
  stage.advance(1ms);
  CHECK(stage.onlySend() == Keys{1, 2});
}

TEST_CASE("The peer's wish for a pause is followed when it is the longer, up to an hour") {
  Answering stage;
  stage.enqueue(1);
  FrameResult result = Stage::result(Outcome::nack);
  result.retryAfter = 7s;
  stage.answer({result});
  CHECK((stage.machine->nextWake() == stage.now.steady + 7s));
  stage.advance(7s);
  result.retryAfter = 48h;
  stage.answer({result});
  CHECK((stage.machine->nextWake() == stage.now.steady + 1h));
}

TEST_CASE("P3: a message whose budget is spent fails with its reason, and its session goes on") {
  MachineOptions options = Answering::exactOptions();
  options.retry.maxRetries = 2;
  Answering stage(options);
  stage.enqueueTogether(2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK((stage.state(1) == MessageState::sending));
    stage.answer({Stage::result(Outcome::nack), Stage::held()});
    if (attempt < 2) {
      stage.advanceToWake();
    }
  }
  CHECK((stage.state(1) == MessageState::failed));
  CHECK(stage.rows.at(1).reason == "retry-budget");
  CHECK(stage.rows.at(1).retryCount == 2);
  CHECK(stage.onlySend() == Keys{2});
}

TEST_CASE("P3: a nack past the horizon fails with its reason") {
  MachineOptions options = Answering::exactOptions();
  options.retry.horizon = 10s;
  Answering stage(options);
  stage.enqueue(1);
  stage.advance(10s);
  stage.answer({Stage::result(Outcome::nack)});
  CHECK(stage.rows.at(1).reason == "horizon");
}

TEST_CASE("P3: a refusal by the receiver's limits is charged to no message: it waits, up to minutes, and goes again") {
  MachineOptions options = Answering::exactOptions();
  options.retry.horizon = 24h;
  for (const char* code : {"limit-sessions", "limit-marks", "inbox-full"}) {
    Answering stage(options);
    stage.enqueueTogether(2);
    FrameResult refused = Stage::result(Outcome::nack, code);
    refused.detail = "the receiver keeps as much as its limit allows";
    for (int attempt = 0; attempt < 40; ++attempt) {
      REQUIRE((stage.state(1) == MessageState::sending));
      stage.answer({refused, Stage::held()});
      CHECK((stage.state(1) == MessageState::pending));
      CHECK(stage.rows.at(1).retryCount == 0);
      CHECK(stage.rows.at(1).error == std::string(code) + ": " + refused.detail);
      CHECK((stage.rows.at(1).dueAt > stage.now.wall));
      CHECK((stage.rows.at(1).dueAt <= stage.now.wall + 5min));
      REQUIRE(stage.advanceToWake());
    }
    stage.ackAll();
    CHECK((stage.state(1) == MessageState::acked));
  }
}

TEST_CASE("P3: a refusal by the receiver's limits waits as long as the receiver asks, and holds up nobody else") {
  Answering stage;
  const MessageKey alone = stage.storeUnordered();
  stage.showRows();
  FrameResult refused = Stage::result(Outcome::nack, "limit-marks");
  refused.retryAfter = 60s;
  stage.answer({refused});
  CHECK((stage.rows.at(alone).dueAt == stage.now.wall + 60s));
  stage.enqueue(1);
  CHECK(stage.onlySend() == Keys{2});
  stage.ackAll();
  stage.advance(59s);
  CHECK(stage.sends.empty());
  stage.advance(1s);
  CHECK(stage.onlySend() == Keys{alone});
}

TEST_CASE("P3: the horizon gives up what the receiver's limits refuse, and a word of this process counts as ever") {
  MachineOptions options = Answering::exactOptions();
  options.retry.horizon = 10s;
  Answering stage(options);
  stage.enqueue(1);
  stage.advance(10s);
  stage.answer({Stage::result(Outcome::nack, "limit-marks")});
  CHECK(stage.rows.at(1).reason == "horizon");
  stage.enqueue(2);
  FrameResult decided = Stage::result(Outcome::nack, "limit-marks");
  decided.decision = FailureDecision::deadLetter("enough");
  stage.answer({decided});
  CHECK(stage.rows.at(2).reason == "enough");
}

TEST_CASE("P3: a rejected message fails with the peer's code and its session goes on") {
  Answering stage;
  stage.enqueueTogether(3);
  stage.answer({Stage::result(Outcome::term, "unknown-type"), Stage::result(Outcome::term), Stage::held()});
  CHECK(stage.rows.at(1).reason == "unknown-type");
  CHECK(stage.rows.at(2).reason == "rejected");
  CHECK(stage.onlySend() == Keys{3});
}

TEST_CASE("A deferred message waits for its ACK event while its session goes on") {
  Answering stage;
  stage.enqueueTogether(2);
  stage.enqueue(1);
  stage.answer({Stage::result(Outcome::defer), Stage::result(Outcome::ack)});
  CHECK((stage.state(1) == MessageState::sent));
  CHECK((stage.rows.at(1).dueAt == stage.now.wall + stage.options.ackTimeout));
  CHECK(stage.onlySend() == Keys{3});
  CHECK(stage.sends.front().items.front().previousSequence == 2);
}

TEST_CASE("P13: at its ACK deadline a deferred message is asked for, in front, and nothing is charged") {
  Answering stage;
  stage.enqueueTogether(1);
  stage.answer({Stage::result(Outcome::defer)});
  stage.enqueue(1);
  stage.enqueue(1);
  stage.advance(stage.options.ackTimeout);
  CHECK(stage.rows.at(1).error.empty());
  CHECK(stage.rows.at(1).retryCount == 0);
  CHECK(stage.settled.back().key == 1);
  CHECK(stage.settled.back().sequence == 1);
  CHECK(stage.settled.back().retryCount == 0);
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{1, 3});
  // The frame does not name itself, nor one behind it, as its predecessor.
  CHECK(stage.sends.front().items[0].previousSequence == 0);
  CHECK(stage.sends.front().items[1].previousSequence == 2);
  stage.ackAll();
  CHECK(stage.sessions.at(1).previousSequence == 3);
}

TEST_CASE("P13: a deferred message whose expiry passes is asked for, and ends as its peer says") {
  Answering stage;
  stage.enqueueTogether(3);
  for (const MessageKey key : {1, 2, 3}) {
    stage.rows.at(key).expiresAt = stage.now.wall + 1s;
  }
  stage.answer({Stage::result(Outcome::defer), Stage::result(Outcome::defer), Stage::result(Outcome::nack)});
  stage.advance(stage.options.ackTimeout);
  // The third one was not taken by its peer: it fails here.
  CHECK(stage.rows.at(3).reason == "expired");
  CHECK(stage.onlySend() == Keys{1, 2});
  stage.answer({Stage::result(Outcome::ack), Stage::result(Outcome::term, "expired")});
  CHECK((stage.state(1) == MessageState::acked));
  CHECK((stage.state(2) == MessageState::failed));
  CHECK(stage.rows.at(2).reason == "expired");
}

TEST_CASE("a message that its peer deferred, and then asks for again, expires as any other") {
  Answering stage;
  stage.enqueueTogether(1);
  stage.rows.at(1).expiresAt = stage.now.wall + 1s;
  stage.answer({Stage::result(Outcome::defer)});
  stage.advance(stage.options.ackTimeout);
  stage.answer({Stage::result(Outcome::nack)});
  stage.advanceToWake();
  CHECK(stage.rows.at(1).reason == "expired");
}

TEST_CASE("P12: what became of a deferred message is asked after ever longer waits, within a bound") {
  Answering stage;
  stage.enqueue(1);
  const auto deferred = [&](MessageKey key) {
    stage.answer({Stage::result(Outcome::defer)});
    return stage.rows.at(key).dueAt - stage.now.wall;
  };
  const std::chrono::milliseconds first = stage.options.ackTimeout;
  for (const unsigned doubled : {1U, 2U, 4U, 8U, 8U}) {
    CHECK((deferred(1) == first * doubled));
    stage.advance(first * doubled - 1ms);
    CHECK(stage.sends.empty());
    stage.advance(1ms);
    CHECK(stage.onlySend() == Keys{1});
  }
  // A nack ends the deferral: the next one is a first one.
  stage.answer({Stage::result(Outcome::nack)});
  stage.advanceToWake();
  CHECK((deferred(1) == first));
  stage.machine->forget(1, 1);
  stage.enqueue(1);
  CHECK((deferred(2) == first));
}

TEST_CASE("P13: a peer without an application for what it defers is named with the deferral") {
  Answering stage;
  stage.enqueueTogether(2);
  FrameResult unattended = Stage::result(Outcome::defer);
  unattended.unattended = 4min;
  stage.answer({unattended, Stage::result(Outcome::defer)});
  REQUIRE(stage.settled.size() == 2);
  CHECK((stage.settled[0].unattendedSince == stage.now.wall - 4min));
  CHECK_FALSE(stage.settled[1].unattendedSince);
}

TEST_CASE("A deferred message that its peer asks for again is charged and goes at once") {
  Answering stage;
  const MessageKey key = stage.enqueue(1);
  stage.answer({Stage::result(Outcome::defer)});
  REQUIRE(stage.sends.empty());
  Actions actions;
  stage.machine->recalled(1, key, stage.now, actions);
  stage.perform(std::move(actions));
  CHECK(stage.rows.at(key).retryCount == 1);
  CHECK(stage.onlySend() == Keys{key});
}

TEST_CASE("A deferred message that was acknowledged from outside has no deadline any more") {
  Answering stage;
  stage.enqueue(1);
  stage.answer({Stage::result(Outcome::defer)});
  CHECK(stage.machine->nextWake());
  stage.machine->forget(1, 1);
  CHECK_FALSE(stage.machine->nextWake());
}

TEST_CASE("A peer that lost our predecessor is offered 0 once, uncharged; the second refusal is the message's own") {
  Answering stage;
  stage.enqueue(1);
  stage.ackAll();
  stage.enqueueTogether(2);
  CHECK(stage.sends.front().items.front().previousSequence == 1);
  stage.answer({Stage::result(Outcome::nack, "out-of-sequence"), Stage::held()});
  CHECK(stage.rows.at(2).retryCount == 0);
  CHECK(stage.sessions.at(1).previousSequence == 0);
  CHECK(stage.onlySend() == Keys{2, 3});
  CHECK(stage.sends.front().items.front().previousSequence == 0);
  stage.answer({Stage::result(Outcome::nack, "out-of-sequence"), Stage::result(Outcome::nack, "out-of-sequence")});
  CHECK(stage.rows.at(2).retryCount == 1);
  CHECK(stage.rows.at(3).retryCount == 0);
  CHECK(stage.sends.empty());
  stage.advanceToWake();
  stage.ackAll();
  CHECK(stage.sessions.at(1).previousSequence == 3);
}

TEST_CASE("P3: what the peer deferred before it lost our session is sent again before what follows") {
  Answering stage;
  stage.enqueue(1);
  stage.answer({Stage::result(Outcome::defer)});
  stage.enqueue(1);
  stage.answer({Stage::result(Outcome::nack, "out-of-sequence")});
  CHECK(stage.onlySend() == Keys{1, 2});
  CHECK((stage.state(1) == MessageState::sending));
}

TEST_CASE("P3: a peer that holds a session for no reason causes no storm, and cannot do so for ever") {
  Answering stage;
  stage.enqueue(1);
  stage.answer({Stage::held()});
  CHECK(stage.rows.at(1).retryCount == 1);
  CHECK(stage.sends.empty());
  CHECK((stage.machine->nextWake() == stage.now.steady + 1s));
}

TEST_CASE("A wall clock that steps by a day neither stalls nor hurries a backoff") {
  for (const auto step : {24h, -24h}) {
    Answering stage;
    stage.enqueue(1);
    stage.answer({Stage::result(Outcome::nack)});
    stage.now.wall += step;
    stage.tick();
    CHECK(stage.sends.empty());
    stage.advance(1s);
    CHECK(stage.onlySend() == Keys{1});
  }
}

TEST_CASE("A stored due time that a wrong clock wrote far ahead stalls its session for an hour at most") {
  Answering stage;
  stage.store(1);
  stage.newSessions.front().dueAt = stage.now.wall + 24h * 365;
  stage.showRows();
  CHECK((stage.machine->nextWake() == stage.now.steady + 1h));
}

TEST_CASE("A session whose stored due time is this very instant goes at once") {
  Answering stage;
  stage.store(1);
  stage.newSessions.front().dueAt = stage.now.wall;
  stage.showRows();
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("A wait that is asked for is followed from none at all to the longest") {
  CHECK((boundedWait(-2ms) == 0ms));
  CHECK((boundedWait(-1ms) == 0ms));
  CHECK((boundedWait(0ms) == 0ms));
  CHECK((boundedWait(1ms) == 1ms));
  CHECK((boundedWait(kWaitMax) == kWaitMax));
  CHECK((boundedWait(kWaitMax + 1ms) == kWaitMax));
}

TEST_CASE("P3: a deferred message that goes again is deferred no more, whatever its peer asks for") {
  Answering stage;
  const MessageKey key = stage.enqueue(7);
  stage.answer({Stage::result(Outcome::defer)});
  stage.advance(60s);
  CHECK(stage.settled.back().session == 7);
  CHECK(stage.onlySend() == Keys{key});
  Actions actions;
  stage.machine->recalled(7, key, stage.now, actions);
  CHECK(actions.settlements.empty());
}

TEST_CASE("What is settled where the peer has shown no reset does not say that it came after one") {
  Answering stage;
  stage.enqueue(1);
  stage.ackAll();
  CHECK_FALSE(stage.settled.back().isAfterReset);
  CHECK_FALSE(stage.releases.back().isAfterReset);
}

TEST_CASE("P3: a horizon of 0 gives no message up for its age") {
  MachineOptions options = Answering::exactOptions();
  options.retry.horizon = 0ms;
  Answering stage(options);
  stage.enqueue(1);
  stage.advance(30 * 24h);
  stage.answer({Stage::result(Outcome::nack)});
  CHECK((stage.state(1) == MessageState::pending));
  CHECK(stage.rows.at(1).retryCount == 1);
}

}  // namespace
}  // namespace ackbox::delivery::answering_test
