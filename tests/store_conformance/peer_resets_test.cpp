// Goal: what a peer forgot is put back once, by one process; and no process claims a session whose rows were put back
// before it has read them (P4).
// Method: two handles, with a peer that says it is another one, or has less.

#include <doctest/doctest.h>

#include <algorithm>

#include "store_conformance/forgetful_peer.hpp"

namespace peer_resets_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

TEST_CASE("P3: a lost peer's kept messages are put back, once, whoever notices") {
  Kept world;
  const auto store = world.open();
  const auto other = world.open();
  for (const char* data : {"1", "2"}) {
    Kept::deliver(*store, frameOf("s", data));
  }
  Kept::meet(*store, "one");
  CHECK(world.problems() == "");
  const auto event = Kept::hear(*store, PeerResetKind::peerLost, "two");
  REQUIRE(event);
  CHECK(event->storeBefore == "one");
  CHECK(event->resent == 2);
  CHECK_FALSE(Kept::hear(*other, PeerResetKind::peerLost, "two"));
  CHECK(world.problems() == "");
  const auto reader = world.reader();
  CHECK(reader->stats().pending == 2);
  CHECK(reader->stats().ackedRetained == 0);
  CHECK(reader->peerStats().front().resets == 1);
  CHECK(reader->sessionStats("default", "s")->acceptedSequence == 0);
  const auto rows = store->discovery().take(100).rows;
  REQUIRE(rows.size() == 2);
  CHECK(Kept::claim(*store, rows[0].session, {rows[0].key, rows[1].key}).messages.size() == 2);
}

TEST_CASE("P4: a process that has not read what was put back may not claim the session") {
  Kept world;
  const auto store = world.open();
  const auto other = world.open();
  Kept::deliver(*store, frameOf("s", "1"));
  Kept::meet(*store, "one");
  enqueueOne(*store, frameOf("s", "2"));
  // The other one knows only of the second.
  const auto known = other->discovery().take(100).rows;
  REQUIRE(known.size() == 1);
  REQUIRE(Kept::hear(*store, PeerResetKind::peerLost, "two"));
  const delivery::SessionKey session = known[0].session;
  CHECK(Kept::claim(*other, session, {known[0].key}).sessions[0].status == ClaimStatus::busy);
  // Nor may the one that put it back, before its machine was told.
  CHECK(Kept::claim(*store, session, {known[0].key}).sessions[0].status == ClaimStatus::busy);
  const auto all = other->discovery().take(100).rows;
  REQUIRE(all.size() == 2);
  const auto reply = Kept::claim(*other, session, {all[0].key, all[1].key});
  REQUIRE(reply.messages.size() == 2);
  CHECK(reply.messages[0].frame.data == "1");
  CHECK(reply.sessions[0].previousSequence == 0);
  CHECK(world.problems() == "");
}

TEST_CASE(
    "P3: a restored peer is sent all that is kept once for each time that it was opened, then its session's own") {
  Kept world;
  const auto store = world.open();
  const delivery::SessionKey s = Kept::deliver(*store, frameOf("s", "1"));
  for (const char* session : {"s", "t", ""}) {
    Kept::deliver(*store, frameOf(session, "1"));
  }
  Kept::meet(*store, "one");
  const auto reader = world.reader();
  const auto first = Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 1, 5);
  REQUIRE(first);
  CHECK(first->session == "s");
  CHECK(first->resent == 4);
  CHECK(world.problems() == "");
  // Acknowledged again, and kept again.
  const auto reply = claimNew(*store);
  for (std::size_t index = 0; index < reply.sessions.size(); ++index) {
    for (std::size_t row = 0; row < reply.sessions[index].rows.size(); ++row) {
      auto acked = settlementOf(reply, Transition::ack, index, row);
      settleOne(*store, acked);
    }
    const delivery::SessionRelease release{
        .session = reply.sessions[index].session, .dueAt = {}, .previousSequence = {}};
    inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
  }
  CHECK(reader->stats().ackedRetained == 4);
  const auto second = Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 1, 5);
  REQUIRE(second);
  CHECK(second->resent == 1);
  CHECK(world.problems() == "");
  const auto third = Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 0, 6);
  REQUIRE(third);
  CHECK(third->resent == 3);
  CHECK(reader->peerStats().front().resets == 3);
  CHECK(reader->peerStats().front().resent == 8);
}

