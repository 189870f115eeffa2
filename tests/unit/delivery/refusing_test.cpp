// Goal: a refusal is told from an outage by other messages of the same peer: one that is refused for itself waits and
// is charged alone, and holds up no other (P12); an outage is charged to none (P8). Method: conversations on the stage
// with a peer that refuses some messages, always, by their keys.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/delivery/refusing_stage.hpp"

namespace ackbox::delivery::refusing_test {
namespace {

using enum RequestOutcome;

TEST_CASE("P12: what is refused at first holds its peer, the probe takes another message, and the others go at once") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.bad = {1};
  for (int count = 0; count < 5; ++count) {
    stage.add(inSession);
  }
  const SteadyTime began = stage.now.steady;
  stage.answerNext();
  CHECK(stage.view().hold == PeerHold::held);
  CHECK(stage.charges() == 0);
  REQUIRE(stage.advanceToWake());
  CHECK(stage.now.steady - began <= stage.options.peerHealth.probeDelays.front());
  CHECK(stage.onlySend() == Keys{2});
  CHECK(stage.view().hold == PeerHold::held);
  stage.answerNext();
  CHECK_FALSE(stage.view().down);
  stage.goOn([&] { return stage.areOthersAcked(); });
  CHECK(stage.now.steady - began <= stage.options.peerHealth.probeDelays.front());
  CHECK(stage.rows.at(1).retryCount == 1);
  CHECK(stage.rows.at(1).error ==
        "refused: HTTP 404; others of this peer are taken, so this is charged to the message");
  CHECK_FALSE(stage.view().down);
}

TEST_CASE(
    "P3, P12: a message that is refused for itself spends its budget, ends with a reason, and its session goes on") {
  Refusing stage;
  stage.bad = {1};
  stage.store(1);
  stage.store(1);
  stage.showRows();
  for (int second = 0; second < 60 && stage.state(1) != MessageState::failed; ++second) {
    CHECK_FALSE(stage.isAcked(2));
    const MessageKey other = stage.add(true);
    stage.sessionsMade += stage.sessionsMade == 0 ? 1 : 0;
    stage.goOn([&] { return stage.isAcked(other); });
    stage.advance(1s);
  }
  CHECK(stage.state(1) == MessageState::failed);
  CHECK(stage.rows.at(1).reason == "retry-budget");
  stage.goOn([&] { return stage.isAcked(2); });
  CHECK(stage.isAcked(2));
}

TEST_CASE("P8: while all are refused the peer is held, each probe takes another message, and none is charged") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.isAway = true;
  for (int count = 0; count < 40; ++count) {
    stage.add(inSession);
  }
  const SteadyTime began = stage.now.steady;
  stage.goOn([&] { return stage.asked.size() == 40; });
  CHECK(stage.refusals == 40);
  CHECK(stage.charges() == 0);
  CHECK(stage.view().hold == PeerHold::held);
  // Eight at each delay: at least half of them.
  CHECK(stage.now.steady - began >= 4 * 5s + 4 * 2s + 4 * 1s);
  SUBCASE("and when it is mended, none was its own fault") {
    stage.isAway = false;
    stage.goOn([&] { return stage.areOthersAcked(); });
    CHECK(stage.areOthersAcked());
    CHECK(stage.charges() == 0);
  }
  SUBCASE("and when none is left that was not asked with, it is asked at the slowest pace") {
    const int before = stage.refusals;
    stage.goOn([] { return false; }, 5min);
    CHECK(stage.refusals - before >= 10);
    CHECK(stage.refusals - before <= 20);
    CHECK(stage.charges() == 0);
  }
}

