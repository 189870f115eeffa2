// Goal: who goes next and with what: turns, batches, limits, and what a claim may find (P3, P4).
// Method: short conversations between machine, store and peer on the stage; every rule is a case.

#include <doctest/doctest.h>

#include <set>

#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::claiming_test {
namespace {

using Keys = std::vector<MessageKey>;

struct Claiming : Stage {
  explicit Claiming(MachineOptions machineOptions = {}, std::uint32_t maxRequests = 1)
      : Stage(std::move(machineOptions)) {
    machine->peerAdded(kPeer, maxRequests);
  }
};

/// What of five messages goes once the peer has granted this credit in its answer to one before them.
Keys sentWithinCredit(std::uint32_t frames, std::uint64_t bytes) {
  Claiming stage;
  stage.enqueue(1);
  for (int count = 0; count < 5; ++count) {
    stage.enqueue(1);
  }
  SendReport report;
  report.outcome = RequestOutcome::answered;
  report.results = {Stage::result(Outcome::ack)};
  report.creditFrames = frames;
  report.creditBytes = bytes;
  stage.report(report);
  return stage.onlySend();
}

MachineOptions batchesOf(std::uint32_t frames) {
  MachineOptions options;
  options.batchFrames = frames;
  return options;
}

TEST_CASE("A lone message goes at once") {
  Claiming stage;
  const MessageKey key = stage.enqueue(1);
  CHECK(stage.onlySend() == Keys{key});
}

TEST_CASE("What gathers while a request is under way goes in one batch over many sessions") {
  Claiming stage;
  stage.enqueue(1);
  for (const SessionKey session : {1, 2, 3, 1, 2}) {
    stage.enqueue(session);
  }
  stage.ackAll();
  // A session's frames are adjacent and in order.
  CHECK(stage.onlySend() == Keys{3, 6, 4, 2, 5});
}

TEST_CASE("P4: a session has one request under way, however many its peer allows") {
  Claiming stage({}, 4);
  stage.enqueue(1);
  stage.enqueue(1);
  CHECK(stage.onlySend() == Keys{1});
  stage.enqueue(2);
  CHECK(stage.sends.size() == 2);
}

TEST_CASE("A peer has no more requests under way than it allows") {
  Claiming stage({}, 2);
  for (SessionKey session = 1; session <= 5; ++session) {
    stage.enqueue(session);
  }
  CHECK(stage.sends.size() == 2);
  CHECK(stage.machine->peer(kPeer)->requestsInFlight == 2);
  CHECK(stage.machine->peer(kPeer)->readySessions == 3);
}

TEST_CASE("Sessions take turns") {
  Claiming stage(batchesOf(2));
  for (int count = 0; count < 5; ++count) {
    stage.store(1);
  }
  stage.store(2);
  stage.showRows();
  CHECK(stage.onlySend() == Keys{1, 2});
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{6, 3});
}

TEST_CASE("The peer's credit bounds a batch in frames and in bytes") {
  // Room for two frames of 100 bytes with what surrounds them on the wire.
  CHECK(sentWithinCredit(3, 4'000) == Keys{2, 3});
}

TEST_CASE("The peer's credit of frames bounds a batch for which there are bytes enough") {
  CHECK(sentWithinCredit(3, 1'000'000) == Keys{2, 3, 4});
}

TEST_CASE("P4: a small row does not pass a large one for which the batch had no room") {
  MachineOptions options;
  options.batchBytes = 4'000;
  Claiming stage(options);
  stage.store(1);
  const MessageKey large = stage.store(1);
  stage.rows.at(large).dataBytes = 10'000;
  stage.store(1);
  stage.showRows();
  CHECK(stage.onlySend() == Keys{1});
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{large});
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{3});
}

TEST_CASE("Rows beyond the batch's bytes are released, but a first row always goes") {
  MachineOptions options;
  options.batchBytes = 2'000;
  Claiming stage(options);
  const MessageKey large = stage.store(1);
  stage.rows.at(large).dataBytes = 10'000;
  stage.store(1);
  stage.store(1);
  stage.showRows();
  CHECK(stage.onlySend() == Keys{large});
  CHECK((stage.state(2) == MessageState::pending));
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{2});
}

