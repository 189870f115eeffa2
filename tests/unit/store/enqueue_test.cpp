// Goal: enqueues number their sessions without holes, refuse with a reason (P3), recognise repetitions, and leave
// nothing behind when they are undone.
// Method: one store; transactions, savepoints and a second store that advances the same sessions.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "ackbox/error.hpp"
#include "store/reader.hpp"
#include "store/uuid.hpp"
#include "store_world.hpp"

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("P4: sequences count from 1 in each session, across stores that take turns and across a reopening") {
  StoreWorld world;
  {
    const auto first = world.open();
    const auto second = world.open();
    for (std::uint64_t sequence = 1; sequence <= 10; sequence += 2) {
      CHECK(enqueueOne(*first, frameOf("s")).sequence == sequence);
      CHECK(enqueueOne(*second, frameOf("s")).sequence == sequence + 1);
    }
    CHECK(enqueueOne(*first, frameOf("t")).sequence == 1);
  }
  CHECK(enqueueOne(*world.open(), frameOf("s")).sequence == 11);
}

TEST_CASE("a rolled-back transaction leaves no number, no row and no count behind") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store->begin(false);
  CHECK(store->enqueue(frameOf("s")).sequence == 2);
  CHECK(store->enqueue(frameOf("new")).sequence == 1);
  store->rollback();
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 2);
  CHECK(enqueueOne(*store, frameOf("new")).sequence == 1);
  CHECK(store->takeNewRows(10).rows.size() == 3);
  CHECK(store::Reader(world.file, world.options).stats().enqueued == 3);
}

TEST_CASE("an undone scope takes back its own enqueues only, and scopes nest") {
  StoreWorld world;
  const auto store = world.open();
  store->begin(false);
  store->enqueue(frameOf("s"));
  store->savepoint();
  store->enqueue(frameOf("s"));
  store->savepoint();
  store->enqueue(frameOf("s"));
  store->countDuplicate();
  store->rollbackToSavepoint();
  CHECK(store->enqueue(frameOf("s")).sequence == 3);
  store->releaseSavepoint();
  store->savepoint();
  store->enqueue(frameOf("s"));
  store->rollbackToSavepoint();
  CHECK(store->enqueue(frameOf("s")).sequence == 4);
  store->commit();
  CHECK(store->takeNewRows(10).rows.size() == 4);
  const Stats stats = store::Reader(world.file, world.options).stats();
  CHECK(stats.pending == 4);
  CHECK(stats.duplicates == 0);
}

TEST_CASE("a second enqueue of an id stores nothing and names the first one's place") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  CHECK(enqueueOne(*store, frameOf("s", "{}", "key")).isNew());
  const EnqueueReceipt again = enqueueOne(*store, frameOf("t", "{}", "key"));
  CHECK(again.status == EnqueueStatus::duplicate);
  CHECK(again.sequence == 2);
  CHECK(again.accepted());
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 3);
  CHECK(store::Reader(world.file, world.options).stats().pending == 3);
}

TEST_CASE("P3: what cannot be taken is refused with a reason") {
  StoreWorld world;
  world.options.maxPending = 2;
  world.options.maxPendingBytes = 10;
  world.options.frameBytesMax = 8;
  const auto store = world.open();
  Frame stranger = frameOf("s");
  stranger.peer = "stranger";
  CHECK(enqueueOne(*store, stranger).status == EnqueueStatus::unknownPeer);
  CHECK(enqueueOne(*store, frameOf("s", "123456789")).status == EnqueueStatus::frameTooLarge);
  CHECK(enqueueOne(*store, frameOf("s", "12345678", "key")).isNew());
  CHECK(enqueueOne(*store, frameOf("s", "123")).status == EnqueueStatus::queueFull);
  CHECK(enqueueOne(*store, frameOf("s", "12")).isNew());
  const EnqueueReceipt full = enqueueOne(*store, frameOf("s", ""));
  CHECK(full.status == EnqueueStatus::queueFull);
  CHECK(full.detail == "maxPending = 2 is reached: try again later");
  CHECK(enqueueOne(*store, frameOf("s", "", "key")).status == EnqueueStatus::duplicate);
}

TEST_CASE("only the configured peers are addressed; those of an earlier configuration keep their rows") {
  StoreWorld world;
  world.options.peers = {PeerOptions{"alice", "http://a/inbox", "urn:a", 4}, PeerOptions{"bob", {}, {}, 4}};
  Frame frame = frameOf("s");
  frame.peer = "bob";
  const std::string id = enqueueOne(*world.open(), frame).messageId;
  world.options.peers = {PeerOptions{"alice", "http://b/inbox", "urn:b", 4}};
  const auto store = world.open();
  CHECK(store->peers().size() == 1);
  CHECK(store->peers()[0].url == "http://b/inbox");
  CHECK(store->peer(store->peers()[0].key)->name == "alice");
  CHECK(enqueueOne(*store, frame).status == EnqueueStatus::unknownPeer);
  CHECK(store::Reader(world.file, world.options).find(id)->peer == "bob");
}

TEST_CASE("foreign code that ends the guarded transaction is vetoed or noticed, and nothing of it stays") {
  StoreWorld world;
  const auto store = world.open();
  store->begin(false);
  store->enqueue(frameOf("s"));
  store->guardTransaction(true);
  SUBCASE("commit") {
    CHECK_THROWS(store->database().exec("COMMIT"));
  }
  SUBCASE("rollback") {
    store->database().exec("ROLLBACK");
  }
  SUBCASE("rollback, and a new transaction to hide it") {
    store->database().exec("ROLLBACK; BEGIN");
  }
  store->guardTransaction(false);
  CHECK(store->transactionLost());
  try {
    store->commit();
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::handlerEndedTransaction);
  }
  CHECK_FALSE(store->inTransaction());
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 1);
}

TEST_CASE("generated ids sort in the order of their making, whatever the clock does") {
  store::UuidGenerator uuids;
  const auto random = seededRandom(3);
  WallTime now(std::chrono::milliseconds(1'700'000'000'000));
  std::string last;
  for (int count = 0; count < 20'000; ++count) {
    if (count == 10'000) {
      now -= std::chrono::hours(1);
    }
    const std::string next = toString(uuids.next(now, *random, count));
    REQUIRE(last < next);
    last = next;
  }
  CHECK(last.size() == 36);
  CHECK(last.substr(26) == "0000019999");
  CHECK(last[14] == '7');
  CHECK(std::string("89ab").find(last[19]) != std::string::npos);
}
