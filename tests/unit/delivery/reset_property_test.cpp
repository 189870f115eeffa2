// Goal: whatever a reset puts back goes at once, of ordered and unordered messages alike, however they stood when it
// happened (P12, P13).
// Method: sessions and unordered messages side by side; the peer acknowledges, defers and loses requests at random, and
// now and then another process puts back what it had deferred, while some requests are under way. The answers to these
// count for nothing, as the store does it. From then on the peer takes all it is sent; what was put back must be
// acknowledged in far less than a deadline.

#include <vector>

#include "unit/delivery/stage.hpp"

namespace ackbox::delivery::reset_property_test {
namespace {

constexpr int kRounds = 200;
constexpr auto kDeadline = 60s;

struct Resets : Stage {
  explicit Resets(std::uint64_t seed) : Stage(slowToRecall(), seed), dice(seededRandom(seed + 1)) {
    machine->peerAdded(kPeer, 3);
  }
  static MachineOptions slowToRecall() {
    MachineOptions options;
    options.ackTimeout = kDeadline;
    options.batchFrames = 4;
    return options;
  }
  std::uint64_t below(std::uint64_t bound) { return dice->next() % bound; }

  void enqueueSome() {
    for (std::uint64_t count = 1 + below(5); count > 0; --count) {
      if (below(2) == 0) {
        storeUnordered(kPeer, static_cast<std::uint8_t>(below(kPriorityMax + 1)));
      } else {
        store(static_cast<SessionKey>(1 + below(4)));
      }
    }
    showRows();
  }
  void answerSome() {
    for (std::uint64_t count = below(4); count > 0 && !sends.empty(); --count) {
      std::vector<FrameResult> results;
      for (std::size_t item = sends.front().items.size(); item > 0; --item) {
        results.push_back(result(below(3) == 0 ? Outcome::ack : Outcome::defer));
      }
      answer(std::move(results));
    }
  }
  // As the store does it: what is deferred waits again, and so does what an answer from before defers.
  void reset() {
    for (const Actions::Send& send : sends) {
      for (const Actions::Send::Item& item : send.items) {
        forgotten.push_back(item.key);
      }
    }
    putBackDeferred();
    while (!sends.empty() && below(2) == 0) {
      answer(std::vector<FrameResult>(sends.front().items.size(), result(Outcome::defer)));
    }
    putBackDeferred();
  }
  void putBackDeferred() {
    for (auto& [key, row] : rows) {
      if (row.state == MessageState::sent) {
        row.state = MessageState::pending;
        row.dueAt = {};
        newRows.push_back({.key = key, .session = row.session, .state = row.state, .dueAt = {}});
        forgotten.push_back(key);
      }
    }
    showRows();
  }
  void takeAll() {
    for (int turn = 0; turn < 1'000 && !sends.empty(); ++turn) {
      ackAll();
    }
  }

  std::shared_ptr<Random> dice;
  std::vector<MessageKey> forgotten;
};

TEST_CASE("P12, P13: over random resets nothing that was put back waits for a deadline, ordered or not") {
  std::size_t putBack = 0;
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    CAPTURE(seed);
    Resets stage(seed);
    for (std::uint64_t steps = 5 + stage.below(20); steps > 0; --steps) {
      stage.enqueueSome();
      stage.answerSome();
      stage.advance(std::chrono::milliseconds(stage.below(500)));
    }
    stage.reset();
    stage.takeAll();
    for (const MessageKey key : stage.forgotten) {
      CAPTURE(key);
      CHECK(stage.state(key) == MessageState::acked);
    }
    putBack += stage.forgotten.size();
  }
  // The test must not pass because nothing was put back.
  CHECK(putBack > kRounds * 10);
}

}  // namespace
}  // namespace ackbox::delivery::reset_property_test
