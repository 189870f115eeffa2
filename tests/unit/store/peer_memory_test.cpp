// Goal: what a peer forgot is put back once, by one process, in a file that keeps its invariants; and no process claims
// a session whose rows were put back before it has read them (P4). Method: two stores on one file, with a peer that
// says it is another one, or has less.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "ackbox/diagnosis.hpp"
#include "store/reader.hpp"
#include "store/verify.hpp"
#include "store_world.hpp"

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

namespace {

struct Kept : StoreWorld {
  explicit Kept(PeerResetPolicy policy = PeerResetPolicy::resend) {
    options.peerReset = policy;
    options.ackedRetention = std::chrono::hours(1);
  }

  /// Enqueues, claims and acknowledges, in session `s`.
  static void deliver(store::Store& store, const Frame& frame) {
    enqueueOne(store, frame);
    const auto reply = claimNew(store);
    auto acked = settlementOf(reply, Transition::ack);
    settleOne(store, acked);
    const delivery::SessionRelease release{
        .session = acked.session, .dueAt = {}, .previousSequence = reply.sessions[0].rows[0].sequence};
    inTransaction(store, [&] { store.release({&release, 1}); });
  }
  static std::optional<PeerResetEvent> hear(store::Store& store, PeerResetKind kind, const std::string& peerStore,
                                            delivery::SessionKey session = 0, std::uint64_t accepted = 0,
                                            std::uint64_t epoch = 1) {
    delivery::PeerNews news;
    news.peer = store.peers().front().key;
    news.found = kind;
    news.store = peerStore;
    news.storeEpoch = epoch;
    news.session = session;
    news.expected = 9;
    news.accepted = accepted;
    return inTransaction(store, [&] { return store.hear(news); });
  }
  static void meet(store::Store& store, const std::string& peerStore) {
    delivery::PeerNews news;
    news.peer = store.peers().front().key;
    news.store = peerStore;
    news.storeEpoch = 1;
    CHECK_FALSE(inTransaction(store, [&] { return store.hear(news); }));
  }
  [[nodiscard]] std::vector<Finding> findings() const { return store::verify(file, options).findings; }
  static store::ClaimReply claim(store::Store& store, delivery::SessionKey session,
                                 std::vector<delivery::MessageKey> keys) {
    const delivery::SessionClaim wanted{session, std::move(keys)};
    return inTransaction(store, [&] { return store.claim({&wanted, 1}); });
  }
};

}  // namespace

TEST_CASE("P3: a lost peer's kept messages are put back, once, whoever notices") {
  Kept world;
  const auto store = world.open();
  const auto other = world.open();
  for (const char* data : {"1", "2"}) {
    Kept::deliver(*store, frameOf("s", data));
  }
  Kept::meet(*store, "one");
  CHECK(world.findings().empty());
  const auto event = Kept::hear(*store, PeerResetKind::peerLost, "two");
  REQUIRE(event);
  CHECK(event->storeBefore == "one");
  CHECK(event->resent == 2);
  CHECK(store->database().execAndGet("SELECT head_id FROM ackbox_session_states").getInt64() == 1);
  CHECK_FALSE(Kept::hear(*other, PeerResetKind::peerLost, "two"));
  CHECK(world.findings().empty());
  const store::Reader reader(world.file, world.options);
  CHECK(reader.stats().pending == 2);
  CHECK(reader.stats().ackedRetained == 0);
  CHECK(reader.peerStats().front().resets == 1);
  CHECK(reader.sessionStats("default", "s")->acceptedSequence == 0);
  const auto rows = store->takeNewRows(100).rows;
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
  const auto known = other->takeNewRows(100).rows;
  REQUIRE(known.size() == 1);
  REQUIRE(Kept::hear(*store, PeerResetKind::peerLost, "two"));
  const delivery::SessionKey session = known[0].session;
  CHECK(Kept::claim(*other, session, {known[0].key}).sessions[0].status == ClaimStatus::busy);
  // Nor may the one that put it back, before its machine was told.
  CHECK(Kept::claim(*store, session, {known[0].key}).sessions[0].status == ClaimStatus::busy);
  const auto all = other->takeNewRows(100).rows;
  REQUIRE(all.size() == 2);
  const auto reply = Kept::claim(*other, session, {all[0].key, all[1].key});
  REQUIRE(reply.messages.size() == 2);
  CHECK(reply.messages[0].frame.data == "1");
  CHECK(reply.sessions[0].previousSequence == 0);
  CHECK(world.findings().empty());
}

