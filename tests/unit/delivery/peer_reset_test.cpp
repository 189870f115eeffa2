// Goal: what an answer shows of the peer's memory, or of ours, is acted on once, and only on evidence: what an older
// answer, another process's opening or a power cut explains raises nothing.
// Method: the stage's machine; answers with a store's identity and words on sessions, as a sender reports them.

#include <doctest/doctest.h>
#include <algorithm>

#include "stage.hpp"

namespace ackbox::delivery::peer_reset_test {
namespace {

struct Memory : Stage {
  explicit Memory(std::uint32_t requests = 4) {
    machine->peerAdded(kPeer, requests);
    machine->peerKnown(kPeer, "one", 7);
  }
  SendReport acks(std::size_t frames, std::string store, std::uint64_t epoch = 7) {
    SendReport made;
    made.outcome = RequestOutcome::answered;
    made.results.assign(frames, result(Outcome::ack));
    made.store = std::move(store);
    made.storeEpoch = epoch;
    return made;
  }
  /// Answers the oldest send; what it showed.
  std::vector<PeerIdentity> answer(SendReport made) {
    REQUIRE_FALSE(sends.empty());
    const Actions::Send send = std::move(sends.front());
    sends.pop_front();
    Actions actions;
    machine->answered(send.request, made, now, actions);
    std::vector<PeerIdentity> shown = actions.identities;
    perform(std::move(actions));
    return shown;
  }
  /// What the store does with what a peer has deferred and forgotten: it tells the row anew, as waiting.
  void putBack(MessageKey key) {
    rows.at(key).state = MessageState::pending;
    newRows.push_back({.key = key, .session = rows.at(key).session, .state = MessageState::pending, .dueAt = {}});
    showRows();
  }
  bool isDown() { return machine->peer(kPeer)->down; }
};

TEST_CASE("A peer that says who it is, as it did before, changes nothing; opened again, it is noted") {
  Memory stage;
  stage.enqueue(1);
  CHECK(stage.answer(stage.acks(1, "one")).empty());
  stage.enqueue(1);
  CHECK(stage.answer(stage.acks(1, "")).empty());
  stage.enqueue(1);
  const auto shown = stage.answer(stage.acks(1, "one", 8));
  REQUIRE(shown.size() == 1);
  CHECK_FALSE(shown[0].found);
  CHECK(shown[0].storeEpoch == 8);
  // An answer from before that, come late.
  stage.enqueue(1);
  CHECK(stage.answer(stage.acks(1, "one", 7)).empty());
}

TEST_CASE(
    "P3: what an answer settles that has itself shown a reset counts after it; other answers say nothing of that") {
  Memory stage;
  stage.enqueue(1);
  stage.enqueue(2);
  REQUIRE(stage.sends.size() == 2);
  CHECK(stage.answer(stage.acks(1, "one")).empty());
  CHECK_FALSE(stage.settled.back().isAfterReset);
  REQUIRE(stage.answer(stage.acks(1, "two", 1)).size() == 1);
  CHECK(stage.settled.back().isAfterReset);
  CHECK(stage.releases.back().isAfterReset);
  stage.enqueue(1);
  stage.answer(stage.acks(1, "two", 1));
  CHECK_FALSE(stage.settled.back().isAfterReset);
  // Only opened again: nothing was reset.
  stage.enqueue(1);
  CHECK(stage.answer(stage.acks(1, "two", 2)).size() == 1);
  CHECK_FALSE(stage.settled.back().isAfterReset);
  // In a session the peer has less than it had.
  stage.enqueue(1);
  SendReport less = stage.acks(1, "two", 2);
  less.sessions.push_back({.firstFrame = 0, .accepted = 0});
  REQUIRE(stage.answer(less).size() == 1);
  CHECK(stage.settled.back().isAfterReset);
}

TEST_CASE("P4: another store is told once, and what the old one had deferred goes first") {
  Memory stage(1);
  const MessageKey first = stage.enqueue(1);
  SendReport defer = stage.acks(1, "one");
  defer.results[0].outcome = Outcome::defer;
  CHECK(stage.answer(defer).empty());
  CHECK(stage.state(first) == MessageState::sent);
  const MessageKey second = stage.enqueue(1);
  SendReport refused = stage.acks(1, "two", 1);
  refused.results[0] = Stage::result(Outcome::nack, "out-of-sequence");
  refused.sessions.push_back({.firstFrame = 0, .accepted = 0});
  // As long as the machine has not been told what was put back.
  stage.claimStatus[1] = ClaimStatus::busy;
  const auto shown = stage.answer(refused);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].found == PeerResetKind::peerLost);
  CHECK(shown[0].store == "two");
  CHECK(stage.releases.back().previousSequence == 0);
  stage.putBack(first);
  stage.claimStatus.clear();
  REQUIRE(stage.advanceToWake());
  CHECK(stage.onlySend() == std::vector<MessageKey>{first, second});
  CHECK(stage.rows.at(second).retryCount == 0);
}

