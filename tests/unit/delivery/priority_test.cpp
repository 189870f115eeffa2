// Goal: priority chooses between a peer's sessions and never inside one, and starves none.
// Method: sessions wait behind one request of one frame, and the order of what goes next is read off.

#include "delivery/ready_queue.hpp"
#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::priority_test {
namespace {

MachineOptions oneFrame() {
  MachineOptions options;
  options.batchFrames = 1;
  return options;
}

struct OneByOne : Stage {
  OneByOne() : Stage(oneFrame()) { machine->peerAdded(kPeer, 1); }

  /// Acknowledges until nothing is under way; the messages in the order sent.
  std::vector<MessageKey> drain() {
    std::vector<MessageKey> order;
    while (!sends.empty()) {
      order.push_back(onlySend().front());
      ackAll();
    }
    return order;
  }
};

TEST_CASE("row 11: of the sessions that wait for a peer, the one of the highest priority goes first") {
  OneByOne stage;
  const MessageKey first = stage.enqueue(1);
  const MessageKey low = stage.enqueue(2);
  const MessageKey lowest = stage.store(3, kPeer, 0);
  const MessageKey high = stage.store(4, kPeer, 9);
  const MessageKey unordered = stage.storeUnordered(kPeer, 7);
  stage.showRows();
  CHECK(stage.drain() == std::vector<MessageKey>{first, high, unordered, low, lowest});
}

TEST_CASE("defect 4: priorities mixed inside a session never change its order") {
  OneByOne stage;
  std::vector<MessageKey> stored;
  for (const int priority : {0, 9, 4, 9, 0, 7, 1, 9, 2}) {
    stored.push_back(stage.store(1, kPeer, static_cast<std::uint8_t>(priority)));
    stage.store(2, kPeer, 4);
    stage.showRows();
  }
  std::vector<MessageKey> sent = stage.drain();
  std::erase_if(sent, [&](MessageKey key) { return stage.rows.at(key).session != 1; });
  CHECK(sent == stored);
}

TEST_CASE("row 11: a session that waits already goes by the priority of its latest enqueue") {
  OneByOne stage;
  const MessageKey first = stage.enqueue(1);
  const MessageKey other = stage.enqueue(2);
  const MessageKey risen = stage.store(3, kPeer, 1);
  stage.showRows();
  const MessageKey raiser = stage.store(3, kPeer, 9);
  stage.showRows();
  CHECK(stage.drain() == std::vector<MessageKey>{first, risen, raiser, other});
}

TEST_CASE("row 11: no priority starves while higher ones keep the peer busy") {
  OneByOne stage;
  stage.enqueue(1);
  for (std::uint8_t priority = 0; priority < kPriorityMax; ++priority) {
    stage.store(100 + priority, kPeer, priority);
  }
  stage.showRows();
  std::map<std::uint8_t, int> turns;
  for (int turn = 0; turn < 100; ++turn) {
    // Two sessions of the highest priority that never run dry.
    stage.store(1, kPeer, 9);
    stage.store(2, kPeer, 9);
    stage.showRows();
    ++turns[stage.sessions.at(stage.rows.at(stage.onlySend().front()).session).priority];
    stage.ackAll();
  }
  for (std::uint8_t priority = 0; priority < kPriorityMax; ++priority) {
    CAPTURE(static_cast<int>(priority));
    CHECK(turns[priority] == 1);
  }
  CHECK(turns[9] == 100 - kPriorityMax);
}

TEST_CASE("row 11: what another process made of a session's priority is learned by its claim") {
  OneByOne stage;
  stage.store(1);
  stage.showRows();
  const MessageKey second = stage.store(1);
  stage.newRows.back().priority.reset();
  stage.sessions.at(1).priority = 9;
  stage.showRows();
  stage.ackAll();
  const MessageKey third = stage.store(1, kPeer, 9);
  stage.newRows.back().priority.reset();
  const MessageKey other = stage.store(2);
  stage.showRows();
  CHECK(stage.drain() == std::vector<MessageKey>{second, third, other});
}

TEST_CASE("row 11: a priority that was passed over for as many turns as the patience says gets the next") {
  ReadyQueue queue;
  Session low;
  low.priority = 0;
  Session high;
  high.priority = kPriorityMax;
  queue.push(low);
  for (std::uint32_t turn = 0; turn < ReadyQueue::kPatience; ++turn) {
    queue.push(high);
    CHECK(&queue.front() == &high);
    queue.popFront();
  }
  queue.push(high);
  CHECK(&queue.front() == &low);
}

}  // namespace
}  // namespace ackbox::delivery::priority_test