TEST_CASE("A restored peer is sent all that is kept once for each time that it was opened, then its session's own") {
  Kept world;
  const auto store = world.open();
  for (const char* session : {"s", "s", "t", ""}) {
    Kept::deliver(*store, frameOf(session, "1"));
  }
  Kept::meet(*store, "one");
  const store::Reader reader(world.file, world.options);
  const delivery::SessionKey s = 1;
  const auto first = Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 1, 5);
  REQUIRE(first);
  CHECK(first->session == "s");
  CHECK(first->resent == 4);
  CHECK(world.findings().empty());
  // Acknowledged again, and kept again.
  const auto reply = claimNew(*store);
  for (std::size_t index = 0; index < reply.sessions.size(); ++index) {
    for (std::size_t row = 0; row < reply.sessions[index].rows.size(); ++row) {
      auto acked = settlementOf(reply, Transition::ack, index, row);
      settleOne(*store, acked);
    }
    const delivery::SessionRelease release{
        .session = reply.sessions[index].session, .dueAt = {}, .previousSequence = {}};
    inTransaction(*store, [&] { store->release({&release, 1}); });
  }
  CHECK(reader.stats().ackedRetained == 4);
  const auto second = Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 1, 5);
  REQUIRE(second);
  CHECK(second->resent == 1);
  CHECK(world.findings().empty());
  const auto third = Kept::hear(*store, PeerResetKind::peerRestored, "one", s, 0, 6);
  REQUIRE(third);
  CHECK(third->resent == 3);
  CHECK(reader.peerStats().front().resets == 3);
  CHECK(reader.peerStats().front().resent == 8);
}

TEST_CASE("By default nothing that is kept is put back, and the session goes on from what the peer has") {
  Kept world(PeerResetPolicy::proceed);
  const auto store = world.open();
  for (const char* data : {"1", "2", "3"}) {
    Kept::deliver(*store, frameOf("s", data));
  }
  const auto event = Kept::hear(*store, PeerResetKind::peerRestored, "one", 1, 2);
  REQUIRE(event);
  CHECK(event->resent == 0);
  const store::Reader reader(world.file, world.options);
  CHECK(reader.stats().ackedRetained == 3);
  CHECK(reader.sessionStats("default", "s")->acceptedSequence == 2);
}

TEST_CASE("What has expired is not put back, and what is put back begins its horizon anew") {
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
  const auto rows = store->takeNewRows(100).rows;
  REQUIRE(rows.size() == 1);
  const auto reply = Kept::claim(*store, rows[0].session, {rows[0].key});
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.sessions[0].rows[0].notBefore == world.clock->wallNow());
  CHECK(reply.sessions[0].rows[0].sequence == 2);
}

TEST_CASE("P3: a claim finds out whether a number that nobody remembers to have sent is ours") {
  Kept world;
  const auto store = world.open();
  const std::string id = enqueueOne(*store, frameOf("s", "1")).messageId;
  const auto rows = store->takeNewRows(100).rows;
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
    const auto reply = inTransaction(*store, [&] { return store->claim({&wanted, 1}); });
    CHECK(reply.sessions[0].status == doubt.expected);
    if (doubt.expected == ClaimStatus::claimed) {
      CHECK(reply.sessions[0].offeredSequence == 1);
      settleOne(*store, settlementOf(reply, Transition::release));
      const delivery::SessionRelease release{.session = rows[0].session, .dueAt = {}, .previousSequence = {}};
      inTransaction(*store, [&] { store->release({&release, 1}); });
    }
  }
}