TEST_CASE(
    "P3: an answer that the old store gave, read after one of the new, settles nothing and changes nothing back") {
  Memory stage;
  const MessageKey first = stage.enqueue(1);
  stage.enqueue(2);
  REQUIRE(stage.sends.size() == 2);
  // The second request is answered first.
  std::swap(stage.sends[0], stage.sends[1]);
  CHECK(stage.answer(stage.acks(1, "two", 1)).size() == 1);
  CHECK(stage.answer(stage.acks(1, "one", 7)).empty());
  // It is on its way to the new one.
  CHECK(stage.state(first) == MessageState::sending);
  CHECK(stage.rows.at(first).retryCount == 0);
  stage.enqueue(1);
  CHECK(stage.answer(stage.acks(1, "two", 1)).empty());
}

TEST_CASE("P4: a peer with less than it had is told with both numbers, and the session goes on from its own") {
  Memory stage(1);
  for (int count = 0; count < 3; ++count) {
    stage.enqueue(1);
    CHECK(stage.answer(stage.acks(1, "one")).empty());
  }
  const MessageKey fourth = stage.enqueue(1);
  SendReport refused = stage.acks(1, "one");
  refused.results[0] = Stage::result(Outcome::nack, "out-of-sequence");
  refused.sessions.push_back({.firstFrame = 0, .accepted = 1});
  const auto shown = stage.answer(refused);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].found == PeerResetKind::peerRestored);
  CHECK(shown[0].session == 1);
  CHECK(shown[0].expected == 3);
  CHECK(shown[0].accepted == 1);
  CHECK(stage.sends.front().items.front().previousSequence == 1);
  CHECK(stage.state(fourth) == MessageState::sending);
  CHECK(stage.rows.at(fourth).retryCount == 0);
  CHECK_FALSE(stage.isDown());
}

TEST_CASE(
    "P3: that a peer went back is fresh where a session had spoken since the last time, and is reported as such") {
  Memory stage(1);
  const auto deliver = [&stage](SessionKey session) {
    stage.enqueue(session);
    SendReport taken = stage.acks(1, "one");
    const std::uint64_t sequence = stage.rows.at(stage.sends.front().items.front().key).sequence;
    taken.sessions.push_back({.firstFrame = 0, .accepted = sequence});
    CHECK(stage.answer(taken).empty());
  };
  const auto forgetsAll = [&stage](SessionKey session) {
    stage.enqueue(session);
    SendReport refused = stage.acks(1, "one");
    refused.results[0] = Stage::result(Outcome::nack, "out-of-sequence");
    refused.sessions.push_back({.firstFrame = 0, .accepted = 0});
    const auto shown = stage.answer(refused);
    REQUIRE(shown.size() == 1);
    REQUIRE(stage.sends.size() == 1);
    SendReport taken = stage.acks(1, "one");
    taken.sessions.push_back(
        {.firstFrame = 0, .accepted = stage.rows.at(stage.sends.front().items.front().key).sequence});
    CHECK(stage.answer(taken).empty());
    return shown[0].isFresh;
  };
  for (const SessionKey session : {1, 2, 3}) {
    deliver(session);
  }
  CHECK(forgetsAll(1));
  // The same shows in another session.
  CHECK_FALSE(forgetsAll(2));
  // It has spoken since.
  CHECK(forgetsAll(2));
  CHECK_FALSE(forgetsAll(1));
  CHECK_FALSE(forgetsAll(3));
  CHECK(forgetsAll(3));
}

