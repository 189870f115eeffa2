// Goal: a delayed row is not given out before its time, survives a restart, and neither an early nor an endless wait
// comes of a calendar that steps.
// Method: claims, with time that moves when told.

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace delay_test {

using namespace ackbox;
using namespace ackbox::testing;
using namespace std::chrono_literals;
using delivery::ClaimStatus;

namespace {

struct Delayed : World {
  explicit Delayed(std::string session = "s") {
    store = open();
    Frame frame = frameOf(std::move(session));
    frame.notBefore = clock->wallNow() + 72h;
    receipt = enqueueOne(*store, frame);
    row = store->discovery().take(10).rows.at(0);
  }
  delivery::SessionClaimed claim(bool waited = false) {
    const bool unordered = receipt.sequence == 0;
    const delivery::SessionClaim wanted{
        unordered ? delivery::unitOf(row.key) : row.session, {row.key}, waited ? row.key : 0};
    return claimOf(*store, wanted).sessions.at(0);
  }

  std::unique_ptr<store::Store> store;
  EnqueueReceipt receipt;
  delivery::RowSeen row;
};

}  // namespace

TEST_CASE("P4: a delayed head is not given out before its time, also after a restart") {
  for (const char* session : {"s", ""}) {
    CAPTURE(session);
    Delayed world(session);
    CHECK(world.row.dueAt == world.clock->wallNow() + 72h);
    const delivery::SessionClaimed early = world.claim();
    CHECK(early.status == ClaimStatus::notDue);
    CHECK(early.delayed == world.row.key);
    CHECK(early.dueAt == world.clock->wallNow() + 72h);
    world.store.reset();
    world.store = world.open();
    CHECK(world.store->discovery().take(10).rows.at(0).dueAt == early.dueAt);
    world.clock->advance(72h - 1ms);
    CHECK(world.claim().status == ClaimStatus::notDue);
    world.clock->advance(1ms);
    CHECK(world.claim().rows.size() == 1);
    CHECK(world.problems() == "");
  }
}

TEST_CASE("P4: what comes later in the session waits behind it, what comes before does not") {
  World world;
  const auto store = world.open();
  Frame delayed = frameOf("s");
  delayed.notBefore = world.clock->wallNow() + 5s;
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, delayed);
  enqueueOne(*store, frameOf("s"));
  const store::ClaimReply reply = claimNew(*store);
  CHECK(reply.sessions.at(0).status == ClaimStatus::claimed);
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.messages[0].frame.sequence == 1);
}

TEST_CASE("P3: a calendar set back neither releases a delayed row early nor lets it wait for ever") {
  Delayed world;
  // Before the enqueue: nobody knows how much of the delay is over, so its whole length is asked for.
  world.clock->step(-24h * 3650);
  const delivery::SessionClaimed lost = world.claim();
  CHECK(lost.status == ClaimStatus::notDue);
  CHECK(lost.dueAt == world.clock->wallNow() + 72h);
  CHECK(world.claim(true).rows.size() == 1);
}

TEST_CASE("P3: a calendar set back to after the enqueue is believed") {
  Delayed world;
  world.clock->advance(48h);
  world.clock->step(-24h);
  CHECK(world.claim(true).status == ClaimStatus::notDue);
  world.clock->step(48h);
  CHECK(world.claim().rows.size() == 1);
}

TEST_CASE("P3: a delay that was over at the enqueue is none, whatever becomes of the calendar") {
  World world;
  const auto store = world.open();
  Frame frame = frameOf("s");
  frame.notBefore = world.clock->wallNow();
  enqueueOne(*store, frame);
  world.clock->step(-1h);
  CHECK(claimNew(*store).messages.size() == 1);
}

TEST_CASE("P10: explain and find say that a message is not to be sent yet") {
  Delayed world;
  const auto reader = world.reader();
  const auto explanation = reader->explain(world.receipt.messageId);
  REQUIRE(explanation);
  REQUIRE_FALSE(explanation->reasons.empty());
  CHECK(explanation->reasons[0].blockReason == BlockReason::notBefore);
  CHECK(explanation->reasons[0].until == world.row.dueAt);
  CHECK(reader->find(world.receipt.messageId)->dueAt == world.row.dueAt);
}

TEST_CASE("P10: an unordered row in backoff is not given out, and explained so") {
  World world;
  const auto store = world.open();
  const EnqueueReceipt receipt = enqueueOne(*store, frameOf(""));
  const delivery::RowSeen row = store->discovery().take(10).rows.at(0);
  const delivery::SessionClaim wanted{delivery::unitOf(row.key), {row.key}};
  const auto claim = [&] { return inTransaction(*store, [&] { return store->claims().claim({&wanted, 1}); }); };
  delivery::Settlement retry = settlementOf(claim(), delivery::Transition::retry);
  retry.dueAt = world.clock->wallNow() + 5s;
  retry.error = "busy";
  CHECK(settleOne(*store, retry));
  CHECK(claim().sessions.at(0).status == ClaimStatus::notDue);
  const auto explanation = world.reader()->explain(receipt.messageId);
  REQUIRE(explanation->reasons.size() == 1);
  CHECK(explanation->reasons[0].blockReason == BlockReason::backoff);
  CHECK(explanation->reasons[0].detail == "busy");
  // A calendar set back by more than any backoff: the row is due.
  world.clock->step(-24h);
  CHECK(claim().sessions.at(0).rows.size() == 1);
}

}  // namespace delay_test