TEST_CASE("P5: by default nothing that is kept is put back, and the session goes on from what the peer has") {
  Kept world(PeerResetPolicy::proceed);
  const auto store = world.open();
  delivery::SessionKey session = 0;
  for (const char* data : {"1", "2", "3"}) {
    session = Kept::deliver(*store, frameOf("s", data));
  }
  const auto event = Kept::hear(*store, PeerResetKind::peerRestored, "one", session, 2);
  REQUIRE(event);
  CHECK(event->resent == 0);
  const auto reader = world.reader();
  CHECK(reader->stats().ackedRetained == 3);
  CHECK(reader->sessionStats("default", "s")->acceptedSequence == 2);
}

TEST_CASE("P3: what has expired is not put back, and what is put back begins its horizon anew") {
  Kept world;
  const auto store = world.open();
  Frame mortal = frameOf("s", "1");
  mortal.expiresAt = world.clock->wallNow() + std::chrono::seconds(10);
  Kept::deliver(*store, mortal);
  Kept::deliver(*store, frameOf("s", "2"));
  Kept::meet(*store, "one");
  world.clock->advance(std::chrono::minutes(30));
  const auto event = Kept::hear(*store, PeerResetKind::peerLost, "two");
  REQUIRE(event);
  CHECK(event->resent == 1);
  const auto rows = store->discovery().take(100).rows;
  REQUIRE(rows.size() == 1);
  const auto reply = Kept::claim(*store, rows[0].session, {rows[0].key});
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.sessions[0].rows[0].notBefore == world.clock->wallNow());
  CHECK(reply.sessions[0].rows[0].sequence == 2);
}

TEST_CASE("P3: a peer that went back again is sent all that is kept again, also where its store's epoch is the same") {
  Kept world;
  const auto store = world.open();
  const delivery::SessionKey s = Kept::deliver(*store, frameOf("s", "1"));
  Kept::deliver(*store, frameOf("", "1"));
  Kept::meet(*store, "one");
  const auto deliverAll = [&] {
    const auto reply = claimNew(*store);
    for (std::size_t index = 0; index < reply.sessions.size(); ++index) {
      settleOne(*store, settlementOf(reply, Transition::ack, index));
      const delivery::SessionRelease release{.session = reply.sessions[index].session, .previousSequence = {}};
      inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
    }
  };
  CHECK(Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 0, 5)->resent == 2);
  deliverAll();
  // Another session in which the same shows.
  CHECK(Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 0, 5)->resent == 1);
  deliverAll();
  CHECK(Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 0, 5, true)->resent == 2);
  CHECK(world.problems() == "");
}

TEST_CASE("P3: a claim finds out whether the message that a peer has accepted last is ours") {
  Kept world;
  const auto store = world.open();
  const std::string id = enqueueOne(*store, frameOf("s", "1")).messageId;
  const auto rows = store->discovery().take(100).rows;
  struct Doubt {
    std::uint64_t sequence;
    std::string id;
    ClaimStatus expected;
  };
  const Doubt doubts[] = {{1, "another", ClaimStatus::outdated},
                          {2, id, ClaimStatus::outdated},
                          {2, "", ClaimStatus::outdated},
                          {1, "", ClaimStatus::claimed},
                          {1, id, ClaimStatus::claimed}};
  for (const Doubt& doubt : doubts) {
    CAPTURE(doubt.id);
    delivery::SessionClaim wanted{rows[0].session, {rows[0].key}};
    wanted.doubt = delivery::AcceptedFrame{doubt.sequence, doubt.id};
    const auto reply = inTransaction(*store, [&] { return store->claims().claim({&wanted, 1}); });
    CHECK(reply.sessions[0].status == doubt.expected);
    if (doubt.expected == ClaimStatus::claimed) {
      CHECK(reply.sessions[0].confirmedSequence == 1);
      settleOne(*store, settlementOf(reply, Transition::release));
      const delivery::SessionRelease release{.session = rows[0].session, .dueAt = {}, .previousSequence = {}};
      inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
    }
  }
}

