// Goal: an idempotency key makes an enqueue happen once, by whatever way and in whatever process it comes.
// Method: stores and an application's connection on one file; time that moves when told.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "store/sqlite/outbound/application_writer.hpp"
#include "store/sqlite/read/verify.hpp"
#include "unit/store/store_world.hpp"

namespace ackbox::idempotency_test {
namespace {

using namespace std::chrono_literals;
using testing::claimNew;
using testing::enqueueOne;
using testing::frameOf;
using testing::inTransaction;
using testing::settlementOf;
using testing::settleOne;
using testing::StoreWorld;

Frame keyed(const std::string& key, const std::string& session = "s") {
  Frame frame = frameOf(session);
  frame.idempotencyKey = key;
  return frame;
}

void ackAll(store::sqlite::SqliteStore& store) {
  const store::ClaimReply reply = claimNew(store);
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    for (std::size_t row = 0; row < reply.sessions[session].rows.size(); ++row) {
      settleOne(store, settlementOf(reply, delivery::Transition::ack, session, row));
    }
  }
}

TEST_CASE("row 17: a second enqueue with the same idempotency key stores nothing and names the first message") {
  StoreWorld world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, keyed("order-1"));
  CHECK(first.isNew());
  const EnqueueReceipt second = enqueueOne(*store, keyed("order-1", "another"));
  CHECK(second.status == EnqueueStatus::duplicate);
  CHECK_FALSE(second.isNew());
  CHECK(second.accepted());
  CHECK(second.messageId == first.messageId);
  CHECK(second.sequence == 1);
  CHECK(enqueueOne(*store, keyed("order-2")).isNew());
  CHECK(store->discovery().take(100).rows.size() == 2);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("row 17: the key outlives the ACK and the deletion of its message, by the retention and no longer") {
  StoreWorld world;
  world.options.idempotencyRetention = 10min;
  auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, keyed("k"));
  ackAll(*store);
  world.clock->advance(10min - 1ms);
  store.reset();
  store = world.open();
  CHECK(enqueueOne(*store, keyed("k")).messageId == first.messageId);
  world.clock->advance(1ms);
  const EnqueueReceipt again = enqueueOne(*store, keyed("k"));
  CHECK(again.isNew());
  CHECK(again.sequence == 2);
}

TEST_CASE("row 17: the key of a message that is replaced outlives it no longer than the retention") {
  StoreWorld world;
  world.options.idempotencyRetention = 10min;
  const auto store = world.open();
  Frame first = keyed("first");
  first.supersedeKey = "latest";
  CHECK(enqueueOne(*store, first).isNew());
  world.clock->advance(10min);
  Frame second = keyed("second");
  second.supersedeKey = "latest";
  CHECK_FALSE(enqueueOne(*store, second).supersededId.empty());
  CHECK(enqueueOne(*store, keyed("first")).isNew());
}

TEST_CASE("row 17: a message that is still in the store keeps its key, however old it is") {
  StoreWorld world;
  world.options.idempotencyRetention = 10min;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, keyed("k"));
  world.clock->advance(100h);
  // These purge what is over.
  for (int count = 0; count < 10; ++count) {
    CHECK(enqueueOne(*store, keyed("other-" + std::to_string(count))).isNew());
  }
  CHECK(enqueueOne(*store, keyed("k")).messageId == first.messageId);
}

TEST_CASE("row 17: a repetition long after the retention stores nothing while its message is there, in any state") {
  StoreWorld world;
  world.options.idempotencyRetention = 10min;
  world.options.ackedRetention = 1'000h;
  const auto store = world.open();
  SQLite::Database connection(world.file.string(), SQLite::OPEN_READWRITE);
  store::sqlite::ApplicationWriter writer(connection, world.options, {});
  const auto repeat = [&](const std::string& key) {
    const EnqueueReceipt inStore = enqueueOne(*store, keyed(key));
    connection.exec("BEGIN IMMEDIATE");
    const EnqueueReceipt inTheCallers = writer.enqueue(keyed(key));
    connection.exec("COMMIT");
    CHECK(inStore.messageId == inTheCallers.messageId);
    return inStore;
  };
  std::vector<EnqueueReceipt> receipts;
  for (const char* key : {"acked", "sent", "failed", "pending"}) {
    receipts.push_back(enqueueOne(*store, keyed(key, key)));
  }
  const store::ClaimReply reply = claimNew(*store);
  settleOne(*store, settlementOf(reply, delivery::Transition::ack, 0));
  settleOne(*store, settlementOf(reply, delivery::Transition::defer, 1));
  settleOne(*store, settlementOf(reply, delivery::Transition::fail, 2));
  // Nothing purges meanwhile: a key that is over is still in the file.
  world.clock->advance(100h);
  for (std::size_t index = 0; const char* key : {"acked", "sent", "failed", "pending"}) {
    CAPTURE(key);
    const EnqueueReceipt again = repeat(key);
    CHECK(again.status == EnqueueStatus::duplicate);
    CHECK(again.messageId == receipts[index].messageId);
    CHECK(again.sequence == receipts[index++].sequence);
  }
}