TEST_CASE(
    "P8: a refusal for its sequence is charged to no message as long as the peer says that it has forgotten more") {
  Memory stage(1);
  for (int count = 0; count < 3; ++count) {
    stage.enqueue(1);
    CHECK(stage.answer(stage.acks(1, "one")).empty());
  }
  const MessageKey fourth = stage.enqueue(1);
  for (const std::uint64_t accepted : {2U, 1U}) {
    SendReport refused = stage.acks(1, "one");
    refused.results[0] = Stage::result(Outcome::nack, "out-of-sequence");
    refused.sessions.push_back({.firstFrame = 0, .accepted = accepted});
    CHECK(stage.answer(refused).size() == 1);
    CHECK(stage.rows.at(fourth).retryCount == 0);
    REQUIRE(stage.sends.size() == 1);
  }
}

TEST_CASE("P3: a number that the peer had taken for another message counts for nothing, and the peer is held") {
  Memory stage(1);
  const MessageKey first = stage.store(1);
  const MessageKey other = stage.store(2);
  stage.showRows();
  SendReport both = stage.acks(2, "one");
  both.sessions.push_back({.firstFrame = 0, .accepted = 1, .acceptedId = "x", .isOther = true});
  both.sessions.push_back({.firstFrame = 1, .accepted = 1});
  SUBCASE("told in the request's order") {}
  SUBCASE("told in another order") {
    std::ranges::reverse(both.sessions);
  }
  SUBCASE("told of that session alone") {
    both.sessions.pop_back();
  }
  const auto shown = stage.answer(both);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].found == PeerResetKind::selfRestored);
  CHECK(shown[0].session == 1);
  CHECK(stage.state(first) == MessageState::pending);
  CHECK(stage.rows.at(first).retryCount == 0);
  // The other session's answer is not in doubt.
  CHECK(stage.state(other) == MessageState::acked);
  CHECK(stage.isDown());
  CHECK(stage.records.back().hold == PeerHold::held);
  CHECK(stage.records.back().error.find("stale-epoch") == 0);
}

TEST_CASE("P3: a number that nobody remembers to have sent is asked about before anything is settled") {
  for (const bool isOurs : {true, false}) {
    CAPTURE(isOurs);
    Memory stage(1);
    stage.holdClaims = true;
    const MessageKey first = stage.enqueue(1);
    stage.answerClaim();
    SendReport beyond = stage.acks(1, "one");
    beyond.sessions.push_back({.firstFrame = 0, .accepted = 9, .acceptedId = "nine"});
    CHECK(stage.answer(beyond).empty());
    CHECK(stage.state(first) == MessageState::pending);
    REQUIRE(stage.pendingClaims.size() == 1);
    const auto doubt = stage.pendingClaims.front().sessions->front().doubt;
    REQUIRE(doubt);
    CHECK(doubt->sequence == 9);
    CHECK(doubt->id == "nine");
    if (isOurs) {
      stage.confirmed = 9;
      stage.answerClaim();
      CHECK(stage.answer(beyond).empty());
      CHECK(stage.state(first) == MessageState::acked);
      CHECK_FALSE(stage.isDown());
      stage.enqueue(1);
      CHECK_FALSE(stage.pendingClaims.front().sessions->front().doubt);
    } else {
      stage.claimStatus[1] = ClaimStatus::outdated;
      const Actions::Claim asked = stage.pendingClaims.front();
      stage.pendingClaims.pop_front();
      Actions actions;
      stage.machine->claimed(asked.request, std::vector{stage.claim(asked.sessions->front())}, stage.ownEpoch,
                             stage.now, actions);
      REQUIRE(actions.identities.size() == 1);
      CHECK(actions.identities[0].found == PeerResetKind::selfRestored);
      CHECK(actions.identities[0].accepted == 9);
      CHECK(actions.sends.empty());
      CHECK(stage.isDown());
      CHECK(stage.machine->requestsInFlight() == 0);
    }
  }
}

