// Goal: enqueues number their sessions without holes, refuse with a reason (P3), and recognise repetitions.
// Method: handles that take turns, and close.

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace enqueue_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

TEST_CASE("P4: sequences count from 1 in each session, across stores that take turns and across a reopening") {
  World world;
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

TEST_CASE("P5: a second enqueue of an id stores nothing and names the first one's place") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  CHECK(enqueueOne(*store, frameOf("s", "{}", "key")).isNew());
  const EnqueueReceipt again = enqueueOne(*store, frameOf("t", "{}", "key"));
  CHECK(again.status == EnqueueStatus::duplicate);
  CHECK(again.sequence == 2);
  CHECK(again.accepted());
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 3);
  CHECK(world.stats().pending == 3);
}

TEST_CASE("P3: what cannot be taken is refused with a reason") {
  World world;
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

TEST_CASE("P3: only the configured peers are addressed; those of an earlier configuration keep their rows") {
  World world;
  world.options.peers = {PeerOptions{"alice", "http://a/inbox", "urn:a", 4}, PeerOptions{"bob", {}, {}, 4}};
  Frame frame = frameOf("s");
  frame.peer = "bob";
  const std::string id = enqueueOne(*world.open(), frame).messageId;
  world.options.peers = {PeerOptions{"alice", "http://b/inbox", "urn:b", 4}};
  const auto store = world.open();
  CHECK(store->peers().rows().size() == 1);
  CHECK(store->peers().rows()[0].url == "http://b/inbox");
  CHECK(store->peers().find(store->peers().rows()[0].key)->name == "alice");
  CHECK(enqueueOne(*store, frame).status == EnqueueStatus::unknownPeer);
  CHECK(world.find(id)->peer == "bob");
}

TEST_CASE("P3: a limit of 0 bytes is none") {
  World world;
  world.options.maxPendingBytes = 0;
  const auto store = world.open();
  CHECK(enqueueOne(*store, frameOf("s", "123456789")).isNew());
  CHECK(enqueueOne(*store, frameOf("s", "1")).isNew());
}

TEST_CASE("P10: row 10, defect 7: totals survive a reopening, and the oldest row that waits is told") {
  World world;
  {
    const auto store = world.open();
    enqueueOne(*store, frameOf("s"));
    world.clock->advance(std::chrono::seconds(1));
    enqueueOne(*store, frameOf("s"));
    const auto reader = world.reader();
    CHECK(reader->stats().oldestPendingAt == world.clock->wallNow() - std::chrono::seconds(1));
    settleOne(*store, settlementOf(claimNew(*store), Transition::ack));
    CHECK(reader->stats().oldestPendingAt == world.clock->wallNow());
  }
  const auto store = world.open();
  const Stats stats = world.stats();
  CHECK(stats.enqueued == 2);
  CHECK(stats.acked == 1);
  // The second row was claimed too; closing put it back.
  CHECK(stats.pending == 1);
}

TEST_CASE("P6: the identity stays and the epoch grows with each open") {
  const World world;
  std::string origin;
  {
    const auto store = world.open();
    origin = store->origin();
    CHECK(origin.size() == 36);
    CHECK(store->epoch() == 1);
  }
  const auto store = world.open();
  CHECK(store->origin() == origin);
  CHECK(store->epoch() == 2);
  const auto second = world.open();
  inTransaction(*store, [] {});
  CHECK(store->epoch() == 3);
}

TEST_CASE("P3: room is counted over all processes, and what is undone takes none") {
  World world;
  world.options.maxPending = 3;
  const auto one = world.open();
  const auto other = world.open();
  enqueueOne(*one, frameOf("s"));
  one->begin(false);
  one->savepoint();
  static_cast<void>(one->outbox().enqueue(frameOf("s", "[1]")));
  CHECK(one->fill().rows == 2);
  CHECK(one->fill().bytes == 5);
  one->rollbackToSavepoint();
  CHECK(one->fill().rows == 1);
  CHECK(one->outbox().enqueue(frameOf("s")).isNew());
  one->commit();
  CHECK(enqueueOne(*other, frameOf("t")).isNew());
  CHECK(enqueueOne(*one, frameOf("s")).status == EnqueueStatus::queueFull);
  CHECK(inTransaction(*one, [&] { return one->fill().rows; }) == 3);
  const store::ClaimReply reply = claimNew(*other);
  REQUIRE(settleOne(*other, settlementOf(reply, Transition::ack)));
  CHECK(enqueueOne(*one, frameOf("s")).isNew());
  CHECK(world.problems() == "");
}

}  // namespace enqueue_test