TEST_CASE("P8, P12: with one message there is nothing to tell it by; the next one that is enqueued tells, at once") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.bad = {1};
  stage.add(inSession);
  stage.answerNext();
  CHECK(stage.view().hold == PeerHold::held);
  CHECK(stage.view().error.find("no other message waits") != std::string::npos);
  CHECK(*stage.machine->nextWake() - stage.now.steady >= 15s);
  stage.goOn([] { return false; }, 5min);
  CHECK(stage.charges() == 0);
  stage.goOn([&] { return stage.sends.empty(); });
  // What one message has shown is still the first step, however often it was asked with.
  stage.advance(1s);
  const MessageKey other = stage.add(inSession);
  CHECK(stage.onlySend() == Keys{other});
  stage.answerNext();
  CHECK_FALSE(stage.view().down);
  CHECK(stage.onlySend() == Keys{1});
  stage.answerNext();
  CHECK(stage.rows.at(1).retryCount == 1);
  CHECK_FALSE(stage.view().down);
}

TEST_CASE(
    "P12: one that comes right behind a lone refused one waits as long as a first probe, not as long as the last") {
  Refusing stage;
  stage.bad = {1};
  stage.add(false);
  stage.answerNext();
  const MessageKey other = stage.add(false);
  CHECK(stage.sends.empty());
  REQUIRE(stage.advanceToWake());
  CHECK(stage.onlySend() == Keys{other});
}

TEST_CASE("P12: a peer that takes many is not held for a few that it refuses, and it is when it takes none") {
  Refusing stage;
  const bool inSession = isInSession();
  for (int count = 0; count < 3; ++count) {
    stage.add(inSession);
  }
  stage.goOn([&] { return stage.areOthersAcked(); });
  for (int count = 0; count < 12; ++count) {
    const MessageKey key = stage.lastKey + 1;
    if (count % 4 != 3) {
      stage.bad.insert(key);
    }
    stage.add(inSession);
  }
  const SteadyTime began = stage.now.steady;
  stage.goOn([&] { return stage.areOthersAcked(); });
  CHECK(stage.now.steady == began);
  CHECK(stage.records.empty());
  stage.isAway = true;
  for (int count = 0; count < 12; ++count) {
    stage.add(inSession);
  }
  const int before = stage.refusals;
  stage.goOn([&] { return stage.view().down; });
  CHECK(stage.now.steady == began);
  CHECK(stage.refusals - before <= 11);
}

TEST_CASE("P12: of a batch that is refused, the message at fault is closed in on, and only that is charged") {
  Refusing stage(16, 2);
  const bool inSession = isInSession();
  stage.bad = {11};
  for (int count = 0; count < 32; ++count) {
    inSession ? stage.store(1 + count % 4) : stage.storeUnordered();
  }
  stage.showRows();
  const auto areDone = [&] {
    return std::ranges::all_of(stage.rows, [&](const auto& row) {
      const bool isBehind = inSession && row.first > 11 && row.first % 4 == 11 % 4;
      return stage.bad.contains(row.first) || isBehind || stage.isAcked(row.first);
    });
  };
  stage.goOn(areDone, 5s);
  CHECK(areDone());
  // Alone with a refusal that came in company, it has been told from the others; behind some that were taken in its
  // session, the next message tells.
  if (inSession) {
    stage.enqueue(9);
  }
  stage.goOn([&] { return stage.rows.at(11).retryCount > 0; }, 5s);
  CHECK(stage.charges() == stage.rows.at(11).retryCount);
  CHECK(stage.rows.at(11).retryCount > 0);
}

TEST_CASE("P8, P12: a message that is always answered as by an overloaded peer waits alone, charged nothing") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.outcome = peerUnavailable;
  stage.status = 504;
  stage.bad = {1};
  for (int count = 0; count < 3; ++count) {
    stage.add(inSession);
  }
  stage.goOn([&] { return stage.areOthersAcked(); });
  CHECK(stage.areOthersAcked());
  std::chrono::nanoseconds longest{0};
  for (int second = 0; second < 60; ++second) {
    const MessageKey other = stage.add(inSession);
    const SteadyTime began = stage.now.steady;
    stage.goOn([&] { return stage.isAcked(other); });
    longest = std::max(longest, std::chrono::nanoseconds(stage.now.steady - began));
    stage.advance(1s);
  }
  CHECK(longest <= stage.options.peerHealth.probeDelays.front());
  CHECK(stage.asked[1] >= 10);
  CHECK(stage.charges() == 0);
  CHECK(stage.state(1) != MessageState::failed);
  CHECK(stage.rows.at(1).error.find("waits alone") != std::string::npos);
}

