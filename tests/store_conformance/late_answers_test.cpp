// Goal: an answer counts for what the peer knew when it gave it: what it says of messages that it has forgotten since
// settles nothing.
// Method: a reset between a claim and its answer, noticed by the same handle, by another, and in the answer's own step.

#include <doctest/doctest.h>

#include "store_conformance/forgetful_peer.hpp"

namespace late_answers_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

TEST_CASE("P3 P5: an answer to what was claimed before the peer forgot gives the row back, and nothing passes it") {
  Kept world;
  const auto store = world.open();
  const auto other = world.open();
  Kept::meet(*store, "one");
  enqueueOne(*store, frameOf("s", "1"));
  const auto rows = store->discovery().take(100).rows;
  const auto reply = Kept::claim(*store, rows.at(0).session, {rows.at(0).key});
  enqueueOne(*store, frameOf("s", "2"));
  const auto later = store->discovery().take(100).rows;
  // Another process hears of it, or this one, by another answer that came first.
  bool hearsItself = false;
  auto transition = Transition::ack;
  SUBCASE("by another process, acknowledged") {}
  SUBCASE("by another process, deferred") {
    transition = Transition::defer;
  }
  SUBCASE("by this process, acknowledged") {
    hearsItself = true;
  }
  SUBCASE("by this process, deferred") {
    hearsItself = true;
    transition = Transition::defer;
  }
  REQUIRE(Kept::hear(hearsItself ? *store : *other, PeerResetKind::peerLost, "two"));
  // The machine is told while its request is under way, and takes the answer for what it was.
  inTransaction(*store, [] {});
  const auto told = store->discovery().take(100);
  REQUIRE(told.recalls);
  auto acked = settlementOf(reply, transition);
  acked.recalls = *told.recalls - 1;
  const delivery::SessionRelease release{
      .session = acked.session, .recalls = acked.recalls, .dueAt = {}, .previousSequence = 1};
  const delivery::SessionClaim next{later.at(0).session, {later.at(0).key}};
  const auto claimed = inTransaction(*store, [&] {
    CHECK_FALSE(store->settles().settle({&acked, 1}).front());
    store->claims().endClaims({&release, 1});
    return store->claims().claim({&next, 1}, *told.recalls);
  });
  CHECK(claimed.sessions[0].status == ClaimStatus::busy);
  const auto reader = world.reader();
  CHECK(reader->stats().pending == 2);
  CHECK(reader->stats().acked == 0);
  CHECK(reader->sessionStats("default", "s")->acceptedSequence == 0);
  CHECK(world.problems() == "");
  const auto again = store->discovery().take(100);
  REQUIRE(again.rows.size() == 2);
  REQUIRE(again.recalls);
  auto both = Kept::claim(*store, rows.at(0).session, {again.rows[0].key, again.rows[1].key});
  REQUIRE(both.messages.size() == 2);
  // An answer to this claim counts.
  auto counts = settlementOf(both, Transition::ack);
  counts.recalls = *again.recalls;
  CHECK(settleOne(*store, counts));
}

TEST_CASE("P3: an answer from before a reset does not count in the step that brings the reset") {
  Kept world;
  const auto store = world.open();
  Kept::meet(*store, "one");
  enqueueOne(*store, frameOf("s", "1"));
  const auto rows = store->discovery().take(100).rows;
  const auto reply = Kept::claim(*store, rows.at(0).session, {rows.at(0).key});
  delivery::PeerIdentity identity;
  identity.peer = store->peers().rows().front().key;
  identity.found = PeerResetKind::peerLost;
  identity.store = "two";
  identity.storeEpoch = 1;
  auto acked = settlementOf(reply, Transition::ack);
  acked.recalls = 0;
  bool counts = false;
  SUBCASE("it came before the reset was seen") {}
  SUBCASE("it came with what shows the reset, so that it is from after the reset") {
    acked.isAfterReset = true;
    counts = true;
  }
  SUBCASE("the step is undone, and the answer comes again alone") {
    store->begin(false);
    REQUIRE(store->peerResets().recordIdentity(identity));
    CHECK_FALSE(store->settles().settle({&acked, 1}).front());
    store->rollback();
    CHECK(settleOne(*store, acked));
    CHECK(world.problems() == "");
    return;
  }
  const delivery::SessionRelease release{.session = acked.session,
                                         .recalls = acked.recalls,
                                         .isAfterReset = acked.isAfterReset,
                                         .dueAt = {},
                                         .previousSequence = 1};
  inTransaction(*store, [&] {
    REQUIRE(store->peerResets().recordIdentity(identity));
    CHECK(store->settles().settle({&acked, 1}).front().has_value() == counts);
    store->claims().endClaims({&release, 1});
  });
  const auto reader = world.reader();
  CHECK(reader->stats().acked == (counts ? 1 : 0));
  CHECK(reader->stats().pending == (counts ? 0 : 1));
  // The next message names it, so that a peer that has lost it in turn does not take that one before.
  CHECK(reader->sessionStats("default", "s")->acceptedSequence == (counts ? 1 : 0));
  CHECK(world.problems() == "");
}

TEST_CASE("P3: unordered messages whose answers came after a reset are settled, also beside one that is given back") {
  Kept world;
  const auto store = world.open();
  Kept::meet(*store, "one");
  for (const char* data : {"1", "2"}) {
    enqueueOne(*store, frameOf("", data));
  }
  const auto rows = store->discovery().take(100).rows;
  REQUIRE(rows.size() == 2);
  const auto claimOf = [&](std::size_t index) {
    return Kept::claim(*store, delivery::unitOf(rows[index].key), {rows[index].key});
  };
  auto before = settlementOf(claimOf(0), Transition::ack);
  before.recalls = 0;
  REQUIRE(Kept::hear(*store, PeerResetKind::peerLost, "two"));
  const auto told = store->discovery().take(100);
  REQUIRE(told.recalls);
  auto after = settlementOf(claimOf(1), Transition::ack);
  after.recalls = *told.recalls;
  CHECK_FALSE(settleOne(*store, before));
  CHECK(settleOne(*store, after));
  CHECK(world.problems() == "");
}

}  // namespace late_answers_test
