// Goal: an idempotency key makes an enqueue happen once, by whatever way and in whatever process it comes.
// Method: handles, and an application's transactions; time that moves when told.

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace idempotency_test {

using namespace ackbox;
using namespace ackbox::testing;
using namespace std::chrono_literals;

namespace {

void ackAll(store::Store& store) {
  const store::ClaimReply reply = claimNew(store);
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    for (std::size_t row = 0; row < reply.sessions[session].rows.size(); ++row) {
      settleOne(store, settlementOf(reply, delivery::Transition::ack, session, row));
    }
  }
}

}  // namespace

TEST_CASE("P5: row 17: a second enqueue with the same idempotency key stores nothing and names the first message") {
  World world;
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
  CHECK(world.problems() == "");
}

TEST_CASE(
    "P3: row 17: a key that is used again for another session, type or data is told, also behind the message's end") {
  World world;
  const auto store = world.open();
  const Frame frame = keyed("k");
  const std::string first = enqueueOne(*store, frame).messageId;
  const auto check = [&] {
    CHECK_FALSE(enqueueOne(*store, frame).isConflict);
    for (std::string Frame::*const member : {&Frame::session, &Frame::type, &Frame::data}) {
      Frame other = frame;
      other.*member = "7";
      const EnqueueReceipt receipt = enqueueOne(*store, other);
      CHECK(receipt.status == EnqueueStatus::duplicate);
      CHECK(receipt.isConflict);
      CHECK(receipt.messageId == first);
    }
  };
  check();
  ackAll(*store);
  check();
  CHECK(world.problems() == "");
}

TEST_CASE("P5: row 17: the key outlives the ACK and the deletion of its message, by the retention and no longer") {
  World world;
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

TEST_CASE("P5: row 17: the key of a message that is replaced outlives it no longer than the retention") {
  World world;
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

TEST_CASE("P5: row 17: a message that is still in the store keeps its key, however old it is") {
  World world;
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

TEST_CASE("P5: row 17: a repetition long after the retention stores nothing while its message is there, in any state") {
  World world;
  world.options.idempotencyRetention = 10min;
  world.options.ackedRetention = 1'000h;
  const auto store = world.open();
  const auto application = world.application();
  const auto repeat = [&](const std::string& key) {
    const EnqueueReceipt inStore = enqueueOne(*store, keyed(key));
    application->begin();
    const EnqueueReceipt inTheCallers = application->enqueue(keyed(key));
    application->commit();
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

TEST_CASE("P5: row 17: two processes with the same key store one row") {
  World world;
  const auto one = world.open();
  const auto other = world.open();
  const EnqueueReceipt first = enqueueOne(*one, keyed("k"));
  const EnqueueReceipt second = enqueueOne(*other, keyed("k"));
  CHECK(first.isNew());
  CHECK_FALSE(second.isNew());
  CHECK(second.messageId == first.messageId);
}

TEST_CASE("P5: row 17: a repetition is told the truth even while the queue is full") {
  World world;
  world.options.maxPending = 1;
  const auto store = world.open();
  const EnqueueReceipt first = enqueueOne(*store, keyed("k"));
  CHECK(enqueueOne(*store, keyed("other")).status == EnqueueStatus::queueFull);
  CHECK(enqueueOne(*store, keyed("k")).messageId == first.messageId);
}

TEST_CASE("P5: row 17: an enqueue that its id makes a duplicate does not take the key") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "mine"));
  Frame frame = keyed("k");
  frame.id = "mine";
  CHECK_FALSE(enqueueOne(*store, frame).isNew());
  CHECK(enqueueOne(*store, keyed("k")).isNew());
}

TEST_CASE("P4: defect 5: a calendar that goes backwards between enqueues does not reorder them") {
  World world;
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

}  // namespace idempotency_test
