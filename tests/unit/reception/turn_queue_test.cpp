// Goal: senders take turns, whatever each of them has waiting, and the queues of a sender do. Method: order in, order
// out.

#include "reception/turn_queue.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ackbox::reception::turn_queue_test {
namespace {

constexpr auto kAll = [](const TurnQueue::Entry&) { return true; };

std::vector<QueueNumber> drain(TurnQueue& turns) {
  std::vector<QueueNumber> order;
  while (const auto entry = turns.pop(kAll)) {
    order.push_back(entry->queue);
  }
  return order;
}

}  // namespace

TEST_CASE("P12: senders take turns, and each one's queues are in the order in which they came") {
  TurnQueue turns;
  for (const QueueNumber queue : {11U, 12U, 13U, 14U}) {
    turns.push(1, {queue, 1});
  }
  turns.push(2, {21, 1});
  turns.push(3, {31, 1});
  turns.push(3, {32, 1});
  CHECK(drain(turns) == std::vector<QueueNumber>{11, 21, 31, 12, 32, 13, 14});
  CHECK(turns.empty());
}

TEST_CASE("a sender that comes back is behind the others") {
  TurnQueue turns;
  turns.push(1, {11, 1});
  turns.push(2, {21, 1});
  turns.push(2, {22, 1});
  CHECK(turns.pop(kAll)->queue == 11);
  turns.push(1, {12, 1});
  CHECK(drain(turns) == std::vector<QueueNumber>{21, 12, 22});
}

TEST_CASE("an entry keeps its ticket") {
  TurnQueue turns;
  turns.push(1, {11, 7});
  CHECK(turns.pop(kAll)->ticket == 7);
  CHECK_FALSE(turns.pop(kAll).has_value());
}

TEST_CASE("P12: what does not count any more is no turn of its sender") {
  TurnQueue turns;
  turns.push(1, {11, 1});
  turns.push(1, {11, 2});
  turns.push(2, {21, 2});
  turns.push(3, {31, 1});
  const auto next = [&turns] { return turns.pop([](const TurnQueue::Entry& entry) { return entry.ticket == 2; }); };
  CHECK(next()->queue == 11);
  CHECK(next()->queue == 21);
  CHECK_FALSE(next().has_value());
  CHECK(turns.empty());
}

TEST_CASE("what is looked at is what is taken: the first entry that counts, of whichever sender") {
  TurnQueue turns;
  turns.push(1, {11, 1});
  turns.push(2, {21, 2});
  const auto counts = [](const TurnQueue::Entry& entry) { return entry.ticket == 2; };
  const TurnQueue::Entry* const next = turns.peek(counts);
  REQUIRE(next != nullptr);
  CHECK(next->queue == 21);
  CHECK(turns.pop(counts)->queue == 21);
  turns.push(1, {12, 3});
  CHECK(turns.peek(counts) == nullptr);
  CHECK(turns.empty());
}

}  // namespace ackbox::reception::turn_queue_test
