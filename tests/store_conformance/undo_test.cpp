// Goal: P2, what is undone, by a scope or by its transaction, leaves nothing behind, in the store or in a handle's
// memory. Method: each kind of change, undone; then the same once more, and what others see.

#include <doctest/doctest.h>

#include <algorithm>

#include "store_conformance/marks.hpp"
#include "store_conformance/world.hpp"

namespace undo_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using store::Admission;

TEST_CASE("P2: a rolled-back transaction leaves no number, no row and no count behind") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  store->begin(false);
  CHECK(store->outbox().enqueue(frameOf("s")).sequence == 2);
  CHECK(store->outbox().enqueue(frameOf("new")).sequence == 1);
  store->rollback();
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 2);
  CHECK(enqueueOne(*store, frameOf("new")).sequence == 1);
  CHECK(store->discovery().take(10).rows.size() == 3);
  CHECK(world.stats().enqueued == 3);
}

TEST_CASE("P2: an undone scope takes back its own enqueues only, and scopes nest") {
  World world;
  const auto store = world.open();
  store->begin(false);
  store->outbox().enqueue(frameOf("s"));
  store->savepoint();
  store->outbox().enqueue(frameOf("s"));
  store->savepoint();
  store->outbox().enqueue(frameOf("s"));
  store->inboundMarks().countDuplicate();
  store->rollbackToSavepoint();
  CHECK(store->outbox().enqueue(frameOf("s")).sequence == 3);
  store->releaseSavepoint();
  store->savepoint();
  store->outbox().enqueue(frameOf("s"));
  store->rollbackToSavepoint();
  CHECK(store->outbox().enqueue(frameOf("s")).sequence == 4);
  store->commit();
  CHECK(store->discovery().take(10).rows.size() == 4);
  const Stats stats = world.stats();
  CHECK(stats.pending == 4);
  CHECK(stats.duplicates == 0);
}

TEST_CASE("P2 P9: what is counted of a session whose key had been another peer's, undone since, is its own peer's") {
  World world;
  world.options.peers = {{.name = "undone"}, {.name = "kept"}};
  const auto store = world.open();
  const auto to = [](const char* peer, const char* id) {
    Frame frame = frameOf(peer, "{}", id);
    frame.peer = peer;
    return frame;
  };
  store->begin(false);
  SUBCASE("a scope is undone") {
    store->savepoint();
    REQUIRE(store->outbox().enqueue(to("undone", "a")).isNew());
    REQUIRE(store->settles().ackById("a"));
    store->rollbackToSavepoint();
  }
  SUBCASE("all is rolled back") {
    REQUIRE(store->outbox().enqueue(to("undone", "a")).isNew());
    REQUIRE(store->settles().ackById("a"));
    store->rollback();
    store->begin(false);
  }
  // Makes the session without an enqueue, and with the key that was given back.
  REQUIRE(store->holds().pauseSession("kept", "kept"));
  REQUIRE(store->outbox().enqueue(to("kept", "b")).isNew());
  REQUIRE(store->outbox().enqueue(to("kept", "c")).isNew());
  REQUIRE(store->settles().ackById("b"));
  store->commit();
  const auto reader = world.reader();
  for (const PeerStats& peer : reader->peerStats()) {
    CAPTURE(peer.peer);
    const std::uint64_t factor = peer.peer == "kept" ? 1 : 0;
    CHECK(peer.enqueued == 2 * factor);
    CHECK(peer.acked == factor);
    CHECK(peer.pending == factor);
  }
  CHECK(world.problems() == "");
}

TEST_CASE("P2: an undone scope and a rolled back transaction replace nothing and tell nothing") {
  World world;
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
  CHECK(world.find(first.messageId));
  CHECK(world.problems() == "");
}

TEST_CASE("P2: row 17: a nested scope that is undone frees its keys") {
  World world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    store->savepoint();
    CHECK(store->outbox().enqueue(keyed("k")).isNew());
    store->rollbackToSavepoint();
    CHECK(store->outbox().enqueue(keyed("k")).isNew());
  });
}

TEST_CASE("P2: a redrive that is rolled back leaves the dead letter and the session's numbers as they were") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "a"));
  REQUIRE(inTransaction(*store, [&] { return store->deadLetters().change("a", Transition::fail, {}); }).receipt.done());
  store->begin(false);
  CHECK(store->deadLetters().change("a", Transition::redrive, {}).receipt.sequence == 2);
  store->rollback();
  CHECK(world.find("a")->state == MessageState::failed);
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 2);
  CHECK(world.problems() == "");
}

TEST_CASE("P2: a claim that was rolled back is none") {
  const World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const delivery::RowSeen row = store->discovery().take(10).rows.at(0);
  const delivery::SessionClaim claim{row.session, {row.key}};
  store->begin(false);
  CHECK(store->claims().claim({&claim, 1}).messages.size() == 1);
  store->rollback();
  const store::ClaimReply reply = claimOf(*store, claim);
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.sessions.front().rows.front().attempt == 1);
  CHECK(settleOne(*store, settlementOf(reply, Transition::ack)));
}

TEST_CASE("P2: row 24: a commit that is rolled back leaves no latency behind") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "a"));
  store->begin(false);
  store->settles().ackById("a");
  store->rollback();
  CHECK(world.stats().enqueueToAck.count == 0);
  LatencyStats latencies;
  store->latencies().describe(latencies, world.clock->steadyNow());
  CHECK(latencies.recent == 0);
  world.clock->advance(std::chrono::milliseconds(7));
  inTransaction(*store, [&] { return store->settles().ackById("a"); });
  CHECK(world.stats().enqueueToAck.count == 1);
  store->latencies().describe(latencies, world.clock->steadyNow());
  CHECK(latencies.recent == 1);
  CHECK(latencies.p50 == std::chrono::milliseconds(7));
}

TEST_CASE("P5: a mark that is rolled back with its transaction lets the frame in again") {
  World world;
  const auto store = world.open();
  offer(*store, numbered(1, 0));
  store->begin(true);
  CHECK(store->inboundMarks().admit(numbered(2, 1)).admission == Admission::take);
  store->inboundMarks().markProcessed(numbered(2, 1), 0, kMarkLife);
  CHECK(store->inboundMarks().admit(numbered(2, 1)).admission == Admission::duplicate);
  store->rollback();
  CHECK(offer(*store, numbered(2, 1)).admission == Admission::take);
  CHECK(world.stats().received == 2);
}

TEST_CASE("P5: what a later frame's handler takes back leaves the marks before it") {
  World world;
  {
    const auto store = world.open();
    store->begin(true);
    store->inboundMarks().markProcessed(numbered(1, 0), 0, kMarkLife);
    store->savepoint();
    store->rollbackToSavepoint();
    CHECK(store->inboundMarks().admit(numbered(1, 0)).admission == Admission::duplicate);
    store->commit();
  }
  CHECK(offer(*world.open(), numbered(1, 0)).admission == Admission::duplicate);
}

}  // namespace undo_test
