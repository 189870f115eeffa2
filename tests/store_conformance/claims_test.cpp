// Goal: P7, what a process had in flight is back in play as soon as it is dead, never while it lives; sessions in
// backoff or in flight elsewhere are not taken; and a claim gives what is stored, whatever a handle remembers.
// Method: several handles, some of which die.

#include <doctest/doctest.h>

#include "delivery/types.hpp"
#include "store_conformance/world.hpp"

namespace claims_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

namespace {

delivery::SessionClaim wantedOf(const store::ClaimReply& reply) {
  delivery::SessionClaim wanted{reply.sessions.at(0).session, {}};
  for (const delivery::ClaimedRow& row : reply.sessions.at(0).rows) {
    wanted.keys.push_back(row.key);
  }
  return wanted;
}

delivery::RowSeen onlyNew(store::Store& store) {
  const store::NewRows newRows = store.discovery().take(10);
  REQUIRE(newRows.rows.size() == 1);
  return newRows.rows.front();
}

Frame fullFrame() {
  Frame frame = frameOf("s", R"({"a":1})", "full");
  frame.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  frame.correlationId = "question";
  frame.resentOf = "first";
  frame.expiresAt = WallTime(std::chrono::hours(1'000'000));
  return frame;
}

/// Charges what was claimed, whose session goes on at this instant.
void retryAt(store::Store& store, const store::ClaimReply& reply, WallTime dueAt, bool isFirm = false) {
  const auto retry = settlementOf(reply, Transition::retry);
  delivery::SessionRelease released{.session = retry.session, .dueAt = dueAt, .previousSequence = {}};
  released.isFirm = isFirm;
  inTransaction(store, [&] {
    store.settles().settle({&retry, 1});
    store.claims().endClaims({&released, 1});
  });
}

}  // namespace

TEST_CASE(
    "P7: row 2: a session in flight in a live process is busy, and is taken over once that process closed its store") {
  World world;
  auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  enqueueOne(*first, frameOf("s"));
  const auto wanted = wantedOf(claimNew(*first));
  CHECK(wanted.keys.size() == 2);
  CHECK(claimOf(*second, wanted).sessions.at(0).status == ClaimStatus::busy);
  CHECK_FALSE(second->owners().anyDead());
  CHECK(second->owners().shared());

  first.reset();
  CHECK_FALSE(second->owners().anyDead());
  CHECK_FALSE(second->owners().shared());
  const auto reply = claimOf(*second, wanted);
  CHECK(reply.sessions.at(0).status == ClaimStatus::claimed);
  CHECK(reply.sessions.at(0).rows.at(0).attempt == 2);
  CHECK(reply.sessions.at(0).rows.at(0).retryCount == 0);
}

TEST_CASE("P7: row 14: the rows of a dead owner are put back without a charge, and its late settle is refused") {
  World world;
  const auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto lost = claimNew(*first);
  CHECK(inTransaction(*second, [&] { return second->owners().releaseDead(); }) == 0);

  world.crash(*first);
  CHECK(second->owners().anyDead());
  CHECK(inTransaction(*second, [&] { return second->owners().releaseDead(); }) == 1);
  const auto reader = world.reader();
  CHECK(reader->stats().pending == 1);
  CHECK(reader->stats().sending == 0);
  CHECK(claimOf(*second, wantedOf(lost)).sessions.at(0).status == ClaimStatus::claimed);
  bool isSettled = false;
  try {
    isSettled = settleOne(*first, settlementOf(lost, Transition::ack)).has_value();
  } catch (const Error&) {
    // A store may be out of reach for who is dead.
  }
  CHECK_FALSE(isSettled);
  CHECK(reader->stats().sending == 1);
}

TEST_CASE("P7: row 14: of a row that its holder claims twice, only the second claim settles it, once") {
  World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const auto first = claimNew(*store);
  const auto second = claimOf(*store, wantedOf(first));
  REQUIRE(second.sessions.at(0).rows.size() == 1);
  CHECK(second.sessions.at(0).rows.at(0).attempt == 2);
  const auto reader = world.reader();
  for (const Transition late : {Transition::ack, Transition::fail, Transition::retry, Transition::release}) {
    CHECK_FALSE(settleOne(*store, settlementOf(first, late)));
    CHECK(reader->stats().sending == 1);
  }
  CHECK(reader->stats().staleSettles == 4);
  CHECK(settleOne(*store, settlementOf(second, Transition::ack)));
  CHECK_FALSE(settleOne(*store, settlementOf(second, Transition::ack)));
  CHECK(reader->stats().acked == 1);
}

