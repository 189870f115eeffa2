// Goal: unordered messages are rows of their own: no session is written for them, each is claimed alone, and whatever
// is done to messages is done to them. Method: stores on a real file.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <tuple>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "unit/store/store_world.hpp"

namespace ackbox::unordered_rows_test {
namespace {

using delivery::ClaimStatus;
using testing::enqueueOne;
using testing::frameOf;
using testing::inTransaction;
using testing::settlementOf;
using testing::settleOne;
using testing::StoreWorld;

store::ClaimReply claimUnits(store::sqlite::SqliteStore& store, const std::vector<delivery::MessageKey>& keys) {
  std::vector<delivery::SessionClaim> wanted;
  for (const delivery::MessageKey key : keys) {
    wanted.push_back({delivery::unitOf(key), {key}});
  }
  return inTransaction(store, [&] { return store.claims().claim(wanted); });
}

Frame unordered(std::uint8_t priority = kPriorityDefault) {
  Frame frame = frameOf("");
  frame.priority = priority;
  return frame;
}

TEST_CASE("row 16: unordered messages have no sequence and share a lane per priority") {
  StoreWorld world;
  const auto store = world.open();
  CHECK(enqueueOne(*store, unordered()).sequence == 0);
  CHECK(enqueueOne(*store, unordered()).sequence == 0);
  enqueueOne(*store, unordered(9));
  const store::NewRows news = store->discovery().take(10);
  REQUIRE(news.sessions.size() == 2);
  CHECK(news.sessions[0].unordered);
  CHECK(news.sessions[1].unordered);
  CHECK(news.sessions[1].priority == 9);
  CHECK(news.rows[0].session == news.rows[1].session);
  CHECK(news.rows[2].session != news.rows[1].session);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("row 16: each is claimed alone, also by several processes") {
  StoreWorld world;
  const auto one = world.open();
  const auto other = world.open();
  for (int count = 0; count < 3; ++count) {
    enqueueOne(*one, unordered());
  }
  const store::ClaimReply mine = claimUnits(*one, {1, 2});
  REQUIRE(mine.messages.size() == 2);
  CHECK(mine.messages[0].frame.session.empty());
  CHECK(mine.messages[0].frame.sequence == 0);
  const store::ClaimReply theirs = claimUnits(*other, {2, 3});
  CHECK(theirs.sessions[0].status == ClaimStatus::busy);
  CHECK(theirs.sessions[1].rows.size() == 1);
  CHECK(settleOne(*one, settlementOf(mine, delivery::Transition::ack)));
  CHECK(settleOne(*other, settlementOf(theirs, delivery::Transition::ack, 1)));
  CHECK(store::sqlite::verify(world.file, world.options).clean());
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().acked == 2);
}

TEST_CASE("row 16: a dead owner's unordered messages are back in play") {
  StoreWorld world;
  world.lives = std::make_shared<testing::Lives>();
  const auto one = world.open();
  enqueueOne(*one, unordered());
  claimUnits(*one, {1});
  world.lives->clear();
  const auto other = world.open();
  CHECK(claimUnits(*other, {1}).messages.size() == 1);
}

TEST_CASE("row 16: redrive, discard, acknowledge, find and explain work on unordered messages") {
  StoreWorld world;
  const auto store = world.open();
  const store::sqlite::SqliteReader reader(world.file, world.options);
  std::vector<std::string> ids;
  for (int count = 0; count < 3; ++count) {
    ids.push_back(enqueueOne(*store, unordered(7)).messageId);
  }
  const auto found = reader.find(ids[0]);
  REQUIRE(found);
  CHECK(found->session.empty());
  CHECK(found->sequence == 0);
  CHECK(found->peer == "default");
  CHECK(reader.explain(ids[2])->reasons.empty());

  store::ClaimReply reply = claimUnits(*store, {1, 2});
  for (std::size_t index = 0; index < 2; ++index) {
    delivery::Settlement fail = settlementOf(reply, delivery::Transition::fail, index);
    fail.reason = "rejected";
    CHECK(settleOne(*store, fail)->messageId == ids[index]);
  }
  std::ignore = store->discovery().take(10);
  const auto change = [&](std::size_t index, delivery::Transition transition) {
    return inTransaction(*store, [&] { return store->deadLetters().change(ids[index], transition, {}); }).receipt;
  };
  CHECK(change(0, delivery::Transition::redrive).done());
  CHECK(change(1, delivery::Transition::discard).done());
  CHECK_FALSE(reader.find(ids[1]));
  const std::vector<delivery::RowSeen> redriven = store->discovery().take(10).rows;
  REQUIRE(redriven.size() == 1);
  reply = claimUnits(*store, {redriven[0].key});
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.messages[0].frame.messageId == ids[0]);
  CHECK(reply.messages[0].frame.sequence == 0);
  CHECK(inTransaction(*store, [&] { return store->settles().ackById(ids[2]); })->session.empty());
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("verify names a lane or an unordered row that is not what it should be") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, unordered());
  SQLite::Database& file = store->database();
  file.exec("UPDATE ackbox_outbox SET sequence=1");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_outbox SET sequence=0, supersede_key='k'");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_outbox SET supersede_key=NULL, due_at_ms=5");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_outbox SET due_at_ms=0");
  file.exec("UPDATE ackbox_session_states SET due_at_ms=5");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
  file.exec("UPDATE ackbox_session_states SET due_at_ms=0");
  file.exec("INSERT INTO ackbox_idempotency_keys VALUES('k','',0,0)");
  CHECK(store::sqlite::verify(world.file, world.options).findings.size() >= 1);
}

}  // namespace
}  // namespace ackbox::unordered_rows_test