TEST_CASE("P3: an expired row fails with its reason and is not sent") {
  Claiming stage;
  const MessageKey dead = stage.store(1);
  stage.rows.at(dead).expiresAt = stage.now.wall;
  const MessageKey alive = stage.store(1);
  stage.showRows();
  CHECK(stage.rows.at(dead).reason == "expired");
  CHECK(stage.onlySend() == Keys{alive});
  // The predecessor skips what was never sent.
  CHECK(stage.sends.front().items.front().previousSequence == 0);
}

TEST_CASE("P3: a row past the horizon fails with its reason, and the next request is claimed at once") {
  MachineOptions options;
  options.horizonGrace = 0ms;
  Claiming stage(options);
  const MessageKey old = stage.store(1);
  stage.rows.at(old).enqueuedAt = stage.now.wall - stage.options.retry.horizon;
  stage.showRows();
  CHECK(stage.rows.at(old).reason == "horizon");
  CHECK(stage.sends.empty());
  CHECK(stage.machine->requestsInFlight() == 0);
  stage.enqueue(1);
  CHECK(stage.onlySend() == Keys{2});
}

TEST_CASE("A frame names the predecessor that the sender stands by") {
  Claiming stage;
  for (int count = 0; count < 3; ++count) {
    stage.store(1);
  }
  stage.showRows();
  CHECK(stage.sends.front().items[0].previousSequence == 0);
  CHECK(stage.sends.front().items[1].previousSequence == 1);
  CHECK(stage.sends.front().items[2].previousSequence == 2);
  stage.answer({Stage::result(Outcome::ack), Stage::result(Outcome::term), Stage::held()});
  CHECK(stage.sessions.at(1).previousSequence == 1);
  CHECK(stage.onlySend() == Keys{3});
  CHECK(stage.sends.front().items[0].previousSequence == 1);
}

TEST_CASE("A release names the message that its session goes on with, and none where nothing waits") {
  Claiming stage;
  stage.store(1);
  const MessageKey second = stage.store(1);
  stage.showRows();
  stage.answer({Stage::result(Outcome::ack), Stage::result(Outcome::nack)});
  REQUIRE(stage.releases.size() == 1);
  CHECK(stage.releases[0].head == second);
  stage.ackEventually(second);
  REQUIRE(stage.releases.size() == 2);
  CHECK(stage.releases[1].head == 0);
}