TEST_CASE("P12: gone for good counts when all that can be asked with are told so, or so many that it is no chance") {
  Refusing stage;
  stage.outcome = peerGone;
  stage.status = 410;
  stage.bad = {1};
  stage.add(false);
  SUBCASE("the only one") {
    stage.answerNext();
    CHECK(stage.view().hold == PeerHold::disabled);
    CHECK_FALSE(stage.machine->nextWake());
  }
  SUBCASE("all that there are") {
    stage.bad.insert(2);
    stage.add(false);
    stage.answerNext();
    CHECK(stage.view().hold == PeerHold::held);
    REQUIRE(stage.advanceToWake());
    CHECK(stage.onlySend() == Keys{2});
    stage.answerNext();
    CHECK(stage.view().hold == PeerHold::disabled);
  }
  SUBCASE("sixteen of many") {
    stage.isAway = true;
    for (int count = 0; count < 30; ++count) {
      stage.add(false);
    }
    stage.goOn([&] { return stage.view().hold == PeerHold::disabled; });
    CHECK(stage.refusals == 16);
  }
  SUBCASE("the only one that waits, of a peer that took others") {
    stage.bad.clear();
    stage.goOn([&] { return stage.areOthersAcked(); });
    stage.bad = {2};
    stage.add(false);
    stage.goOn([] { return false; }, 5min);
    CHECK(stage.view().hold == PeerHold::held);
    stage.goOn([&] { return stage.sends.empty(); });
    stage.advance(1s);
    const MessageKey other = stage.add(false);
    CHECK(stage.onlySend() == Keys{other});
  }
  SUBCASE("others are taken") {
    stage.add(false);
    stage.goOn([&] { return stage.rows.at(1).retryCount == 1; }, 10s);
    CHECK(stage.areOthersAcked());
    CHECK(stage.rows.at(1).retryCount == 1);
    CHECK_FALSE(stage.view().down);
  }
}

