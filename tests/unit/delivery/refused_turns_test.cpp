// Goal: how soon a peer that refuses is asked with others, and when a refused message has its turn among them (P12).
// Method: conversations on the stage with a peer that refuses some messages, always, by their keys.

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "unit/delivery/refusing_stage.hpp"

namespace ackbox::delivery::refused_turns_test {
namespace {

using enum RequestOutcome;

TEST_CASE("P12: behind as many refused ones as are chance, a message that the peer takes waits seconds") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.addMany(17, inSession, [](int index) { return index < 16; });
  const SteadyTime began = stage.now.steady;
  stage.goOn([&] { return stage.areOthersAcked(); });
  CHECK(stage.areOthersAcked());
  CHECK(stage.now.steady - began <= 8 * 250ms + 8 * 500ms);
  CHECK(stage.charges() == 0);
}

TEST_CASE("P12: a peer that is overloaded by most messages is asked with others soon, and when it is away, later") {
  Refusing stage;
  stage.outcome = peerUnavailable;
  stage.status = 429;
  stage.addMany(40, false, [](int index) { return index % 5 > 1; });
  stage.goOn([&] { return stage.areOthersAcked(); });
  REQUIRE(stage.areOthersAcked());
  SUBCASE("eight more, and one that is taken") {
    stage.addMany(9, false, [](int index) { return index < 8; });
    const SteadyTime began = stage.now.steady;
    stage.goOn([&] { return stage.areOthersAcked(); });
    CHECK(stage.areOthersAcked());
    // With those that were not asked with yet, eleven in a row.
    CHECK(stage.now.steady - began <= 10s);
  }
  SUBCASE("all") {
    stage.isAway = true;
    stage.add(false);
    const int before = stage.refusals;
    stage.goOn([] { return false; }, 5min);
    CHECK(stage.refusals - before <= 40);
  }
  CHECK(stage.charges() == 0);
}

TEST_CASE(
    "P12: at a peer that answers, and takes nothing, a refused message has its turns, uncharged, and holds none") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.bad = {1};
  stage.add(inSession);
  stage.answerNext();
  stage.add(inSession);
  for (int second = 0; second < 60; ++second) {
    // So that there is always another one that is ready.
    stage.add(inSession);
    // At once: what takes long to be refused waits behind the others.
    while (!stage.sends.empty() && stage.onlySend() == Keys{1}) {
      stage.answerNext();
    }
    stage.advance(1s);
    while (!stage.sends.empty() && stage.onlySend() == Keys{1}) {
      stage.answerNext();
    }
    REQUIRE_FALSE(stage.sends.empty());
    stage.answer({Stage::result(Outcome::nack, "not-now")});
    CHECK_FALSE(stage.view().down);
  }
  CHECK(stage.asked[1] >= 10);
  CHECK(stage.rows.at(1).retryCount == 0);
  CHECK(stage.rows.at(1).error == "HTTP 404; others of this peer are answered, so this message waits alone");
}

TEST_CASE("P12: suspects and refused messages take turns when nothing else waits") {
  MachineOptions options = Refusing::withFrames(1, 3);
  options.peerHealth.lossTolerance = 1'000;
  Refusing stage(options);
  constexpr MessageKey kSuspects = 6;
  for (MessageKey key = 1; key <= kSuspects; ++key) {
    stage.add(true);
  }
  stage.ackAll();
  // Each twice: in a request of its own, and in one that it was closed in on by.
  while (!stage.sends.empty()) {
    stage.failRequest(connectionLost);
  }
  const MessageKey refused = stage.lastKey + 1;
  stage.bad = {refused};
  stage.add(true);
  stage.add(true);
  REQUIRE(stage.onlySend() == Keys{refused});
  stage.answerNext();
  REQUIRE(stage.onlySend() == Keys{refused + 1});
  stage.advance(1s);
  stage.ackAll();
  CHECK(stage.onlySend().front() <= kSuspects);
  stage.failRequest(connectionLost);
  CHECK(stage.onlySend() == Keys{refused});
  stage.answerNext();
  CHECK(stage.rows.at(refused).retryCount == 1);
  CHECK(stage.onlySend().front() <= kSuspects);
}

TEST_CASE("P8: that a request of many was refused counts for the messages that were in it, and for no later ones") {
  Refusing stage(2);
  stage.bad = {1, 4};
  stage.store(1);
  stage.store(1);
  stage.showRows();
  stage.answerNext();
  for (const MessageKey key : {1, 2}) {
    stage.rows.at(key).state = MessageState::failed;
    stage.machine->forget(1, key);
  }
  CHECK(stage.enqueue(2) == 3);
  stage.goOn([&] { return stage.isAcked(3); });
  CHECK(stage.enqueue(1) == 4);
  stage.answerNext();
  CHECK(stage.asked[4] == 1);
  CHECK(stage.charges() == 0);
}

}  // namespace
}  // namespace ackbox::delivery::refused_turns_test
