// Goal: with a supersede key only the latest pending message of a session is kept; nothing goes unseen (P3), and what
// is in flight is left alone. Method: a store on a real file, and an application's connection.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "store/sqlite/outbound/application_writer.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "unit/store/store_world.hpp"

namespace ackbox::supersede_test {
namespace {

using testing::claimNew;
using testing::enqueueOne;
using testing::frameOf;
using testing::inTransaction;
using testing::settlementOf;
using testing::settleOne;
using testing::StoreWorld;

Frame latest(const std::string& key, const std::string& data = "{}", const std::string& session = "s") {
  Frame frame = frameOf(session, data);
  frame.supersedeKey = key;
  return frame;
}

TEST_CASE("a pending message is replaced at the session's tail, counted, told and named by the receipt") {
  StoreWorld world;
  const auto store = world.open();
  const store::sqlite::SqliteReader reader(world.file, world.options);
  const EnqueueReceipt first = enqueueOne(*store, latest("position", "[1]"));
  CHECK(first.supersededId.empty());
  const EnqueueReceipt between = enqueueOne(*store, frameOf("s"));
  const EnqueueReceipt second = enqueueOne(*store, latest("position", "[1,2]"));
  CHECK(second.isNew());
  CHECK(second.sequence == 3);
  CHECK(second.supersededId == first.messageId);
  CHECK_FALSE(reader.find(first.messageId));
  const Stats stats = reader.stats();
  CHECK(stats.pending == 2);
  CHECK(stats.superseded == 1);
  CHECK(stats.enqueued == 3);
  CHECK(stats.pendingBytes == 2 + 5);
  const auto told = store->outbox().takeSuperseded();
  REQUIRE(told.size() == 1);
  CHECK(told[0].message.messageId == first.messageId);
  CHECK(told[0].message.sequence == 1);
  CHECK(told[0].session == "s");
  CHECK(told[0].byMessageId == second.messageId);
  CHECK(told[0].bySequence == 3);
  CHECK(store->outbox().takeSuperseded().empty());
  const store::ClaimReply reply = claimNew(*store);
  REQUIRE(reply.messages.size() == 2);
  CHECK(reply.messages[0].frame.messageId == between.messageId);
  CHECK(reply.messages[1].frame.data == "[1,2]");
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("keys are a session's own, and other keys and other sessions are left alone") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, latest("a"));
  CHECK(enqueueOne(*store, latest("b")).supersededId.empty());
  CHECK(enqueueOne(*store, latest("a", "{}", "t")).supersededId.empty());
  CHECK_FALSE(enqueueOne(*store, latest("a")).supersededId.empty());
}

TEST_CASE("what is in flight is never replaced; back in backoff, it is") {
  StoreWorld world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, latest("k"));
  const store::ClaimReply reply = claimNew(*store);
  const EnqueueReceipt second = enqueueOne(*store, latest("k"));
  CHECK(second.supersededId.empty());
  delivery::Settlement retry = settlementOf(reply, delivery::Transition::retry);
  retry.dueAt = world.clock->wallNow() + std::chrono::seconds(1);
  CHECK(settleOne(*store, retry));
  const EnqueueReceipt third = enqueueOne(*store, latest("k"));
  CHECK(third.supersededId == second.messageId);
  CHECK(store->outbox().takeSuperseded().size() == 2);
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(reader.stats().pending == 1);
  CHECK_FALSE(reader.find(first.messageId));
}

TEST_CASE("an undone scope and a rolled back transaction replace nothing and tell nothing") {
  StoreWorld world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, latest("k"));
  inTransaction(*store, [&] {
    store->savepoint();
    CHECK(store->outbox().enqueue(latest("k")).supersededId == first.messageId);
    store->rollbackToSavepoint();
  });
  store->begin(false);
  CHECK(store->outbox().enqueue(latest("k")).supersededId == first.messageId);
  store->rollback();
  CHECK(store->outbox().takeSuperseded().empty());
  CHECK(store::sqlite::SqliteReader(world.file, world.options).find(first.messageId));
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("a duplicate id replaces nothing") {
  StoreWorld world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, latest("k"));
  enqueueOne(*store, frameOf("s", "{}", "mine"));
  Frame frame = latest("k");
  frame.id = "mine";
  CHECK(enqueueOne(*store, frame).status == EnqueueStatus::duplicate);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).find(first.messageId));
}

TEST_CASE("row 11: the latest is taken though the queue is full, in the place of the one it replaces") {
  StoreWorld world;
  world.options.maxPending = 1;
  const auto store = world.open();
  enqueueOne(*store, latest("k"));
  CHECK(enqueueOne(*store, latest("other")).status == EnqueueStatus::queueFull);
  CHECK(enqueueOne(*store, latest("k")).isNew());
}

TEST_CASE("in the caller's transaction the replacement commits or rolls back with it") {
  StoreWorld world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, latest("k"));
  SQLite::Database connection(world.file.string(), SQLite::OPEN_READWRITE);
  store::sqlite::ApplicationWriter writer(connection, world.options, {});
  const store::sqlite::SqliteReader reader(world.file, world.options);
  connection.exec("BEGIN IMMEDIATE");
  CHECK(writer.enqueue(latest("k")).supersededId == first.messageId);
  connection.exec("ROLLBACK");
  CHECK(reader.find(first.messageId));
  connection.exec("BEGIN IMMEDIATE");
  CHECK(writer.enqueue(latest("k")).supersededId == first.messageId);
  connection.exec("COMMIT");
  CHECK_FALSE(reader.find(first.messageId));
  CHECK(reader.stats().superseded == 1);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

}  // namespace
}  // namespace ackbox::supersede_test
