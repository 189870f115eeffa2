// Goal: every live row is found once, each session's in order and the session before it, whoever committed it.
// Method: own and foreign commits mixed, small limits, stops and restarts.

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "store_conformance/world.hpp"

namespace discovery_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

namespace {

using Keys = std::vector<delivery::MessageKey>;

Keys keysOf(const store::NewRows& rows) {
  Keys keys;
  for (const delivery::RowSeen& row : rows.rows) {
    keys.push_back(row.key);
  }
  return keys;
}

// The keys of what is new, which are none of `known`; they are added there.
Keys takeNew(store::Store& store, std::size_t limit, Keys& known) {
  const Keys keys = keysOf(store.discovery().take(limit));
  for (const delivery::MessageKey key : keys) {
    CHECK(std::ranges::find(known, key) == known.end());
    known.push_back(key);
  }
  return keys;
}

}  // namespace

TEST_CASE("P4: own and foreign commits are told once each, in the order of their commits") {
  World world;
  const auto ours = world.open();
  const auto theirs = world.open();
  CHECK(ours->discovery().take(10).rows.empty());
  enqueueOne(*ours, frameOf("s"));
  const auto first = ours->discovery().take(10);
  Keys known = keysOf(first);
  CHECK(known.size() == 1);
  REQUIRE(first.sessions.size() == 1);
  CHECK(ours->discovery().sessionName(first.sessions[0].key) == "s");
  CHECK(first.sessions[0].peer == ours->peers().rows()[0].key);

  enqueueOne(*theirs, frameOf("s"));
  enqueueOne(*ours, frameOf("t"));
  const auto second = ours->discovery().take(10);
  CHECK(second.rows.size() == 2);
  REQUIRE(second.sessions.size() == 1);
  CHECK(second.sessions[0].name == "t");
  CHECK(ours->discovery().take(10).rows.empty());
  CHECK(takeNew(*ours, 10, known).empty());
  std::ranges::copy(keysOf(second), std::back_inserter(known));
  Keys all = keysOf(theirs->discovery().take(10));
  std::ranges::sort(known);
  std::ranges::sort(all);
  CHECK(all == known);
}

TEST_CASE(
    "P4: a session that begins is told alike by the handle that made it and by another, also beside an undone one") {
  World world;
  const auto ours = world.open();
  const auto theirs = world.open();
  const auto frame = [](const char* session, std::uint8_t priority) {
    Frame made = frameOf(session);
    made.priority = priority;
    return made;
  };
  inTransaction(*ours, [&] {
    ours->outbox().enqueue(frame("first", 2));
    ours->savepoint();
    ours->outbox().enqueue(frame("undone", 9));
    ours->rollbackToSavepoint();
    ours->outbox().enqueue(frame("second", 3));
    ours->outbox().enqueue(frame("second", 5));
    ours->outbox().enqueue(frame("", 7));
  });
  const auto remembered = ours->discovery().take(10);
  inTransaction(*theirs, [] {});
  const auto read = theirs->discovery().take(10);
  REQUIRE(remembered.sessions.size() == 3);
  REQUIRE(read.sessions.size() == 3);
  for (std::size_t place = 0; place < 3; ++place) {
    const delivery::SessionInfo& mine = remembered.sessions[place];
    const delivery::SessionInfo& truth = read.sessions[place];
    CHECK(mine.key == truth.key);
    CHECK(mine.peer == truth.peer);
    CHECK(mine.dueAt == truth.dueAt);
    CHECK(mine.priority == truth.priority);
    CHECK(mine.unordered == truth.unordered);
    CHECK(mine.name == truth.name);
  }
  CHECK(read.sessions[1].priority == 5);
  CHECK(read.sessions[2].unordered);
}

TEST_CASE(
    "P13: row 11: a row is told together with the orders that came before it, also where nothing is stored here") {
  World world;
  const auto ours = world.open();
  const auto theirs = world.open();
  const std::string peer = ours->peers().rows()[0].name;
  std::ignore = ours->discovery().take(10);
  CHECK_FALSE(ours->discovery().take(10).holds);
  theirs->begin(true);
  theirs->holds().pausePeer(peer);
  theirs->commit();
  enqueueOne(*theirs, frameOf("s"));
  CHECK(ours->discovery().take(10).rows.empty());
  // As a poll does.
  inTransaction(*ours, [] {});
  const auto newRows = ours->discovery().take(10);
  CHECK(newRows.rows.size() == 1);
  REQUIRE(newRows.holds);
  REQUIRE(newRows.holds->peers.size() == 1);
  CHECK(newRows.holds->peers[0].isPaused);
  CHECK_FALSE(ours->discovery().take(10).holds);
}

TEST_CASE("P3: the backlog comes in chunks, and own commits in between are neither lost nor told twice") {
  World world;
  {
    const auto store = world.open();
    for (int count = 0; count < 5; ++count) {
      enqueueOne(*store, frameOf("s"));
    }
  }
  const auto store = world.open();
  const auto first = store->discovery().take(2);
  Keys known = keysOf(first);
  CHECK(known.size() == 2);
  CHECK(first.more);
  enqueueOne(*store, frameOf("s"));
  CHECK(takeNew(*store, 3, known).size() == 3);
  CHECK(takeNew(*store, 3, known).size() == 1);
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, frameOf("s"));
  CHECK(takeNew(*store, 1, known).size() == 1);
  CHECK(takeNew(*store, 1, known).size() == 1);
  CHECK(takeNew(*store, 1, known).empty());
  // Of one session, so that their numbers follow one another.
  const store::ClaimReply reply = claimOf(*store, delivery::SessionClaim{first.sessions.at(0).key, known});
  REQUIRE(reply.messages.size() == 8);
  for (std::size_t place = 0; place < 8; ++place) {
    CHECK(reply.messages[place].frame.sequence == place + 1);
  }
}

TEST_CASE("P3: deferred rows are told with their deadline, another owner's as pending, finished ones not at all") {
  World world;
  const auto theirs = world.open();
  for (int count = 0; count < 3; ++count) {
    enqueueOne(*theirs, frameOf("s"));
  }
  const auto reply = claimNew(*theirs);
  auto deferred = settlementOf(reply, Transition::defer, 0, 0);
  deferred.dueAt = world.clock->wallNow() + std::chrono::seconds(9);
  settleOne(*theirs, deferred);
  settleOne(*theirs, settlementOf(reply, Transition::fail, 0, 1));
  const auto ours = world.open();
  const auto rows = ours->discovery().take(10).rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].state == MessageState::sent);
  CHECK(rows[0].dueAt == deferred.dueAt);
  CHECK(rows[1].state == MessageState::pending);
}

TEST_CASE("P3: after a stop nothing is remembered, and a restart tells all that lives anew") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  std::ignore = store->discovery().take(10);
  store->discovery().stop();
  enqueueOne(*store, frameOf("s"));
  store->discovery().restart();
  enqueueOne(*store, frameOf("s"));
  const auto all = store->discovery().take(10);
  CHECK(all.rows.size() == 3);
  CHECK(all.sessions.size() == 1);
}

TEST_CASE("P3: a message whose key was burnt by a repetition does not hide the next one") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "key"));
  std::ignore = store->discovery().take(10);
  enqueueOne(*store, frameOf("s", "{}", "key"));
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, frameOf("s"));
  CHECK(store->discovery().take(10).rows.size() == 2);
}

}  // namespace discovery_test