TEST_CASE("P7: row 14: the numbers of claims go on over a release, a retry and a restart") {
  World world;
  auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  auto reply = claimNew(*store);
  const auto wanted = wantedOf(reply);
  std::uint32_t attempt = 1;
  for (const Transition transition : {Transition::release, Transition::retry, Transition::release}) {
    CHECK(reply.sessions.at(0).rows.at(0).attempt == attempt++);
    const auto late = settlementOf(reply, Transition::ack);
    REQUIRE(settleOne(*store, settlementOf(reply, transition)));
    reply = claimOf(*store, wanted);
    CHECK_FALSE(settleOne(*store, late));
  }
  const auto beforeTheRestart = settlementOf(reply, Transition::ack);
  store.reset();
  store = world.open();
  reply = claimOf(*store, wanted);
  CHECK_FALSE(settleOne(*store, beforeTheRestart));
  CHECK(settleOne(*store, settlementOf(reply, Transition::ack)));
}

TEST_CASE("P7: defect 2: opening puts back what a dead process was sending") {
  World world;
  const auto first = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto lost = claimNew(*first);
  world.crash(*first);
  const auto second = world.open();
  CHECK(world.stats().pending == 1);
  CHECK(claimOf(*second, wantedOf(lost)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE("P8: a backoff set by one process holds in the other, until it is due or the clock stepped back") {
  World world;
  const auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto reply = claimNew(*first);
  const WallTime dueAt = world.clock->wallNow() + std::chrono::seconds(5);
  retryAt(*first, reply, dueAt);
  const auto refused = claimOf(*second, wantedOf(reply));
  CHECK(refused.sessions.at(0).status == ClaimStatus::notDue);
  CHECK(refused.sessions.at(0).dueAt == dueAt);

  SUBCASE("due") {
    world.clock->advance(std::chrono::seconds(5));
  }
  SUBCASE("the clock went back by a day") {
    world.clock->step(-std::chrono::hours(24));
  }
  CHECK(claimOf(*second, wantedOf(reply)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE("P3: row 18: an instant that was chosen stands in the other process, however far ahead it is") {
  World world;
  const auto first = world.open();
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  const auto reply = claimNew(*first);
  retryAt(*first, reply, world.clock->wallNow() + std::chrono::hours(50), true);
  CHECK(claimOf(*second, wantedOf(reply)).sessions.at(0).status == ClaimStatus::notDue);
  world.clock->advance(std::chrono::hours(50));
  CHECK(claimOf(*second, wantedOf(reply)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE(
    "P4: a claim that finds deferred rows tells their deadline, leaves out what is gone, and gives the session back") {
  World world;
  const auto store = world.open();
  const auto other = world.open();
  enqueueOne(*store, frameOf("s"));
  enqueueOne(*store, frameOf("s"));
  const auto reply = claimNew(*store);
  auto deferred = settlementOf(reply, Transition::defer);
  deferred.dueAt = world.clock->wallNow() + std::chrono::seconds(60);
  const std::vector<delivery::Settlement> settlements{deferred, settlementOf(reply, Transition::ack, 0, 1)};
  const delivery::SessionRelease released{.session = deferred.session, .dueAt = {}, .previousSequence = 2};
  inTransaction(*store, [&] {
    store->settles().settle(settlements);
    store->claims().endClaims({&released, 1});
  });
  const auto again = claimOf(*store, wantedOf(reply));
  CHECK(again.sessions.at(0).rows.empty());
  REQUIRE(again.sessions.at(0).deferred.size() == 1);
  CHECK(again.sessions.at(0).deferred.at(0).dueAt == deferred.dueAt);
  CHECK(again.sessions.at(0).previousSequence == 2);
  CHECK(claimOf(*other, wantedOf(reply)).sessions.at(0).status == ClaimStatus::claimed);
}

TEST_CASE("P3: a claimed message carries the exact bytes and all that its author gave") {
  World world;
  const auto store = world.open();
  Frame frame = frameOf("lane", std::string("{\"a\":\"\0x\"}", 10));
  frame.traceparent = "00-trace";
  frame.correlationId = "before";
  frame.resentOf = "first";
  frame.expiresAt = world.clock->wallNow() + std::chrono::hours(1);
  const auto receipt = enqueueOne(*store, frame);
  const auto reply = claimNew(*store);
  const OutboundFrame& sent = reply.messages.at(0).frame;
  CHECK(sent.messageId == receipt.messageId);
  CHECK(sent.session == "lane");
  CHECK(sent.type == "test");
  CHECK(sent.data == frame.data);
  CHECK(sent.sequence == 1);
  CHECK(sent.traceparent == "00-trace");
  CHECK(sent.correlationId == "before");
  CHECK(sent.resentOf == "first");
  CHECK(sent.expiresAt == frame.expiresAt);
  CHECK(sent.enqueuedAt == world.clock->wallNow());
}

TEST_CASE("P3: a claim gives the same whether its handle has the message in memory or has to read it") {
  const World world;
  auto store = world.open();
  enqueueOne(*store, fullFrame());
  const delivery::RowSeen row = onlyNew(*store);
  const store::ClaimReply known = claimOf(*store, row);
  store = nullptr;
  store = world.open();
  const store::ClaimReply read = claimOf(*store, row);
  REQUIRE(known.messages.size() == 1);
  REQUIRE(read.messages.size() == 1);
  const OutboundFrame& left = known.messages.front().frame;
  const OutboundFrame& right = read.messages.front().frame;
  CHECK(left.messageId == right.messageId);
  CHECK(left.session == right.session);
  CHECK(left.type == right.type);
  CHECK(left.data == right.data);
  CHECK(left.sequence == right.sequence);
  CHECK(left.previousSequence == right.previousSequence);
  CHECK(left.retryCount == right.retryCount);
  CHECK(left.enqueuedAt == right.enqueuedAt);
  CHECK(left.expiresAt == right.expiresAt);
  CHECK(left.traceparent == right.traceparent);
  CHECK(left.correlationId == right.correlationId);
  CHECK(left.resentOf == right.resentOf);
  CHECK(left.data == R"({"a":1})");
  const delivery::ClaimedRow& first = known.sessions.front().rows.front();
  // The first claim is over by now.
  CHECK(read.sessions.front().rows.front().attempt == first.attempt + 1);
  CHECK(read.sessions.front().rows.front().dataBytes == first.dataBytes);
}

TEST_CASE("P3: what was superseded, acknowledged or undone is not claimed, though its handle knew it") {
  const World world;
  const auto store = world.open();
  SUBCASE("superseded") {
    Frame frame = frameOf("s");
    frame.supersedeKey = "k";
    enqueueOne(*store, frame);
    const delivery::RowSeen row = onlyNew(*store);
    enqueueOne(*store, frame);
    CHECK(claimOf(*store, row).messages.empty());
  }
  SUBCASE("acknowledged by its id") {
    enqueueOne(*store, frameOf("s", "{}", "early"));
    const delivery::RowSeen row = onlyNew(*store);
    REQUIRE(inTransaction(*store, [&] { return store->settles().ackById("early").has_value(); }));
    CHECK(claimOf(*store, row).messages.empty());
  }
  SUBCASE("undone: the key is another's by now") {
    store->begin(false);
    static_cast<void>(store->outbox().enqueue(frameOf("s", R"("undone")")));
    store->rollback();
    enqueueOne(*store, frameOf("s", R"("stored")"));
    const store::ClaimReply reply = claimOf(*store, onlyNew(*store));
    REQUIRE(reply.messages.size() == 1);
    CHECK(reply.messages.front().frame.data == R"("stored")");
  }
  SUBCASE("undone in a nested scope") {
    store->begin(false);
    store->savepoint();
    static_cast<void>(store->outbox().enqueue(frameOf("s", R"("undone")")));
    store->rollbackToSavepoint();
    static_cast<void>(store->outbox().enqueue(frameOf("s", R"("stored")")));
    store->commit();
    const store::ClaimReply reply = claimOf(*store, onlyNew(*store));
    REQUIRE(reply.messages.size() == 1);
    CHECK(reply.messages.front().frame.data == R"("stored")");
  }
}

TEST_CASE("P3: what another process settled, or ordered for a session, holds for a handle that knew it otherwise") {
  const World world;
  const auto store = world.open();
  const auto other = world.open();
  enqueueOne(*store, frameOf("s", "{}", "shared"));
  const delivery::RowSeen row = onlyNew(*store);
  SUBCASE("settled") {
    REQUIRE(inTransaction(*other, [&] { return other->settles().ackById("shared").has_value(); }));
    CHECK(claimOf(*store, row).messages.empty());
  }
  SUBCASE("paused") {
    inTransaction(*other, [&] { other->holds().pauseSession("default", "s"); });
    CHECK(claimOf(*store, row).sessions.front().status == ClaimStatus::halted);
  }
}

TEST_CASE("P2: what a transaction claims, a question by id, a supersession and a change by hand in it see") {
  const World world;
  const auto store = world.open();
  Frame position = frameOf("s");
  position.supersedeKey = "position";
  const std::string first = enqueueOne(*store, position).messageId;
  const delivery::RowSeen row = onlyNew(*store);
  const delivery::SessionClaim claim{row.session, {row.key}};
  store->begin(false);
  const store::ClaimReply reply = store->claims().claim({&claim, 1});
  REQUIRE(reply.messages.size() == 1);
  SUBCASE("a supersession leaves it alone") {
    CHECK(store->outbox().enqueue(position).supersededId.empty());
  }
  SUBCASE("a change by hand is refused") {
    const ChangeReceipt receipt = store->deadLetters().change(first, delivery::Transition::fail, {}).receipt;
    CHECK(receipt.refusal == Errc::invalidTransition);
    CHECK(receipt.state == MessageState::sending);
  }
  bool isStillOurs = true;
  SUBCASE("the peer's word finds it in flight") {
    CHECK(store->settles().ackById(first));
    isStillOurs = false;
  }
  SUBCASE("a nested scope that is undone does not take it back") {
    store->savepoint();
    store->rollbackToSavepoint();
  }
  store->commit();
  CHECK(settleOne(*store, settlementOf(reply, delivery::Transition::ack)).has_value() == isStillOurs);
}

}  // namespace claims_test
