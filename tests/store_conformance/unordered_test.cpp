// Goal: unordered messages are rows of their own: no session is written for them, each is claimed alone, and whatever
// is done to messages is done to them.
// Method: claims by several handles.

#include <doctest/doctest.h>

#include <tuple>

#include "store_conformance/world.hpp"

namespace unordered_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;

namespace {

store::ClaimReply claimUnits(store::Store& store, const std::vector<delivery::MessageKey>& keys) {
  std::vector<delivery::SessionClaim> wanted;
  for (const delivery::MessageKey key : keys) {
    wanted.push_back({delivery::unitOf(key), {key}});
  }
  return claimOf(store, wanted);
}

Frame unordered(std::uint8_t priority = kPriorityDefault) {
  Frame frame = frameOf("");
  frame.priority = priority;
  return frame;
}

}  // namespace

TEST_CASE("P4: row 16: unordered messages have no sequence and share a lane per priority") {
  World world;
  const auto store = world.open();
  CHECK(enqueueOne(*store, unordered()).sequence == 0);
  CHECK(enqueueOne(*store, unordered()).sequence == 0);
  enqueueOne(*store, unordered(9));
  const store::NewRows newRows = store->discovery().take(10);
  REQUIRE(newRows.sessions.size() == 2);
  CHECK(newRows.sessions[0].unordered);
  CHECK(newRows.sessions[1].unordered);
  CHECK(newRows.sessions[1].priority == 9);
  CHECK(newRows.rows[0].session == newRows.rows[1].session);
  CHECK(newRows.rows[2].session != newRows.rows[1].session);
  CHECK(world.problems() == "");
}

TEST_CASE("P7: row 16: each is claimed alone, also by several processes") {
  World world;
  const auto one = world.open();
  const auto other = world.open();
  for (int count = 0; count < 3; ++count) {
    enqueueOne(*one, unordered());
  }
  const std::vector<delivery::RowSeen> rows = one->discovery().take(10).rows;
  REQUIRE(rows.size() == 3);
  const store::ClaimReply mine = claimUnits(*one, {rows[0].key, rows[1].key});
  REQUIRE(mine.messages.size() == 2);
  CHECK(mine.messages[0].frame.session.empty());
  CHECK(mine.messages[0].frame.sequence == 0);
  const store::ClaimReply theirs = claimUnits(*other, {rows[1].key, rows[2].key});
  CHECK(theirs.sessions[0].status == ClaimStatus::busy);
  CHECK(theirs.sessions[1].rows.size() == 1);
  CHECK(settleOne(*one, settlementOf(mine, delivery::Transition::ack)));
  CHECK(settleOne(*other, settlementOf(theirs, delivery::Transition::ack, 1)));
  CHECK(world.problems() == "");
  CHECK(world.stats().acked == 2);
}

TEST_CASE("P7: row 16: a dead owner's unordered messages are back in play") {
  World world;
  const auto one = world.open();
  enqueueOne(*one, unordered());
  const delivery::MessageKey key = one->discovery().take(10).rows.at(0).key;
  claimUnits(*one, {key});
  world.crash(*one);
  const auto other = world.open();
  CHECK(claimUnits(*other, {key}).messages.size() == 1);
}

TEST_CASE("P3: row 16: redrive, discard, acknowledge, find and explain work on unordered messages") {
  World world;
  const auto store = world.open();
  const auto reader = world.reader();
  std::vector<std::string> ids;
  for (int count = 0; count < 3; ++count) {
    ids.push_back(enqueueOne(*store, unordered(7)).messageId);
  }
  const auto found = reader->find(ids[0]);
  REQUIRE(found);
  CHECK(found->session.empty());
  CHECK(found->sequence == 0);
  CHECK(found->peer == "default");
  CHECK(reader->explain(ids[2])->reasons.empty());

  const std::vector<delivery::RowSeen> rows = store->discovery().take(10).rows;
  REQUIRE(rows.size() == 3);
  store::ClaimReply reply = claimUnits(*store, {rows[0].key, rows[1].key});
  for (std::size_t index = 0; index < 2; ++index) {
    delivery::Settlement fail = settlementOf(reply, delivery::Transition::fail, index);
    fail.reason = "rejected";
    CHECK(settleOne(*store, fail)->messageId == ids[index]);
  }
  const auto change = [&](std::size_t index, delivery::Transition transition) {
    return inTransaction(*store, [&] { return store->deadLetters().change(ids[index], transition, {}); }).receipt;
  };
  CHECK(change(0, delivery::Transition::redrive).done());
  CHECK(change(1, delivery::Transition::discard).done());
  CHECK_FALSE(reader->find(ids[1]));
  const std::vector<delivery::RowSeen> redriven = store->discovery().take(10).rows;
  REQUIRE(redriven.size() == 1);
  reply = claimUnits(*store, {redriven[0].key});
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.messages[0].frame.messageId == ids[0]);
  CHECK(reply.messages[0].frame.sequence == 0);
  CHECK(inTransaction(*store, [&] { return store->settles().ackById(ids[2]); })->session.empty());
  CHECK(world.problems() == "");
}

}  // namespace unordered_test