TEST_CASE("row 17: keys that are over are purged in small slices by those that come") {
  StoreWorld world;
  world.options.idempotencyRetention = 10min;
  const auto store = world.open();
  for (int count = 0; count < 100; ++count) {
    enqueueOne(*store, keyed("a" + std::to_string(count)));
  }
  ackAll(*store);
  world.clock->advance(10min);
  for (int count = 0; count < 100; ++count) {
    enqueueOne(*store, keyed("b" + std::to_string(count)));
  }
  const SQLite::Database file(world.file.string());
  CHECK(SQLite::Statement(file, "SELECT 1").tryExecuteStep() == SQLITE_ROW);
  SQLite::Statement count(file, "SELECT count(*) FROM ackbox_idempotency_keys");
  REQUIRE(count.executeStep());
  CHECK(count.getColumn(0).getInt() == 100);
}

TEST_CASE("row 17: two processes with the same key store one row") {
  StoreWorld world;
  const auto one = world.open();
  const auto other = world.open();
  const EnqueueReceipt first = enqueueOne(*one, keyed("k"));
  const EnqueueReceipt second = enqueueOne(*other, keyed("k"));
  CHECK(first.isNew());
  CHECK_FALSE(second.isNew());
  CHECK(second.messageId == first.messageId);
}

TEST_CASE("row 17: in the caller's transaction the key commits or rolls back with it") {
  StoreWorld world;
  const auto store = world.open();
  SQLite::Database connection(world.file.string(), SQLite::OPEN_READWRITE);
  store::sqlite::ApplicationWriter writer(connection, world.options, {});
  connection.exec("BEGIN IMMEDIATE");
  CHECK(writer.enqueue(keyed("k")).isNew());
  CHECK_FALSE(writer.enqueue(keyed("k")).isNew());
  connection.exec("ROLLBACK");
  const EnqueueReceipt first = enqueueOne(*store, keyed("k"));
  CHECK(first.isNew());
  connection.exec("BEGIN IMMEDIATE");
  CHECK(writer.enqueue(keyed("k")).messageId == first.messageId);
  CHECK(writer.enqueue(keyed("k2")).isNew());
  connection.exec("COMMIT");
  CHECK_FALSE(enqueueOne(*store, keyed("k2")).isNew());
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("row 17: a nested scope that is undone frees its keys") {
  StoreWorld world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    store->savepoint();
    CHECK(store->outbox().enqueue(keyed("k")).isNew());
    store->rollbackToSavepoint();
    CHECK(store->outbox().enqueue(keyed("k")).isNew());
  });
}

TEST_CASE("row 17: a repetition is told the truth even while the queue is full") {
  StoreWorld world;
  world.options.maxPending = 1;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, keyed("k"));
  CHECK(enqueueOne(*store, keyed("other")).status == EnqueueStatus::queueFull);
  CHECK(enqueueOne(*store, keyed("k")).messageId == first.messageId);
}

TEST_CASE("row 17: an enqueue that its id makes a duplicate does not take the key") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "mine"));
  Frame frame = keyed("k");
  frame.id = "mine";
  CHECK_FALSE(enqueueOne(*store, frame).isNew());
  CHECK(enqueueOne(*store, keyed("k")).isNew());
}

TEST_CASE("defect 5: a calendar that goes backwards between enqueues does not reorder them") {
  StoreWorld world;
  const auto store = world.open();
  std::vector<std::uint64_t> sequences;
  std::vector<std::string> ids;
  for (const auto step : {0h, -24h, 48h, -1h, 0h}) {
    world.clock->step(step);
    const EnqueueReceipt receipt = enqueueOne(*store, frameOf("s"));
    sequences.push_back(receipt.sequence);
    ids.push_back(receipt.messageId);
  }
  CHECK(sequences == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  const store::ClaimReply reply = claimNew(*store);
  REQUIRE(reply.messages.size() == 5);
  for (std::size_t index = 0; index < 5; ++index) {
    CHECK(reply.messages[index].frame.messageId == ids[index]);
  }
}

}  // namespace
}  // namespace ackbox::idempotency_test
