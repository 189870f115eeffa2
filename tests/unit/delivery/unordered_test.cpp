// Goal: an unordered message is a unit of its own: nothing waits for it and it waits for nothing; a delayed one goes in
// time, whatever the calendar does.
// Method: a stage with several requests; requests are answered in any order.

#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::unordered_test {
namespace {

struct Parallel : Stage {
  explicit Parallel(std::uint32_t frames = 1) : Stage(withFrames(frames)) { machine->peerAdded(kPeer, 4); }
  static MachineOptions withFrames(std::uint32_t frames) {
    MachineOptions options;
    options.batchFrames = frames;
    options.retry.delays = {1s};
    options.retry.jitter = false;
    return options;
  }
};

TEST_CASE("row 16: unordered messages go in parallel, and name no predecessor") {
  Parallel stage;
  for (int count = 0; count < 6; ++count) {
    stage.storeUnordered();
  }
  stage.showRows();
  REQUIRE(stage.sends.size() == 4);
  for (const Actions::Send& send : stage.sends) {
    CHECK(send.items.size() == 1);
    CHECK(send.items.front().previousSequence == 0);
  }
  std::swap(stage.sends[0], stage.sends[3]);
  stage.ackAll();
  CHECK(stage.state(4) == MessageState::acked);
  CHECK(stage.sends.back().items.front().key == 5);
}

TEST_CASE("row 16: one that has to wait holds up no other, and is tried again in time") {
  Parallel stage(3);
  for (int count = 0; count < 3; ++count) {
    stage.storeUnordered();
  }
  stage.showRows();
  stage.answer({Stage::result(Outcome::ack), Stage::result(Outcome::nack), Stage::result(Outcome::ack)});
  CHECK(stage.state(1) == MessageState::acked);
  CHECK(stage.state(2) == MessageState::pending);
  CHECK(stage.state(3) == MessageState::acked);
  CHECK(stage.sends.empty());
  stage.storeUnordered();
  stage.showRows();
  CHECK(stage.onlySend() == std::vector<MessageKey>{4});
  stage.ackAll();
  stage.advance(1s);
  CHECK(stage.onlySend() == std::vector<MessageKey>{2});
  stage.ackAll();
  CHECK_FALSE(stage.machine->nextWake());
}

TEST_CASE("row 16: a deferred one is sent again at its deadline, and forgotten when it is acknowledged") {
  Parallel stage(2);
  stage.storeUnordered();
  stage.storeUnordered();
  stage.showRows();
  stage.answer({Stage::result(Outcome::defer), Stage::result(Outcome::defer)});
  stage.rows.at(1).state = MessageState::acked;
  stage.machine->forget(stage.rows.at(1).session, 1);
  stage.advance(60s);
  CHECK(stage.onlySend() == std::vector<MessageKey>{2});
}

TEST_CASE("row 16: an outage gives unordered messages back uncharged, and a suspect among them goes alone") {
  Parallel stage(4);
  stage.options.peerHealth.killerThreshold = 2;
  for (int count = 0; count < 3; ++count) {
    stage.storeUnordered();
  }
  stage.showRows();
  for (int loss = 0; loss < 5; ++loss) {
    stage.failRequest(RequestOutcome::connectionLost);
    stage.advanceToWake();
  }
  CHECK(stage.sends.size() == 1);
  stage.failRequest(RequestOutcome::connectionLost);
  for (MessageKey key = 1; key <= 3; ++key) {
    CHECK(stage.state(key) != MessageState::failed);
    CHECK(stage.rows.at(key).retryCount == 0);
  }
  std::vector<MessageKey> sent;
  while (stage.advanceToWake() || !stage.sends.empty()) {
    while (!stage.sends.empty()) {
      CHECK(stage.sends.size() == 1);
      CHECK(stage.sends.front().items.size() == 1);
      sent.push_back(stage.sends.front().items.front().key);
      stage.ackAll();
    }
  }
  CHECK(sent.size() == 3);
}

TEST_CASE("row 16: one that another process is sending is asked for again, the others are not held up") {
  Parallel stage(8);
  const MessageKey taken = stage.storeUnordered(kPeer, 4);
  const MessageKey free = stage.storeUnordered(kPeer, 5);
  stage.claimStatus[stage.rows.at(taken).session] = ClaimStatus::busy;
  stage.showRows();
  CHECK(stage.onlySend() == std::vector<MessageKey>{free});
  stage.ackAll();
  stage.claimStatus.clear();
  stage.advance(20ms);
  CHECK(stage.onlySend() == std::vector<MessageKey>{taken});
}

TEST_CASE("row 16: a refused request is closed in on the unordered frame that cannot be read") {
  Parallel stage(8);
  for (int count = 0; count < 8; ++count) {
    stage.storeUnordered();
  }
  stage.showRows();
  for (int turn = 0; turn < 40 && !stage.sends.empty(); ++turn) {
    const std::vector<MessageKey> keys = Stage::keysOf(stage.sends.front());
    if (std::find(keys.begin(), keys.end(), 5) != keys.end()) {
      stage.failRequest(RequestOutcome::requestRejected);
    } else {
      stage.ackAll();
    }
  }
  for (MessageKey key = 1; key <= 8; ++key) {
    CHECK(stage.state(key) == (key == 5 ? MessageState::failed : MessageState::acked));
  }
}

TEST_CASE("a delayed head lets its session wait, and goes when it is due") {
  Parallel stage(8);
  const MessageKey head = stage.store(1, kPeer, 4, stage.now.wall + 10s);
  const MessageKey behind = stage.store(1);
  const MessageKey other = stage.store(2);
  stage.showRows();
  CHECK(stage.onlySend() == std::vector<MessageKey>{other});
  stage.ackAll();
  stage.advance(9'999ms);
  CHECK(stage.sends.empty());
  stage.advance(1ms);
  CHECK(stage.onlySend() == std::vector<MessageKey>{head, behind});
}

TEST_CASE("what stands before a delayed message in its session is not held up by it") {
  Parallel stage(8);
  const MessageKey head = stage.store(1);
  const MessageKey delayed = stage.store(1, kPeer, 4, stage.now.wall + 10s);
  stage.showRows();
  CHECK(stage.onlySend() == std::vector<MessageKey>{head});
  stage.ackAll();
  CHECK(stage.sends.empty());
  stage.advance(10s);
  CHECK(stage.onlySend() == std::vector<MessageKey>{delayed});
}

TEST_CASE("a delay of days is looked at every hour, so that a calendar set on is noticed") {
  Parallel stage;
  stage.store(1, kPeer, 4, stage.now.wall + 72h);
  stage.storeUnordered(kPeer, 4, stage.now.wall + 72h);
  stage.showRows();
  CHECK(stage.sends.empty());
  stage.now.wall += 71h;
  stage.advance(1h);
  CHECK(stage.sends.size() == 2);
}

TEST_CASE("P9: delayed unordered messages are not asked for before their time") {
  Parallel stage(100);
  for (int count = 0; count < 1'000; ++count) {
    stage.storeUnordered(kPeer, 4, stage.now.wall + 30s);
  }
  stage.showRows();
  CHECK(stage.claimsMade == 0);
  stage.advance(30s);
  CHECK(stage.sends.size() == 4);
}

TEST_CASE("P13: what is put back goes at once, ordered or not, deferred or waiting by the word of another process") {
  Parallel stage(1);
  bool isUnordered = false;
  SUBCASE("in a session") {}
  SUBCASE("in none") {
    isUnordered = true;
  }
  const MessageKey key = isUnordered ? stage.storeUnordered() : stage.store(1);
  const auto putBack = [&] {
    stage.rows.at(key).state = MessageState::pending;
    stage.rows.at(key).dueAt = {};
    stage.newRows.push_back(
        {.key = key, .session = stage.rows.at(key).session, .state = MessageState::pending, .dueAt = {}});
    stage.showRows();
  };
  stage.showRows();
  stage.answer({Stage::result(Outcome::defer)});
  putBack();
  CHECK(stage.onlySend() == std::vector<MessageKey>{key});
  stage.answer({Stage::result(Outcome::defer)});
  // Its first deadline has been given up with the first deferral.
  stage.advance(59s);
  CHECK(stage.sends.empty());
  putBack();
  stage.ackAll();
  CHECK(stage.state(key) == MessageState::acked);
  CHECK_FALSE(stage.machine->nextWake());
}

TEST_CASE("P13: an unordered message that waits does so no longer than the file says when it is seen again") {
  Parallel stage(1);
  const MessageKey key = stage.storeUnordered(kPeer, kPriorityDefault, stage.now.wall + 30s);
  stage.showRows();
  CHECK(stage.sends.empty());
  stage.rows.at(key).dueAt = {};
  stage.newRows.push_back(
      {.key = key, .session = stage.rows.at(key).session, .state = MessageState::pending, .dueAt = {}});
  stage.showRows();
  CHECK(stage.onlySend() == std::vector<MessageKey>{key});
  stage.ackAll();
  stage.advance(30s);
  CHECK(stage.sends.empty());
}

}  // namespace
}  // namespace ackbox::delivery::unordered_test
