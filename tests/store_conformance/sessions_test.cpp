// Goal: P4, a session's numbers go on where they ended, and its state is what its messages and operators made of it,
// whoever did and whatever a handle remembers.
// Method: releases, crashes and other handles between two messages of a session.

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace sessions_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;

namespace {

delivery::RowSeen onlyNew(store::Store& store) {
  const store::NewRows newRows = store.discovery().take(10);
  REQUIRE(newRows.rows.size() == 1);
  return newRows.rows.front();
}

std::uint64_t enqueueTo(store::Store& store, const std::string& session) {
  return enqueueOne(store, frameOf(session)).sequence;
}

// Acknowledges what was claimed and lets its sessions go, in the transaction under way.
void finish(store::Store& store, const store::ClaimReply& reply) {
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::ack, session);
    REQUIRE(store.settles().settle({&settlement, 1}).front());
    delivery::SessionRelease release;
    release.session = settlement.session;
    release.previousSequence = reply.sessions.at(session).rows.front().sequence;
    store.claims().endClaims({&release, 1});
  }
}

}  // namespace

TEST_CASE("P4: a session obeys what was ordered since its last claim, and tells what its messages made of it") {
  const World world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const store::ClaimReply first = claimNew(*store);
  CHECK(first.sessions.front().previousSequence == 0);
  const delivery::SessionKey session = first.sessions.front().session;
  inTransaction(*store, [&] {
    const delivery::Settlement settlement = settlementOf(first, delivery::Transition::ack);
    static_cast<void>(store->settles().settle({&settlement, 1}));
    delivery::SessionRelease release;
    release.session = session;
    release.previousSequence = 1;
    store->claims().endClaims({&release, 1});
  });
  Frame next = frameOf("s");
  next.priority = 7;
  enqueueOne(*store, next);
  const delivery::RowSeen row = onlyNew(*store);
  SUBCASE("acknowledged") {
    const store::ClaimReply second = claimOf(*store, row);
    CHECK(second.sessions.front().previousSequence == 1);
    CHECK(second.sessions.front().confirmedSequence == 1);
    CHECK(second.sessions.front().priority == 7);
  }
  SUBCASE("paused and resumed") {
    inTransaction(*store, [&] { store->holds().pauseSession("default", "s"); });
    CHECK(claimOf(*store, row).sessions.front().status == ClaimStatus::halted);
    inTransaction(*store, [&] { store->holds().resumeSession("default", "s"); });
    CHECK(claimOf(*store, row).sessions.front().status == ClaimStatus::claimed);
  }
  SUBCASE("in backoff") {
    const store::ClaimReply second = claimOf(*store, row);
    inTransaction(*store, [&] {
      delivery::Settlement settlement = settlementOf(second, delivery::Transition::retry);
      static_cast<void>(store->settles().settle({&settlement, 1}));
      delivery::SessionRelease release;
      release.session = session;
      release.dueAt = world.clock->wallNow() + std::chrono::seconds(30);
      store->claims().endClaims({&release, 1});
    });
    CHECK(claimOf(*store, row).sessions.front().status == ClaimStatus::notDue);
  }
  SUBCASE("forgotten by its peer") {
    delivery::PeerIdentity identity;
    identity.peer = store->peers().rows().front().key;
    identity.session = session;
    identity.store = "another";
    identity.storeEpoch = 1;
    identity.found = PeerResetKind::peerLost;
    inTransaction(*store, [&] { static_cast<void>(store->peerResets().recordIdentity(identity)); });
    static_cast<void>(store->discovery().take(10));
    CHECK(claimOf(*store, row).sessions.front().previousSequence == 0);
  }
}

TEST_CASE("P4: after a crash a session's numbers go on where its messages end") {
  const World world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  enqueueTo(*store, "t");
  enqueueTo(*store, "s");
  store->begin(false);
  static_cast<void>(store->outbox().enqueue(frameOf("s")));
  world.crash(*store);
  const auto next = world.open();
  CHECK(enqueueTo(*next, "s") == 3);
  CHECK(enqueueTo(*next, "t") == 2);
  CHECK(next->discovery().take(10).rows.size() == 5);
  CHECK(world.problems() == "");
}