TEST_CASE("P4: a claim that was decided before the rows that were put back were taken in claims nothing of them") {
  Kept world;
  const auto store = world.open();
  Kept::meet(*store, "one");
  Kept::deliver(*store, frameOf("s", "1"));
  enqueueOne(*store, frameOf("s", "2"));
  const auto later = store->discovery().take(100);
  REQUIRE(later.rows.size() == 1);
  const delivery::SessionClaim decided{later.rows[0].session, {later.rows[0].key}};
  REQUIRE(Kept::hear(*store, PeerResetKind::peerLost, "two"));
  // The writer's thread has read them, and who decides has not seen them yet.
  const auto told = store->discovery().take(100);
  REQUIRE(told.rows.size() == 2);
  REQUIRE(told.recalls);
  const auto claimWith = [&](const delivery::SessionClaim& wanted, std::int64_t recalls) {
    return inTransaction(*store, [&] { return store->claims().claim({&wanted, 1}, recalls); }).sessions.at(0).status;
  };
  CHECK(claimWith(decided, *told.recalls - 1) == ClaimStatus::busy);
  const delivery::SessionClaim all{later.rows[0].session, {told.rows[0].key, told.rows[1].key}};
  CHECK(claimWith(all, *told.recalls) == ClaimStatus::claimed);
}

TEST_CASE("P4: that rows put back were told is told, however many there are, once to each run") {
  Kept world;
  const auto store = world.open();
  Kept::meet(*store, "one");
  CHECK_FALSE(store->discovery().take(100).recalls);
  for (int count = 0; count < 4; ++count) {
    Kept::deliver(*store, frameOf("s", "1"));
  }
  REQUIRE(Kept::hear(*store, PeerResetKind::peerLost, "two"));
  // The last slice has no row any more: it tells all the same.
  auto told = store->discovery().take(2);
  CHECK_FALSE(told.recalls);
  told = store->discovery().take(2);
  CHECK_FALSE(told.recalls);
  told = store->discovery().take(2);
  CHECK(told.rows.empty());
  CHECK_FALSE(told.empty());
  REQUIRE(told.recalls);
  const std::int64_t recalls = *told.recalls;
  CHECK_FALSE(store->discovery().take(2).recalls);
  store->discovery().restart();
  CHECK(store->discovery().take(100).recalls == recalls);
}

TEST_CASE(
    "P4: what a peer had deferred waits again when the peer has forgotten it, whatever the policy, and goes first") {
  Kept world(PeerResetPolicy::proceed);
  const auto store = world.open();
  const auto other = world.open();
  Kept::meet(*store, "one");
  enqueueOne(*store, frameOf("s", "1"));
  enqueueOne(*store, frameOf("t", "1"));
  const auto reply = claimNew(*store);
  for (std::size_t index = 0; index < 2; ++index) {
    auto deferred = settlementOf(reply, Transition::defer, index);
    deferred.dueAt = world.clock->wallNow() + std::chrono::minutes(1);
    REQUIRE(settleOne(*store, deferred));
    const delivery::SessionRelease release{.session = reply.sessions[index].session, .previousSequence = 1};
    inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
  }
  const auto reader = world.reader();
  REQUIRE(reader->stats().sent == 2);
  REQUIRE(other->discovery().take(100).rows.size() == 2);
  std::uint64_t expected = 0;
  SUBCASE("it has another store") {
    REQUIRE(Kept::hear(*other, PeerResetKind::peerLost, "two"));
    expected = 2;
  }
  SUBCASE("it went back, and a session shows it") {
    REQUIRE(Kept::hear(*other, PeerResetKind::peerRestored, "one", reply.sessions[0].session, 0));
    // What it says of this session says nothing of others.
    expected = 1;
  }
  CHECK(reader->stats().pending == expected);
  CHECK(reader->stats().sent == 2 - expected);
  CHECK(world.problems() == "");
  // Whoever waits for their ACK events is told, too.
  inTransaction(*store, [] {});
  const auto told = store->discovery().take(100);
  CHECK(std::ranges::count(told.rows, MessageState::pending, &delivery::RowSeen::state) ==
        static_cast<std::ptrdiff_t>(expected));
  CHECK(reader->sessionStats("default", "s")->acceptedSequence == 0);
}

