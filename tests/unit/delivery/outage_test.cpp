// Goal: an outage is the peer's state and costs no message anything (P8); a message that kills its peer is found (P8)
// and ends with a reason (P3).
// Method: conversations on the stage in which requests fail as a whole.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "delivery/suspects.hpp"
#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::outage_test {
namespace {

using Keys = std::vector<MessageKey>;
using enum RequestOutcome;

struct Outage : Stage {
  explicit Outage(std::uint32_t maxRequests = 1, MachineOptions machineOptions = {})
      : Stage(std::move(machineOptions)) {
    machine->peerAdded(kPeer, maxRequests);
  }
  void enqueueTogether(int count, SessionKey session = 1) {
    for (int made = 0; made < count; ++made) {
      store(session);
    }
    showRows();
  }
  [[nodiscard]] std::uint32_t charges() const {
    std::uint32_t total = 0;
    for (const auto& [key, row] : rows) {
      total += row.retryCount;
    }
    return total;
  }
};

TEST_CASE("P8: an unavailable peer goes down, charges nothing, and is probed with one frame") {
  Outage stage(4);
  stage.enqueueTogether(3);
  stage.failRequest(peerUnavailable);
  CHECK(stage.charges() == 0);
  CHECK((stage.state(1) == MessageState::pending));
  REQUIRE(stage.records.size() == 1);
  CHECK(stage.records[0].down);
  CHECK(stage.records[0].failures == 1);
  stage.enqueue(2);
  CHECK(stage.sends.empty());
  stage.advanceToWake();
  CHECK(stage.onlySend() == Keys{1});
  CHECK(stage.machine->peer(kPeer)->down);
  stage.ackAll();
  CHECK_FALSE(stage.records.back().down);
  CHECK_FALSE(stage.machine->peer(kPeer)->down);
  CHECK(stage.sends.size() == 1);
}

TEST_CASE("P8: a peer that is another agent than configured is held and probed, and charges no message") {
  Outage stage(4);
  stage.enqueueTogether(3);
  stage.answer({Stage::result(Outcome::term, "wrong-audience"), Stage::held(), Stage::held()});
  CHECK(stage.charges() == 0);
  for (const MessageKey key : {1, 2, 3}) {
    CHECK((stage.state(key) == MessageState::pending));
    CHECK(stage.rows.at(key).error.find("the peer's `agent`") != std::string::npos);
  }
  REQUIRE(stage.records.size() == 1);
  CHECK((stage.records[0].hold == PeerHold::held));
  CHECK(stage.records[0].error.starts_with("wrong-audience"));
  stage.enqueue(2);
  CHECK(stage.sends.empty());
  stage.advanceToWake();
  CHECK(stage.onlySend() == Keys{1});
  stage.ackAll();
  CHECK_FALSE(stage.machine->peer(kPeer)->down);
}

TEST_CASE("P3: the code of a handler that took other frames of the request, or of this process, gives up the message") {
  Outage stage;
  stage.enqueueTogether(2);
  stage.answer({Stage::result(Outcome::ack), Stage::result(Outcome::term, "wrong-audience")});
  CHECK(stage.rows.at(2).reason == "wrong-audience");
  stage.enqueue(1);
  FrameResult decided = Stage::result(Outcome::term, "wrong-audience");
  decided.decision = FailureDecision::deadLetter("mine");
  stage.answer({decided});
  CHECK(stage.rows.at(3).reason == "mine");
}

TEST_CASE("P8: probes come at jittered, growing intervals and number a handful in a long outage") {
  Outage stage(4);
  for (SessionKey session = 1; session <= 50; ++session) {
    stage.enqueue(session);
  }
  const auto& delays = stage.options.peerHealth.probeDelays;
  std::size_t failures = 0;
  const SteadyTime start = stage.now.steady;
  while (stage.now.steady - start < 10min) {
    while (!stage.sends.empty()) {
      stage.failRequest(peerUnavailable);
    }
    const auto bound = delays[std::min(failures, delays.size() - 1)];
    const auto wait = *stage.machine->nextWake() - stage.now.steady;
    CHECK(wait >= bound / 2);
    CHECK(wait <= bound);
    ++failures;
    CHECK(stage.machine->peer(kPeer)->failures == failures);
    stage.advanceToWake();
    CHECK(stage.sends.size() == 1);
  }
  CHECK(failures < 60);
  CHECK(stage.charges() == 0);
}

TEST_CASE("P8: several requests that fail together are one step of the backoff") {
  Outage stage(3);
  for (SessionKey session = 1; session <= 3; ++session) {
    stage.enqueue(session);
  }
  while (!stage.sends.empty()) {
    stage.failRequest(peerUnavailable);
  }
  CHECK(stage.records.size() == 1);
  CHECK(stage.machine->peer(kPeer)->failures == 1);
}

TEST_CASE("P8: a request under way when the peer goes down may still bring it up") {
  Outage stage(2);
  stage.enqueue(1);
  stage.enqueue(2);
  stage.failRequest(peerUnavailable);
  CHECK(stage.machine->peer(kPeer)->down);
  stage.ackAll();
  CHECK_FALSE(stage.machine->peer(kPeer)->down);
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("P8: no storm on return: a success resumes with two requests of two frames, doubled by each answer") {
  MachineOptions options;
  options.batchFrames = 100;
  Outage stage(3, options);
  for (SessionKey session = 1; session <= 500; ++session) {
    stage.store(session);
  }
  stage.showRows();
  while (!stage.sends.empty()) {
    stage.failRequest(peerUnavailable);
  }
  stage.advanceToWake();
  stage.ackAll();
  CHECK(stage.sends.size() == 2);
  CHECK(stage.sends.front().items.size() == 2);
  for (int answers = 0; answers < 8; ++answers) {
    stage.ackAll();
  }
  CHECK(stage.sends.size() == 3);
  CHECK(stage.sends.back().items.size() == 100);
}

TEST_CASE("P8: three hours away and back: all delivered in order, no message charged, few probes, no storm on return") {
  constexpr int kSessions = 300;
  constexpr int kMessages = 6'000;
  constexpr auto kRoundTrip = 20ms;
  Outage stage(4);
  for (int made = 0; made < kMessages; ++made) {
    stage.store(made % kSessions + 1);
    if (made % 10 == 0) {
      stage.showRows();
    }
  }
  stage.showRows();
  std::size_t probes = 0;
  const SteadyTime left = stage.now.steady;
  while (stage.now.steady - left < 3h) {
    for (; !stage.sends.empty(); ++probes) {
      stage.failRequest(peerUnavailable);
    }
    REQUIRE(stage.advanceToWake());
  }
  // Four requests were under way; then one probe each 15 to 30 s.
  CHECK(probes < 3 * 3600 / 15 + 20);
  CHECK(stage.charges() == 0);
  CHECK(stage.sends.size() == 1);

  std::map<SessionKey, MessageKey> last;
  std::size_t requests = 0;
  std::size_t frames = 0;
  const SteadyTime back = stage.now.steady;
  while (!stage.sends.empty()) {
    CHECK(stage.sends.size() <= 4);
    stage.advance(kRoundTrip);
    for (std::size_t answers = stage.sends.size(); answers > 0; --answers) {
      for (const Actions::Send::Item& item : stage.sends.front().items) {
        CHECK(item.key > std::exchange(last[item.session], item.key));
        ++frames;
      }
      ++requests;
      stage.ackAll();
    }
    // Eager would be 400 frames in each round trip from the first on, 2,000 in all.
    if (stage.now.steady - back <= 60ms) {
      CHECK(frames <= 250);
    }
    if (stage.now.steady - back <= 1s) {
      CHECK(requests <= 4 * (1s / kRoundTrip));
    }
  }
  CHECK(frames == kMessages);
  for (const auto& [key, row] : stage.rows) {
    REQUIRE((row.state == MessageState::acked));
    REQUIRE(row.retryCount == 0);
  }
  CHECK(stage.now.steady - back < 1s);
}

TEST_CASE("P8: a peer that refuses is probed at the slowest pace, and its own wish counts when longer") {
  Outage stage;
  stage.enqueue(1);
  stage.failRequest(peerRefused);
  CHECK(*stage.machine->nextWake() - stage.now.steady >= 15s);
  stage.advanceToWake();
  SendReport report;
  report.outcome = peerUnavailable;
  report.retryAfter = 90s;
  report.error = "503";
  stage.report(report);
  CHECK((*stage.machine->nextWake() == stage.now.steady + 90s));
  CHECK(stage.machine->peer(kPeer)->error == "503");
}

TEST_CASE("P8: an answer of the wrong length is no answer") {
  Outage stage;
  stage.enqueueTogether(2);
  stage.answer({Stage::result(Outcome::ack)});
  CHECK((stage.state(1) == MessageState::pending));
  CHECK(stage.machine->peer(kPeer)->down);
  CHECK(stage.charges() == 0);
}

TEST_CASE("P8: a cancelled request charges nobody, not even the peer") {
  Outage stage;
  stage.enqueue(1);
  stage.machine->setClaiming(false);
  stage.failRequest(cancelled);
  CHECK((stage.state(1) == MessageState::pending));
  CHECK(stage.records.empty());
  CHECK(stage.machine->requestsInFlight() == 0);
}

TEST_CASE("P8: what this process could not send takes no peer down, charges nothing, and is tried again soon") {
  Outage stage(4);
  stage.enqueue(1);
  stage.enqueue(2);
  stage.failRequest(notSent);
  CHECK((stage.state(1) == MessageState::pending));
  CHECK(stage.records.empty());
  CHECK_FALSE(stage.machine->peer(kPeer)->down);
  stage.ackAll();
  CHECK(stage.sends.empty());
  stage.advance(250ms);
  CHECK(stage.onlySend() == Keys{1});
  stage.ackAll();
  CHECK(stage.charges() == 0);
}

TEST_CASE("P8: a wall clock that steps by a day during an outage neither stalls nor hurries the probe") {
  for (const auto step : {24h, -24h}) {
    Outage stage;
    stage.enqueue(1);
    stage.failRequest(peerUnavailable);
    stage.now.wall += step;
    stage.tick();
    CHECK(stage.sends.empty());
    stage.advance(250ms);
    CHECK(stage.onlySend() == Keys{1});
  }
}

TEST_CASE("P8: the message that kills its peer is found among many and dead-lettered; all others arrive") {
  Outage stage(4);
  constexpr MessageKey kKiller = 8;
  for (int made = 0; made < 30; ++made) {
    stage.store(1 + made % 10);
  }
  stage.showRows();
  std::size_t losses = 0;
  for (int turn = 0; turn < 2'000; ++turn) {
    if (stage.sends.empty()) {
      if (!stage.advanceToWake()) {
        break;
      }
      continue;
    }
    const Keys keys = Stage::keysOf(stage.sends.front());
    if (std::find(keys.begin(), keys.end(), kKiller) != keys.end()) {
      ++losses;
      stage.failRequest(connectionLost);
    } else {
      stage.ackAll();
    }
  }
  for (const auto& [rowKey, row] : stage.rows) {
    const delivery::MessageKey key = rowKey;
    CAPTURE(key);
    CHECK((row.state == (key == kKiller ? MessageState::failed : MessageState::acked)));
  }
  CHECK(stage.rows.at(kKiller).reason == "peer-killer");
  CHECK(stage.charges() == 0);
  // Ten to close in on it, then at the pace of its retry policy for an hour.
  CHECK(losses >= stage.options.peerHealth.killerThreshold);
  CHECK(losses < 250);
}

TEST_CASE("P8: a killer verdict needs its patience, however many others the peer answers meanwhile") {
  Outage stage(2);
  stage.enqueue(1);
  const SteadyTime began = stage.now.steady;
  std::size_t answered = 0;
  while (stage.state(1) != MessageState::failed) {
    REQUIRE(stage.now.steady - began < 2h);
    if (stage.sends.empty()) {
      stage.enqueue(2);
    }
    if (stage.sends.empty()) {
      REQUIRE(stage.advanceToWake());
    } else if (stage.onlySend() == Keys{1}) {
      stage.failRequest(connectionLost);
    } else {
      stage.ackAll();
      ++answered;
      stage.advance(10s);
    }
  }
  CHECK(stage.now.steady - began >= 1h);
  CHECK(answered > 100);
  CHECK(stage.rows.at(1).reason == "peer-killer");
}

TEST_CASE("P8: lost connections that answers make up for leave the peer up, and its sessions go on at once") {
  Outage stage(1);
  for (int turn = 0; turn < 50; ++turn) {
    for (SessionKey session = 1; session <= 60; ++session) {
      stage.store(session);
    }
    stage.showRows();
    stage.failRequest(connectionLost);
    CHECK(stage.sends.size() == 1);
    stage.failRequest(connectionLost);
    CHECK(stage.sends.size() == 1);
    while (!stage.sends.empty()) {
      stage.ackAll();
    }
  }
  CHECK(stage.records.empty());
  CHECK(stage.charges() == 0);
}

TEST_CASE("P8: a peer that loses connection after connection goes down at the tolerance, and not one earlier") {
  MachineOptions options;
  options.peerHealth.lossTolerance = 5;
  Outage stage(1, options);
  for (SessionKey session = 1; session <= 600; ++session) {
    stage.store(session);
  }
  stage.showRows();
  for (int loss = 0; loss < 4; ++loss) {
    stage.failRequest(connectionLost);
    CHECK_FALSE(stage.machine->peer(kPeer)->down);
  }
  stage.failRequest(connectionLost);
  CHECK(stage.machine->peer(kPeer)->down);
  CHECK(stage.charges() == 0);
  stage.advanceToWake();
  CHECK(stage.sends.size() == 1);
  stage.failRequest(connectionLost);
  CHECK(stage.machine->peer(kPeer)->failures == 2);
}

TEST_CASE("P8: a message alone with a peer that only loses connections is innocent for an hour, then given up") {
  Outage stage(1);
  stage.enqueue(1);
  const auto began = stage.now.steady;
  while (stage.state(1) != MessageState::failed) {
    REQUIRE(stage.now.steady - began < 2h);
    if (!stage.sends.empty()) {
      stage.failRequest(connectionLost);
    } else {
      REQUIRE(stage.advanceToWake());
    }
  }
  CHECK(stage.now.steady - began >= 1h);
  CHECK(stage.rows.at(1).reason == "peer-killer");
}

TEST_CASE("P8: suspects go alone, and others' traffic goes on between them") {
  Outage stage(2);
  stage.enqueueTogether(2, 1);
  stage.failRequest(connectionLost);
  CHECK(stage.onlySend() == Keys{1});
  stage.failRequest(connectionLost);
  CHECK(stage.sends.empty());
  stage.enqueue(2);
  stage.enqueue(3);
  std::set<MessageKey> ordinary;
  for (int turn = 0; turn < 20 && (!stage.sends.empty() || stage.advanceToWake()); ++turn) {
    for (const Actions::Send& send : stage.sends) {
      const Keys keys = Stage::keysOf(send);
      if (std::any_of(keys.begin(), keys.end(), [](MessageKey key) { return key <= 2; })) {
        CHECK(keys.size() == 1);
        CHECK(stage.sends.size() == 1);
      } else {
        ordinary.insert(keys.begin(), keys.end());
      }
    }
    if (!stage.sends.empty()) {
      stage.ackAll();
    }
  }
  CHECK(ordinary == std::set<MessageKey>{3, 4});
  CHECK((stage.state(2) == MessageState::acked));
}

/// Of session 1's two messages the first is a suspect, whose next try is to come.
struct Suspecting : Outage {
  explicit Suspecting(std::uint32_t maxRequests) : Outage(maxRequests) {
    enqueueTogether(2, 1);
    failRequest(connectionLost);
    failRequest(connectionLost);
    REQUIRE(sends.empty());
  }
};

TEST_CASE("P8: a suspect has its turn, though others never cease to wait") {
  Suspecting stage(1);
  SessionKey session = 2;
  stage.enqueue(session);
  for (int turn = 0; turn < 50 && stage.state(1) != MessageState::acked; ++turn) {
    // So that something waits when the request ends.
    stage.enqueue(++session);
    stage.advance(1s);
    stage.ackAll();
  }
  CHECK((stage.state(1) == MessageState::acked));
}

TEST_CASE("P8: what waits behind a suspect that was settled from outside is none itself, and goes beside others") {
  Suspecting stage(3);
  const MessageKey other = stage.enqueue(2);
  REQUIRE(stage.onlySend() == Keys{other});
  // The suspect is due, and waits until it may go alone.
  REQUIRE(stage.advanceToWake());
  REQUIRE(stage.sends.size() == 1);
  stage.rows.erase(1);
  stage.machine->forget(1, 1);
  stage.enqueue(3);
  REQUIRE(stage.sends.size() == 3);
  CHECK(std::ranges::count(stage.sends, Keys{2}, [](const Actions::Send& send) { return Stage::keysOf(send); }) == 1);
}

TEST_CASE("P8: a suspect that a claim did not find any more is none when its row comes back") {
  Suspecting stage(2);
  const auto gone = stage.rows.extract(1);
  while (stage.sends.empty()) {
    REQUIRE(stage.advanceToWake());
  }
  REQUIRE(stage.onlySend() == Keys{2});
  stage.ackAll();
  const MessageKey other = stage.enqueue(2);
  REQUIRE(stage.onlySend() == Keys{other});
  stage.rows.emplace(1, gone.mapped());
  stage.newRows.push_back({.key = 1, .session = 1, .state = MessageState::pending, .dueAt = {}});
  stage.showRows();
  REQUIRE(stage.sends.size() == 2);
  CHECK(Stage::keysOf(stage.sends.back()) == Keys{1});
}

TEST_CASE("P8: a message is given up at the configured number of lost connections, and not one earlier") {
  PeerHealthPolicy policy;
  policy.killerThreshold = 3;
  policy.killerPatience = 10s;
  Suspects suspects;
  suspects.add(7);
  CHECK_FALSE(suspects.strike(7, policy, SteadyTime()).isKiller);
  CHECK_FALSE(suspects.strike(7, policy, SteadyTime(20s)).isKiller);
  CHECK(suspects.strike(7, policy, SteadyTime(20s)).isKiller);
}

TEST_CASE("P8: a message is given up after the configured patience, and not earlier") {
  PeerHealthPolicy policy;
  policy.killerThreshold = 2;
  policy.killerPatience = 10s;
  Suspects suspects;
  for (int strike = 0; strike < 100; ++strike) {
    CHECK_FALSE(suspects.strike(7, policy, SteadyTime(5s + strike * 100ms)).isKiller);
  }
  CHECK(suspects.strike(7, policy, SteadyTime(15s)).isKiller);
}

TEST_CASE("P8: a threshold of 0 takes no message for a killer, which still backs off while others are answered") {
  MachineOptions options;
  options.peerHealth.killerThreshold = 0;
  for (const bool isUnordered : {false, true}) {
    CAPTURE(isUnordered);
    Outage stage(1, options);
    isUnordered ? stage.storeUnordered() : stage.store(1);
    stage.showRows();
    const SteadyTime began = stage.now.steady;
    int losses = 0;
    while (stage.now.steady - began < 24h) {
      if (stage.sends.empty()) {
        REQUIRE(stage.advanceToWake());
      } else if (stage.onlySend() == Keys{1}) {
        ++losses;
        stage.failRequest(connectionLost);
        stage.enqueue(2);
      } else {
        stage.ackAll();
      }
    }
    CHECK((stage.state(1) == MessageState::pending || stage.state(1) == MessageState::sending));
    CHECK(stage.charges() == 0);
    // Every 30 s on average, not as fast as the peer breaks.
    CHECK(losses < 24 * 60 * 3);
    CHECK(losses > 24 * 60);
  }
}

TEST_CASE("P3: of a request that is rejected as a whole, the frame at fault is closed in on and given up alone") {
  Outage stage(2);
  constexpr MessageKey kBad = 37;
  stage.enqueueTogether(60, 1);
  stage.enqueueTogether(60, 2);
  std::size_t rejected = 0;
  for (int turn = 0; turn < 300 && !stage.sends.empty(); ++turn) {
    const Keys keys = Stage::keysOf(stage.sends.front());
    if (std::find(keys.begin(), keys.end(), kBad) != keys.end()) {
      ++rejected;
      stage.failRequest(requestRejected);
    } else {
      stage.ackAll();
    }
  }
  for (const auto& [rowKey, row] : stage.rows) {
    const delivery::MessageKey key = rowKey;
    CAPTURE(key);
    CHECK((row.state == (key == kBad ? MessageState::failed : MessageState::acked)));
  }
  CHECK(stage.rows.at(kBad).reason == "rejected-request");
  CHECK(stage.charges() == 0);
  CHECK(rejected < 40);
  CHECK(stage.records.empty());
}

TEST_CASE("P8: a rejected batch gets smaller until it is taken, however often other sessions are answered meanwhile") {
  for (const bool isUnordered : {false, true}) {
    CAPTURE(isUnordered);
    Outage stage(2);
    constexpr MessageKey kBad = 1;
    for (int count = 0; count < 64; ++count) {
      isUnordered ? stage.storeUnordered() : stage.store(1);
    }
    stage.showRows();
    std::vector<std::size_t> rejected;
    SessionKey other = 2;
    while (stage.state(kBad) != MessageState::failed && rejected.size() < 20) {
      // Their answers double what the peer is sent at once.
      for (int answers = 0; answers < 3; ++answers) {
        stage.enqueueTogether(1, other++);
        const Keys keys = Stage::keysOf(stage.sends.front());
        if (std::ranges::find(keys, kBad) == keys.end()) {
          stage.ackAll();
        } else {
          rejected.push_back(keys.size());
          stage.failRequest(requestRejected);
          break;
        }
      }
    }
    CHECK(stage.rows.at(kBad).reason == "rejected-request");
    CHECK(rejected.size() <= 8);
    CHECK(std::ranges::adjacent_find(rejected, std::less_equal()) == rejected.end());
    CHECK(stage.records.empty());
  }
}

TEST_CASE(
    "row 16: what was in a rejected request goes in half the company, though a larger one is answered meanwhile") {
  for (const bool isUnordered : {false, true}) {
    CAPTURE(isUnordered);
    Outage stage;
    for (int count = 0; count < 8; ++count) {
      isUnordered ? stage.storeUnordered() : stage.store(1);
    }
    stage.showRows();
    CHECK(stage.onlySend().size() == 8);
    stage.enqueueTogether(4, 2);
    stage.failRequest(requestRejected);
    CHECK(stage.onlySend() == Keys{9, 10, 11, 12});
    stage.ackAll();
    CHECK(stage.onlySend() == Keys{1, 2, 3, 4});
  }
}

TEST_CASE("A peer's batches are halved by a rejection and doubled by an answer") {
  Outage stage;
  stage.enqueueTogether(100, 1);
  stage.failRequest(requestRejected);
  CHECK(stage.onlySend().size() == 50);
  stage.failRequest(requestRejected);
  CHECK(stage.onlySend().size() == 25);
  stage.ackAll();
  CHECK(stage.onlySend().size() == 50);
}

}  // namespace
}  // namespace ackbox::delivery::outage_test
