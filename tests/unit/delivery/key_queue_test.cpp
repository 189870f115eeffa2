// Goal: the queue keeps key order whatever comes back, and costs about eight bytes a key.
// Method: a seeded run against std::set, and the edges by hand.

#include "delivery/key_queue.hpp"

#include <doctest/doctest.h>

#include <set>

#include "ackbox/random.hpp"

namespace ackbox::delivery::key_queue_test {
namespace {

TEST_CASE("A key that comes back goes to its place in front") {
  KeyQueue queue;
  for (MessageKey key = 1; key <= 3; ++key) {
    CHECK(queue.insert(key));
  }
  queue.popFront();
  queue.popFront();
  CHECK(queue.front() == 3);
  CHECK(queue.insert(2));
  CHECK(queue.insert(1));
  CHECK_FALSE(queue.insert(1));
  CHECK(queue.front() == 1);
  CHECK(queue.size() == 3);
}

TEST_CASE("It agrees with an ordered set through random insertions, removals and pops") {
  const auto random = seededRandom(7);
  KeyQueue queue;
  std::set<MessageKey> model;
  for (int turn = 0; turn < 100'000; ++turn) {
    const std::uint64_t dice = random->next() % 10;
    const auto key = static_cast<MessageKey>(random->next() % 400);
    // Grows for a while, then shrinks.
    if (dice < (turn / 10'000 % 2 == 0 ? 6U : 3U)) {
      CHECK(queue.insert(key) == model.insert(key).second);
    } else if (dice < 8) {
      CHECK(queue.erase(key) == (model.erase(key) == 1));
    } else if (!model.empty()) {
      queue.popFront();
      model.erase(model.begin());
    }
    REQUIRE(queue.size() == model.size());
    REQUIRE(queue.contains(key) == model.contains(key));
    if (!model.empty()) {
      REQUIRE(queue.front() == *model.begin());
    }
  }
}

}  // namespace
}  // namespace ackbox::delivery::key_queue_test