TEST_CASE("P10: the word on a message that this file never sent does not pass those before it") {
  Kept world;
  world.options.peers = {{.name = "default", .agent = "urn:bob"}};
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "1"));
  const std::string second = enqueueOne(*store, frameOf("s", "2")).messageId;
  FrameResult word;
  word.outcome = Outcome::ack;
  const auto reply = inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", second, 2, word); });
  CHECK(reply.kind == store::AckEventOutcome::Kind::settled);
  const auto reader = world.reader();
  CHECK(reader->sessionStats("default", "s")->acceptedSequence == 0);
  CHECK(world.problems() == "");
}

TEST_CASE("P3: what this file never sent, but its peer has acknowledged, is put back when the peer forgets it") {
  Kept world;
  world.options.peers = {{.name = "default", .agent = "urn:bob"}};
  const auto store = world.open();
  Kept::meet(*store, "one");
  const std::string first = enqueueOne(*store, frameOf("s", "1")).messageId;
  const std::string second = enqueueOne(*store, frameOf("s", "2")).messageId;
  FrameResult word;
  word.outcome = Outcome::ack;
  // The word is on what the file sent before it was put back to a backup.
  inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", first, 1, word); });
  inTransaction(*store, [&] { return store->settles().ackById(second); });
  const auto event = Kept::hear(*store, PeerResetKind::peerLost, "two");
  REQUIRE(event);
  // The other one was settled by hand, and nobody else ever had it.
  CHECK(event->resent == 1);
  CHECK(world.problems() == "");
}

TEST_CASE("P13: a deferral that a reset has outlived gives its row back to be sent at once, ordered or not") {
  Kept world;
  const auto store = world.open();
  Kept::meet(*store, "one");
  std::string session;
  SUBCASE("in a session") {
    session = "s";
  }
  SUBCASE("in none") {}
  enqueueOne(*store, frameOf(session, "1"));
  const delivery::RowSeen row = store->discovery().take(100).rows.at(0);
  const delivery::SessionKey home = session.empty() ? delivery::unitOf(row.key) : row.session;
  auto before = settlementOf(Kept::claim(*store, home, {row.key}), Transition::defer);
  before.recalls = 0;
  before.dueAt = world.clock->wallNow() + std::chrono::minutes(1);
  REQUIRE(Kept::hear(*store, PeerResetKind::peerLost, "two"));
  CHECK_FALSE(settleOne(*store, before));
  const delivery::SessionRelease release{.session = home, .recalls = 0, .dueAt = {}, .previousSequence = {}};
  inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
  const auto told = store->discovery().take(100);
  REQUIRE(told.rows.size() == 1);
  CHECK(told.rows[0].state == MessageState::pending);
  CHECK(told.rows[0].dueAt <= world.clock->wallNow());
  const delivery::SessionClaim again{home, {row.key}};
  CHECK(inTransaction(*store, [&] { return store->claims().claim({&again, 1}, *told.recalls); }).messages.size() == 1);
  CHECK(world.problems() == "");
}

TEST_CASE("P4: what a claim doubts is ours if another process has settled it, or later ones, meanwhile") {
  World world;
  const auto store = world.open();
  const auto other = world.open();
  const std::string id = enqueueOne(*store, frameOf("s", "1")).messageId;
  const auto first = claimNew(*other);
  enqueueOne(*store, frameOf("s", "2"));
  inTransaction(*other, [&] {
    const delivery::Settlement settlement = settlementOf(first, Transition::ack);
    static_cast<void>(other->settles().settle({&settlement, 1}));
    const delivery::SessionRelease release{.session = settlement.session, .dueAt = {}, .previousSequence = 1};
    other->claims().endClaims({&release, 1});
  });
  // Its row is gone.
  const auto rows = store->discovery().take(100).rows;
  delivery::SessionClaim wanted{rows.back().session, {rows.back().key}};
  wanted.doubt = delivery::AcceptedFrame{1, id};
  CHECK(inTransaction(*store,
                      [&] {
                        return store->claims().claim({&wanted, 1});
                      })
            .sessions[0]
            .status == ClaimStatus::claimed);
}

}  // namespace peer_resets_test