TEST_CASE("P3: a number that the peer's lost store has named is not asked about any more") {
  Memory stage(2);
  stage.holdClaims = true;
  stage.enqueue(1);
  stage.answerClaim();
  SendReport beyond = stage.acks(1, "one");
  beyond.sessions.push_back({.firstFrame = 0, .accepted = 9, .acceptedId = "nine"});
  CHECK(stage.answer(beyond).empty());
  REQUIRE(stage.pendingClaims.front().sessions->front().doubt);
  // Another process holds the session, so the question waits.
  stage.claimStatus[1] = ClaimStatus::busy;
  stage.answerClaim();
  stage.enqueue(2);
  stage.answerClaim();
  const std::vector<PeerIdentity> shown = stage.answer(stage.acks(1, "two"));
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].found == PeerResetKind::peerLost);
  stage.claimStatus.clear();
  while (stage.pendingClaims.empty()) {
    REQUIRE(stage.advanceToWake());
  }
  CHECK(stage.pendingClaims.front().sessions->front().session == 1);
  CHECK_FALSE(stage.pendingClaims.front().sessions->front().doubt);
}

TEST_CASE("P3: a message that is none of the request is asked about, whatever numbers the request has") {
  // The second was given up before it was sent again, and the file may have gone back: whose second does the peer have?
  Memory stage(1);
  stage.holdClaims = true;
  const MessageKey first = stage.store(1);
  const MessageKey second = stage.store(1);
  const MessageKey third = stage.store(1);
  stage.rows.erase(second);
  stage.showRows();
  stage.answerClaim();
  REQUIRE(stage.onlySend() == std::vector<MessageKey>{first, third});
  SendReport repeated = stage.acks(2, "one");
  repeated.results[0].duplicate = true;
  repeated.results[1] = Stage::held();
  repeated.sessions.push_back({.firstFrame = 0, .accepted = 2, .acceptedId = "two"});
  SUBCASE("and settles nothing before") {
    CHECK(stage.answer(repeated).empty());
    CHECK(stage.state(first) == MessageState::pending);
    REQUIRE(stage.pendingClaims.size() == 1);
    REQUIRE(stage.pendingClaims.front().sessions->front().doubt);
    CHECK(stage.pendingClaims.front().sessions->front().doubt->id == "two");
  }
  SUBCASE("unless the peer was known to have it: then what it holds behind a repetition is sent again, uncharged") {
    stage.sends.clear();
    Memory other(1);
    other.confirmed = 2;
    other.store(1);
    other.store(1);
    other.rows.erase(2);
    other.store(1);
    other.showRows();
    CHECK(other.answer(repeated).empty());
    CHECK(other.state(1) == MessageState::acked);
    CHECK(other.state(3) == MessageState::sending);
    CHECK(other.rows.at(3).retryCount == 0);
  }
  SUBCASE("unless it names no message: of a number alone no more can be known") {
    repeated.sessions[0].acceptedId.clear();
    CHECK(stage.answer(repeated).empty());
    CHECK(stage.state(first) == MessageState::acked);
  }
}