TEST_CASE(
    "P12: 410 to most messages disables no peer that takes others between, and does when it takes none for a day") {
  MachineOptions options = Refusing::withFrames(1, 1'000'000);
  options.retry.delays = {30min};
  Refusing stage(options, 2);
  const bool inSession = isInSession();
  stage.outcome = peerGone;
  stage.status = 410;
  const auto addSome = [&](int count, std::uint64_t percent) {
    stage.addMany(count, inSession, [&](int) { return stage.random->next() % 100 < percent; });
  };
  addSome(1'000, 60);
  // More in a row than are chance.
  addSome(200, 100);
  addSome(10, 0);
  stage.goOn([&] { return stage.areOthersAcked() || stage.view().hold == PeerHold::disabled; }, 2h);
  CHECK(stage.areOthersAcked());
  CHECK(
      std::ranges::none_of(stage.records, [](const PeerRecord& record) { return record.hold == PeerHold::disabled; }));
  stage.isAway = true;
  stage.goOn([&] { return stage.view().hold == PeerHold::disabled; }, 23h);
  CHECK(stage.view().hold == PeerHold::held);
  stage.goOn([&] { return stage.view().hold == PeerHold::disabled; }, 2h);
  CHECK(stage.view().hold == PeerHold::disabled);
}

TEST_CASE("P8: a message that was refused for itself is charged nothing more when its peer goes away") {
  Refusing stage(1, 1, 100);
  stage.bad = {1};
  stage.add(false);
  const auto sayOne = [&] {
    const MessageKey other = stage.add(false);
    stage.goOn([&] { return stage.isAcked(other); }, 3s);
    stage.advance(1s);
  };
  for (int count = 0; count < 5; ++count) {
    sayOne();
  }
  const std::uint32_t before = stage.charges();
  CHECK(before >= 3);
  stage.isAway = true;
  for (int count = 0; count < 60; ++count) {
    sayOne();
  }
  // It may be the first to meet the outage, behind one that was taken.
  CHECK(stage.charges() <= before + 1);
}

TEST_CASE("P12: what a user's function decides of a refusal counts, and its code names the status") {
  std::string seen;
  MachineOptions options = Refusing::withFrames(1, 3);
  options.onFailure = [&seen](const Failure& failure) {
    seen = failure.code;
    return FailureDecision::deadLetter("wrong-path");
  };
  Refusing stage;
  stage.machine = std::make_unique<Machine>(options, *stage.random);
  stage.machine->peerAdded(kPeer, 1);
  stage.bad = {1};
  stage.add(false);
  stage.add(false);
  stage.goOn([&] { return stage.state(1) == MessageState::failed; }, 10s);
  CHECK(stage.rows.at(1).reason == "wrong-path");
  CHECK(seen == "http-404");
}

TEST_CASE("P12: a calendar that is set back a day makes a message that was charged wait no longer") {
  Refusing stage;
  stage.bad = {1};
  stage.add(false);
  stage.add(false);
  stage.goOn([&] { return stage.rows.at(1).retryCount == 1; }, 10s);
  REQUIRE(stage.rows.at(1).retryCount == 1);
  stage.now.wall -= 24h;
  stage.bad.clear();
  stage.advance(1s);
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("P12: a refused message that was settled from outside is asked with no more, and its peer goes on") {
  Refusing stage;
  const bool inSession = isInSession();
  stage.bad = {1};
  stage.add(inSession);
  stage.add(inSession);
  stage.answerNext();
  stage.rows.at(1).state = MessageState::failed;
  stage.machine->forget(stage.rows.at(1).session, 1);
  stage.goOn([&] { return stage.isAcked(2); });
  CHECK(stage.asked[1] == 1);
  CHECK(stage.sends.empty());
  CHECK_FALSE(stage.machine->nextWake());
  CHECK_FALSE(stage.view().down);
}

TEST_CASE("P12: after a restart a held peer is asked at once, and again with another message when that is refused") {
  Refusing stage;
  stage.bad = {1};
  stage.holds.record = {.peer = kPeer, .down = true, .hold = PeerHold::held, .failures = 99, .error = "HTTP 404"};
  stage.order();
  for (int count = 0; count < 3; ++count) {
    stage.storeUnordered();
  }
  stage.showRows();
  const SteadyTime began = stage.now.steady;
  CHECK(stage.onlySend() == Keys{1});
  stage.goOn([&] { return stage.areOthersAcked(); });
  CHECK(stage.now.steady - began <= stage.options.peerHealth.probeDelays.front());
}

TEST_CASE("P12: of 1,000 messages in any order and share of refused ones, none is asked with again before all were") {
  for (const std::uint64_t percent : {1U, 10U, 60U, 90U}) {
    for (const bool inSession : {false, true}) {
      CAPTURE(percent);
      CAPTURE(inSession);
      Refusing stage(1, 1, 3);
      for (MessageKey key = 1; key <= 1'000; ++key) {
        inSession ? stage.store(key) : stage.storeUnordered();
        if (stage.random->next() % 100 < percent) {
          stage.bad.insert(key);
        }
      }
      stage.showRows();
      // Since one was taken last.
      std::set<MessageKey> askedNow;
      bool isRepeated = false;
      while (!stage.areOthersAcked()) {
        if (stage.sends.empty()) {
          REQUIRE(stage.advanceToWake());
          continue;
        }
        const MessageKey key = stage.onlySend().front();
        isRepeated = isRepeated || !askedNow.insert(key).second;
        const bool isBad = stage.bad.contains(key);
        stage.answerNext();
        if (!isBad) {
          askedNow.clear();
        }
      }
      CHECK_FALSE(isRepeated);
      // One refusal finds a message, another one charges it.
      CHECK(static_cast<std::size_t>(stage.refusals) <= 5 * stage.bad.size());
    }
  }
}

}  // namespace
}  // namespace ackbox::delivery::refusing_test