TEST_CASE("P4: the number of a message that has gone is not given again, also after a crash") {
  World world;
  SUBCASE("acknowledged") {
    world.options.ackedRetention = {};
  }
  SUBCASE("acknowledged and kept") {
    world.options.ackedRetention = std::chrono::hours(1);
  }
  auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "a"));
  SUBCASE("by its id") {
    REQUIRE(inTransaction(*store, [&] { return store->settles().ackById("a").has_value(); }));
  }
  SUBCASE("a dead letter that is discarded") {
    inTransaction(*store, [&] {
      static_cast<void>(store->deadLetters().change("a", delivery::Transition::fail, "why"));
      static_cast<void>(store->deadLetters().change("a", delivery::Transition::discard, {}));
    });
  }
  SUBCASE("settled by its claim, and not released") {
    const store::ClaimReply reply = claimNew(*store);
    REQUIRE(settleOne(*store, settlementOf(reply, delivery::Transition::ack)).has_value());
  }
  SUBCASE("settled and released") {
    const store::ClaimReply reply = claimNew(*store);
    const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::ack);
    delivery::SessionRelease release;
    release.session = settlement.session;
    release.previousSequence = 1;
    inTransaction(*store, [&] {
      static_cast<void>(store->settles().settle({&settlement, 1}));
      store->claims().endClaims({&release, 1});
    });
  }
  world.crash(*store);
  CHECK(world.problems() == "");
  const auto next = world.open();
  CHECK(enqueueTo(*next, "s") == 2);
  CHECK(world.problems() == "");
}

TEST_CASE("P4: the number of a message that was superseded is not given again, also after a crash") {
  const World world;
  const auto store = world.open();
  Frame frame = frameOf("s");
  frame.supersedeKey = "k";
  enqueueOne(*store, frame);
  enqueueOne(*store, frame);
  const std::optional<SessionStats> stats = world.reader()->sessionStats("default", "s");
  REQUIRE(stats);
  CHECK(stats->live == 1);
  CHECK(stats->lastSequence == 2);
  world.crash(*store);
  const auto next = world.open();
  CHECK(enqueueTo(*next, "s") == 3);
  CHECK(world.problems() == "");
}

TEST_CASE("P3: a number that a peer has accepted is ours exactly if it was given here") {
  const World world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  enqueueTo(*store, "s");
  const delivery::RowSeen row = store->discovery().take(10).rows.front();
  delivery::SessionClaim claim{row.session, {row.key}};
  auto expected = delivery::ClaimStatus::claimed;
  SUBCASE("given") {
    claim.doubt = delivery::AcceptedFrame{.sequence = 2, .id = {}};
  }
  SUBCASE("not given") {
    claim.doubt = delivery::AcceptedFrame{.sequence = 3, .id = {}};
    expected = delivery::ClaimStatus::outdated;
  }
  CHECK(inTransaction(*store, [&] { return store->claims().claim({&claim, 1}); }).sessions.front().status == expected);
}

TEST_CASE("P4: a number is not given twice, though its session was released in the same transaction") {
  const World world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  const store::ClaimReply reply = claimNew(*store);
  store->begin(false);
  finish(*store, reply);
  // Undoing a scope may forget what a handle knows of sessions.
  store->savepoint();
  store->rollbackToSavepoint();
  CHECK(store->outbox().enqueue(frameOf("s")).sequence == 2);
  store->commit();
  CHECK(world.problems() == "");
}

TEST_CASE("P4: what another process moved of a session is known to the next claim") {
  const World world;
  const auto store = world.open();
  const auto other = world.open();
  enqueueTo(*store, "s");
  const store::ClaimReply first = claimNew(*store);
  inTransaction(*store, [&] { finish(*store, first); });
  static_cast<void>(other->discovery().take(10));
  enqueueTo(*other, "s");
  const store::ClaimReply second = claimNew(*other);
  CHECK(second.sessions.front().previousSequence == 1);
  inTransaction(*other, [&] { finish(*other, second); });
  static_cast<void>(store->discovery().take(10));
  enqueueTo(*store, "s");
  const store::ClaimReply third = claimNew(*store);
  CHECK(third.sessions.front().previousSequence == 2);
  CHECK(third.sessions.front().confirmedSequence == 2);
  CHECK(third.messages.front().frame.sequence == 3);
}

}  // namespace sessions_test
