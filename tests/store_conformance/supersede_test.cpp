// Goal: with a supersede key only the latest pending message of a session is kept; nothing goes unseen (P3), and what
// is in flight is left alone.
// Method: enqueues with keys, before and after claims.

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace supersede_test {

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("P3: a pending message is replaced at the session's tail, counted, told and named by the receipt") {
  World world;
  const auto store = world.open();
  const auto reader = world.reader();
  const EnqueueReceipt first = enqueueOne(*store, latest("position", "[1]"));
  CHECK(first.supersededId.empty());
  const EnqueueReceipt between = enqueueOne(*store, frameOf("s"));
  const EnqueueReceipt second = enqueueOne(*store, latest("position", "[1,2]"));
  CHECK(second.isNew());
  CHECK(second.sequence == 3);
  CHECK(second.supersededId == first.messageId);
  CHECK_FALSE(reader->find(first.messageId));
  const Stats stats = reader->stats();
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
  CHECK(world.problems() == "");
}

TEST_CASE("P3: keys are a session's own, and other keys and other sessions are left alone") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, latest("a"));
  CHECK(enqueueOne(*store, latest("b")).supersededId.empty());
  CHECK(enqueueOne(*store, latest("a", "{}", "t")).supersededId.empty());
  CHECK_FALSE(enqueueOne(*store, latest("a")).supersededId.empty());
}

TEST_CASE("P3: what is in flight is never replaced; back in backoff, it is") {
  World world;
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
  const auto reader = world.reader();
  CHECK(reader->stats().pending == 1);
  CHECK_FALSE(reader->find(first.messageId));
}

TEST_CASE("P3: a duplicate id replaces nothing") {
  World world;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, latest("k"));
  enqueueOne(*store, frameOf("s", "{}", "mine"));
  Frame frame = latest("k");
  frame.id = "mine";
  CHECK(enqueueOne(*store, frame).status == EnqueueStatus::duplicate);
  CHECK(world.find(first.messageId));
}

TEST_CASE("P3: row 11: the latest is taken though the queue is full, in the place of the one it replaces") {
  World world;
  world.options.maxPending = 1;
  const auto store = world.open();
  enqueueOne(*store, latest("k"));
  CHECK(enqueueOne(*store, latest("other")).status == EnqueueStatus::queueFull);
  CHECK(enqueueOne(*store, latest("k")).isNew());
}

}  // namespace supersede_test