TEST_CASE("P3: a peer that knows another file stays held, whatever it answers in other sessions, and it is told once") {
  Memory stage(4);
  stage.holdClaims = true;
  const MessageKey first = stage.store(1);
  const MessageKey other = stage.store(2);
  const MessageKey another = stage.store(3);
  stage.showRows();
  stage.answerClaim();
  SendReport all = stage.acks(3, "one");
  all.sessions.push_back({.firstFrame = 0, .accepted = 9, .acceptedId = "nine"});
  CHECK(stage.answer(all).empty());
  CHECK(stage.state(other) == MessageState::acked);
  CHECK(stage.state(another) == MessageState::acked);
  stage.claimStatus[1] = ClaimStatus::outdated;
  const auto disown = [&] {
    const Actions::Claim asked = stage.pendingClaims.front();
    stage.pendingClaims.pop_front();
    Actions actions;
    stage.machine->claimed(asked.request, std::vector{stage.claim(asked.sessions->front())}, stage.ownEpoch, stage.now,
                           actions);
    std::vector<PeerIdentity> shown = actions.identities;
    stage.perform(std::move(actions));
    return shown.size();
  };
  CHECK(disown() == 1);
  CHECK(stage.isDown());
  // What the other sessions have to say counts for them alone.
  const MessageKey later = stage.enqueue(2);
  stage.claimStatus.clear();
  const auto probe = [&] {
    while (stage.pendingClaims.empty()) {
      REQUIRE(stage.advanceToWake());
    }
    stage.answerClaim();
    REQUIRE(stage.sends.size() == 1);
    return stage.onlySend().front() == first;
  };
  bool wasAsked = false;
  for (int count = 0; count < 2; ++count) {
    if (probe()) {
      // In the session itself it says the same again, and is asked about again.
      wasAsked = true;
      SendReport same = stage.acks(1, "one");
      same.sessions.push_back({.firstFrame = 0, .accepted = 9, .acceptedId = "nine"});
      CHECK(stage.answer(same).empty());
    } else {
      CHECK(stage.answer(stage.acks(1, "one")).empty());
      CHECK(stage.state(later) == MessageState::acked);
    }
    CHECK(stage.isDown());
    CHECK(stage.machine->peer(kPeer)->hold == PeerHold::held);
  }
  CHECK(wasAsked);
  CHECK(stage.state(first) == MessageState::pending);
  // Its file was put right: the message is taken.
  while (stage.isDown()) {
    while (stage.pendingClaims.empty()) {
      REQUIRE(stage.advanceToWake());
    }
    stage.confirmed = 9;
    stage.answerClaim();
    SendReport right = stage.acks(1, "one");
    right.sessions.push_back({.firstFrame = 0, .accepted = 9, .acceptedId = "nine"});
    CHECK(stage.answer(right).empty());
  }
  CHECK(stage.state(first) == MessageState::acked);
}

TEST_CASE("P4: a claim says which recalls the rows that it was decided with have taken in") {
  Memory stage(1);
  stage.holdClaims = true;
  stage.store(1);
  stage.showRows();
  CHECK(stage.pendingClaims.front().recalls == 0);
  Actions actions;
  stage.machine->rowsSeen({}, {}, stage.now, actions, 3);
  // It was decided before.
  CHECK(stage.pendingClaims.front().recalls == 0);
  stage.answerClaim();
  stage.ackAll();
  stage.store(1);
  stage.showRows();
  CHECK(stage.pendingClaims.front().recalls == 3);
}