TEST_CASE("A session that another process holds is asked for again after the shared poll interval") {
  Claiming stage;
  stage.claimStatus[1] = ClaimStatus::busy;
  stage.enqueue(1);
  CHECK(stage.sends.empty());
  CHECK((stage.machine->nextWake() == stage.now.steady + stage.options.sharedPollInterval));
  stage.claimStatus.clear();
  stage.advance(19ms);
  CHECK(stage.sends.empty());
  stage.advance(1ms);
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("A session that another process put in backoff waits for its due time") {
  Claiming stage;
  stage.claimStatus[1] = ClaimStatus::notDue;
  stage.enqueue(1);
  CHECK((stage.machine->nextWake() == stage.now.steady + 100ms));
  stage.claimStatus.clear();
  stage.advance(100ms);
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("Rows that are gone are dropped, and rows that are deferred already are watched") {
  Claiming stage;
  stage.store(1);
  stage.store(1);
  stage.store(1);
  stage.rows.erase(1);
  stage.rows.at(2).state = MessageState::sent;
  stage.rows.at(2).dueAt = stage.now.wall + 5s;
  stage.showRows();
  CHECK(stage.onlySend() == Keys{3});
  stage.ackAll();
  stage.advance(5s);
  CHECK(stage.onlySend() == Keys{2});
}

TEST_CASE("Rows behind the last one that the claim returned are asked for again") {
  Claiming stage;
  stage.holdClaims = true;
  stage.store(1);
  stage.store(1);
  stage.showRows();
  std::vector<SessionClaim> reached = *stage.pendingClaims.front().sessions;
  reached.front().keys.pop_back();
  stage.pendingClaims.front().sessions = std::make_shared<const std::vector<SessionClaim>>(std::move(reached));
  stage.holdClaims = false;
  stage.perform({});
  CHECK(stage.onlySend() == Keys{1});
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{2});
}

TEST_CASE("A claim that found messages gone names more the next time, and takes no more than it may") {
  Claiming stage(batchesOf(2));
  for (int row = 0; row < 12; ++row) {
    stage.store(1);
  }
  stage.store(2);
  for (MessageKey key = 1; key <= 4; ++key) {
    stage.rows.erase(key);
  }
  stage.holdClaims = true;
  stage.showRows();
  const auto named = [&] {
    REQUIRE(stage.pendingClaims.size() == 1);
    CHECK(stage.pendingClaims.front().framesMax == 2);
    Keys keys;
    for (const SessionClaim& claim : *stage.pendingClaims.front().sessions) {
      keys.insert(keys.end(), claim.keys.begin(), claim.keys.end());
    }
    return keys;
  };
  CHECK(named() == Keys{1, 2});
  stage.answerClaim();
  // Session 2 has its turn, and there is room for one more.
  CHECK(named() == Keys{13, 3, 4, 5, 6, 7});
  stage.answerClaim();
  CHECK(stage.onlySend() == Keys{13, 5});
  stage.ackAll();
  // Two were gone and two were found.
  CHECK(named() == Keys{6, 7, 8, 9, 10, 11, 12});
  stage.holdClaims = false;
  stage.perform({});
  for (const MessageKey first : {6, 8, 10}) {
    CHECK(stage.onlySend() == Keys{first, first + 1});
    stage.ackAll();
  }
  CHECK(stage.onlySend() == Keys{12});
  CHECK(stage.rows.at(12).attempt == 1);
}

TEST_CASE("A claim that names more unordered messages than it may take leaves the others where they were") {
  Claiming stage(batchesOf(2));
  for (int row = 0; row < 9; ++row) {
    stage.storeUnordered();
  }
  for (const MessageKey key : {1, 2, 4}) {
    stage.rows.at(key).state = MessageState::acked;
  }
  stage.showRows();
  for (const Keys& keys : {Keys{3, 5}, Keys{6, 7}, Keys{8, 9}}) {
    CHECK(stage.onlySend() == keys);
    stage.ackAll();
  }
  CHECK(stage.sends.empty());
  CHECK_FALSE(stage.machine->nextWake());
}

TEST_CASE("Where another process holds a session, the machine goes on anywhere among the others, and leaves none out") {
  std::set<MessageKey> gone;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Stage stage(batchesOf(1), seed);
    stage.machine->peerAdded(kPeer, 1);
    for (SessionKey session = 1; session <= 30; ++session) {
      stage.store(session);
    }
    stage.claimStatus[1] = ClaimStatus::busy;
    stage.showRows();
    gone.insert(stage.onlySend().front());
    stage.claimStatus.clear();
    for (MessageKey key = 1; key <= 30; ++key) {
      stage.ackEventually(key);
    }
  }
  CHECK(gone.size() > 5);
  CHECK_FALSE(gone.contains(1));
}

TEST_CASE("A claim that failed gives everything back and pauses the peer") {
  Claiming stage;
  stage.holdClaims = true;
  stage.enqueue(1);
  REQUIRE(stage.pendingClaims.size() == 1);
  Actions actions;
  stage.machine->claimFailed(stage.pendingClaims.front().request, 50ms, stage.now, actions);
  stage.pendingClaims.clear();
  CHECK(actions.empty());
  stage.holdClaims = false;
  stage.enqueue(2);
  CHECK(stage.sends.empty());
  CHECK((stage.machine->nextWake() == stage.now.steady + 50ms));
  stage.advance(50ms);
  CHECK(stage.onlySend() == Keys{1, 2});
}

