// Goal: a run takes in commits in their order, and is woken once for as many as it takes in at a time.
// Method: the queue alone.

#include "manager/run/commit_queue.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

namespace commit_queue_test {

using ackbox::manager::CommitQueue;
using ackbox::manager::NewCommit;
using WhenEmpty = ackbox::manager::CommitQueue::WhenEmpty;

namespace {

NewCommit commitOf(ackbox::delivery::MessageKey key) {
  NewCommit commit;
  commit.rows.rows.push_back({key, 1, ackbox::MessageState::pending, {}, 0});
  return commit;
}

bool add(CommitQueue& queue, ackbox::delivery::MessageKey key) {
  return queue.add(WhenEmpty::leaveOut, [key] { return commitOf(key); });
}

std::vector<ackbox::delivery::MessageKey> keysOf(const std::list<NewCommit>& taken) {
  std::vector<ackbox::delivery::MessageKey> keys;
  for (const NewCommit& commit : taken) {
    for (const auto& row : commit.rows.rows) {
      keys.push_back(row.key);
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("commits are taken in the order in which they were added, and the first of them wakes") {
  CommitQueue queue;
  CHECK(add(queue, 1));
  CHECK_FALSE(add(queue, 2));
  CHECK_FALSE(add(queue, 3));
  CHECK(keysOf(queue.take()) == std::vector<ackbox::delivery::MessageKey>{1, 2, 3});
  CHECK(queue.take().empty());
  CHECK(add(queue, 4));
  CHECK(keysOf(queue.take()) == std::vector<ackbox::delivery::MessageKey>{4});
}

TEST_CASE("a commit without rows is left out, unless it is to be kept") {
  CommitQueue queue;
  CHECK_FALSE(queue.add(WhenEmpty::leaveOut, [] { return NewCommit{}; }));
  CHECK(queue.take().empty());
  CHECK(queue.add(WhenEmpty::keep, [] { return NewCommit{{}, true}; }));
  const std::list<NewCommit> taken = queue.take();
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().isShared);
}

TEST_CASE("a commit that cannot be read leaves the queue as it was, and wakes nobody") {
  CommitQueue queue;
  CHECK_THROWS_AS(queue.add(WhenEmpty::keep, []() -> NewCommit { throw std::runtime_error("the disk"); }),
                  std::runtime_error);
  CHECK(queue.take().empty());
  CHECK(add(queue, 1));
  CHECK_THROWS_AS(queue.add(WhenEmpty::keep, []() -> NewCommit { throw std::runtime_error("the disk"); }),
                  std::runtime_error);
  CHECK(keysOf(queue.take()) == std::vector<ackbox::delivery::MessageKey>{1});
}

TEST_CASE("what was cleared away is not taken, and whoever undertook to wake still does") {
  CommitQueue queue;
  CHECK(add(queue, 1));
  queue.clear();
  CHECK_FALSE(add(queue, 2));
  CHECK(keysOf(queue.take()) == std::vector<ackbox::delivery::MessageKey>{2});
}

}  // namespace commit_queue_test