TEST_CASE("An epoch that another process has just outdated is forgiven once; refused again, it is the file's") {
  Memory stage(1);
  const MessageKey first = stage.enqueue(1);
  SendReport stale = stage.acks(1, "one");
  stale.results[0] = Stage::result(Outcome::term, "stale-epoch");
  CHECK(stage.answer(stale).empty());
  CHECK(stage.state(first) == MessageState::sending);
  CHECK_FALSE(stage.isDown());
  SUBCASE("the next request has the newer one") {
    CHECK(stage.answer(stage.acks(1, "one")).empty());
    CHECK(stage.state(first) == MessageState::acked);
    stage.enqueue(1);
    CHECK(stage.answer(stale).empty());
    CHECK_FALSE(stage.isDown());
  }
  SUBCASE("the next request is refused as well") {
    const auto shown = stage.answer(stale);
    REQUIRE(shown.size() == 1);
    CHECK(shown[0].found == PeerResetKind::selfRestored);
    CHECK(stage.state(first) == MessageState::pending);
    CHECK(stage.rows.at(first).retryCount == 0);
    CHECK(stage.isDown());
    // Probed, refused again: not told again, until it has been answered.
    while (stage.sends.empty()) {
      REQUIRE(stage.advanceToWake());
    }
    CHECK(stage.answer(stale).empty());
    CHECK(stage.isDown());
    while (stage.sends.empty()) {
      REQUIRE(stage.advanceToWake());
    }
    CHECK(stage.answer(stage.acks(1, "one")).empty());
    CHECK_FALSE(stage.isDown());
  }
}

TEST_CASE(
    "P3: a file that other processes keep opening is not taken for a restored one, until an epoch is refused twice") {
  Memory stage(1);
  SendReport stale = stage.acks(1, "one");
  stale.results[0] = Stage::result(Outcome::term, "stale-epoch");
  const MessageKey first = stage.enqueue(1);
  for (int opened = 0; opened < 5; ++opened) {
    // The claim of the request that follows sees that the file was opened again.
    ++stage.ownEpoch;
    CHECK(stage.answer(stale).empty());
    CHECK(stage.state(first) == MessageState::sending);
    CHECK_FALSE(stage.isDown());
  }
  // Not opened again meanwhile.
  CHECK(stage.answer(stale).empty());
  const auto shown = stage.answer(stale);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].found == PeerResetKind::selfRestored);
}

TEST_CASE("P4: a row that was put back under the machine's eyes goes before what it has queued") {
  Memory stage(1);
  const MessageKey first = stage.enqueue(1);
  stage.ackAll();
  stage.rows.at(first).state = MessageState::pending;
  stage.claimStatus[1] = ClaimStatus::busy;
  const MessageKey second = stage.enqueue(1);
  stage.newRows.push_back({.key = first, .session = 1, .state = MessageState::pending, .dueAt = {}});
  stage.newRows.push_back({.key = second, .session = 1, .state = MessageState::pending, .dueAt = {}});
  stage.showRows();
  stage.claimStatus.clear();
  REQUIRE(stage.advanceToWake());
  CHECK(stage.onlySend() == std::vector<MessageKey>{first, second});
}

TEST_CASE("P4: what a lost store had deferred goes again in every session, though another one has told of the loss") {
  Memory stage(1);
  const MessageKey first = stage.enqueue(1);
  SendReport defer = stage.acks(1, "one");
  defer.results[0].outcome = Outcome::defer;
  CHECK(stage.answer(defer).empty());
  stage.enqueue(2);
  CHECK(stage.answer(stage.acks(1, "two", 1)).size() == 1);
  stage.putBack(first);
  CHECK(stage.onlySend() == std::vector<MessageKey>{first});
}

TEST_CASE("P4: a deferred row that another process has put back is queued again, before its deadline") {
  Memory stage(1);
  const MessageKey first = stage.enqueue(1);
  SendReport defer = stage.acks(1, "one");
  defer.results[0].outcome = Outcome::defer;
  CHECK(stage.answer(defer).empty());
  stage.newRows.push_back({.key = first, .session = 1, .state = MessageState::sent, .dueAt = stage.now.wall + 60s});
  stage.showRows();
  CHECK(stage.sends.empty());
  stage.rows.at(first).state = MessageState::pending;
  stage.newRows.push_back({.key = first, .session = 1, .state = MessageState::pending, .dueAt = {}});
  stage.showRows();
  CHECK(stage.onlySend() == std::vector<MessageKey>{first});
}

}  // namespace
}  // namespace ackbox::delivery::peer_reset_test