TEST_CASE("Sessions of a peer that was never added stay parked until it is") {
  Stage stage;
  stage.enqueue(1);
  CHECK_FALSE(stage.machine->nextWake());
  stage.machine->peerAdded(kPeer, 1);
  CHECK(stage.machine->nextWake());
  stage.tick();
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("With claiming off nothing is claimed; a tick after turning it on goes on") {
  Claiming stage;
  stage.machine->setClaiming(false);
  stage.enqueue(1);
  stage.tick();
  CHECK(stage.sends.empty());
  CHECK_FALSE(stage.machine->nextWake());
  stage.machine->setClaiming(true);
  stage.tick();
  CHECK(stage.onlySend() == Keys{1});
}

TEST_CASE("A message that was settled from outside is forgotten wherever it waits") {
  Claiming stage;
  stage.enqueue(1);
  stage.enqueue(1);
  stage.enqueue(2);
  stage.machine->forget(1, 2);
  stage.machine->forget(9, 9);
  stage.ackAll();
  CHECK(stage.onlySend() == Keys{3});
}

TEST_CASE("A row seen twice is ignored, whether it waits, is in flight or is deferred") {
  Claiming stage;
  stage.enqueue(1);
  stage.enqueue(1);
  const auto again = [&stage] {
    for (const MessageKey key : {1, 2}) {
      stage.newRows.push_back({.key = key, .session = 1, .state = MessageState::pending, .dueAt = {}});
    }
    stage.showRows();
  };
  again();
  CHECK(stage.onlySend() == Keys{1});
  stage.answer({Stage::result(Outcome::defer)});
  again();
  CHECK(stage.onlySend() == Keys{2});
  stage.ackAll();
  CHECK(stage.sends.empty());
}

TEST_CASE("An answer for an unknown request, or a second one, is ignored") {
  Claiming stage;
  stage.enqueue(1);
  const RequestId request = stage.sends.front().request;
  Actions actions;
  stage.machine->claimed(77, {}, stage.ownEpoch, stage.now, actions);
  stage.machine->claimed(request, {}, stage.ownEpoch, stage.now, actions);
  stage.machine->claimFailed(request, 1s, stage.now, actions);
  stage.machine->answered(77, {}, stage.now, actions);
  CHECK(actions.empty());
  stage.ackAll();
  stage.machine->answered(request, {}, stage.now, actions);
  CHECK(actions.empty());
}

TEST_CASE("Rows and a session found at the start keep their backoff and their ACK deadline") {
  Claiming stage;
  stage.store(1);
  stage.store(2);
  stage.newSessions.front().dueAt = stage.now.wall + 3s;
  stage.rows.at(2).state = MessageState::sent;
  stage.newRows.back().state = MessageState::sent;
  stage.newRows.back().dueAt = stage.now.wall + 5s;
  stage.showRows();
  CHECK(stage.sends.empty());
  stage.advance(3s);
  CHECK(stage.onlySend() == Keys{1});
  stage.ackAll();
  stage.advance(2s);
  CHECK(stage.onlySend() == Keys{2});
  CHECK(stage.rows.at(2).retryCount == 0);
}

TEST_CASE("P11: a claim that is full gives the rest back, and all of it goes in its order in further requests") {
  MachineOptions options;
  options.batchBytes = 10'000;
  Stage stage(options);
  stage.cutsClaims = true;
  stage.machine->peerAdded(kPeer, 1);
  for (SessionKey session = 1; session <= 5; ++session) {
    for (int row = 0; row < 4; ++row) {
      stage.rows.at(stage.store(session)).dataBytes = 3'000;
    }
    const MessageKey unorderedQueue = stage.storeUnordered();
    stage.rows.at(unorderedQueue).dataBytes = 20'000;
  }
  stage.showRows();
  std::map<SessionKey, MessageKey> last;
  while (!stage.sends.empty() || stage.advanceToWake()) {
    if (stage.sends.empty()) {
      continue;
    }
    std::uint64_t bytes = 0;
    for (const MessageKey key : stage.onlySend()) {
      const StoredRow& row = stage.rows.at(key);
      bytes += wireBytes(row.dataBytes);
      CHECK(last[row.session] < key);
      last[row.session] = key;
    }
    CHECK((bytes <= options.batchBytes || stage.onlySend().size() == 1));
    stage.ackAll();
  }
  for (const auto& [key, row] : stage.rows) {
    CHECK((row.state == MessageState::acked));
    // Nothing was claimed only to be given back.
    CHECK(row.attempt == 1);
  }
}

TEST_CASE("P11: a claim that there was not the memory for is asked for in halves, which grow again with each answer") {
  Stage stage;
  stage.holdClaims = true;
  stage.machine->peerAdded(kPeer, 8);
  for (int row = 0; row < 64; ++row) {
    stage.store(1);
  }
  stage.showRows();
  std::size_t expected = 64;
  for (int failure = 0; failure < 10; ++failure) {
    REQUIRE(stage.pendingClaims.size() == 1);
    const Actions::Claim made = stage.pendingClaims.front();
    CHECK(made.sessions->front().keys.size() == expected);
    expected = std::max<std::size_t>(expected / 2, 1);
    stage.pendingClaims.pop_front();
    Actions actions;
    stage.machine->claimFailed(made.request, 250ms, stage.now, actions, true);
    stage.perform(std::move(actions));
    stage.advance(250ms);
  }
  stage.holdClaims = false;
  stage.perform({});
  for (const std::size_t frames : {1U, 2U, 4U, 8U, 16U, 32U}) {
    CHECK(stage.onlySend().size() == frames);
    stage.ackAll();
  }
}

}  // namespace
}  // namespace ackbox::delivery::claiming_test
