// Goal: P13: a sender's file says since when a peer has had no application for what it deferred, for as long as its
// answers say so. Method: a message settled and acknowledged by hand, looked at through a reader.

#include <doctest/doctest.h>

#include <string>

#include "store_conformance/world.hpp"

namespace attendance_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

struct Deferring : World {
  Deferring() {
    options.peers = {{.name = "bob", .agent = "urn:bob"}, {.name = "eve", .agent = "urn:eve"}};
    store = open();
  }
  /// Enqueues one in a session of its own, and has the peer defer it.
  void defer(const std::string& id, const std::string& type, std::optional<WallTime> since) {
    Frame frame = frameOf(id, "{}", id);
    frame.peer = "bob";
    frame.type = type;
    REQUIRE(enqueueOne(*store, frame).isNew());
    const store::NewRows fresh = store->discovery().take(100);
    const delivery::SessionClaim claim{fresh.rows[0].session, {fresh.rows[0].key}};
    const auto reply = inTransaction(*store, [&] { return store->claims().claim({&claim, 1}); });
    delivery::Settlement settlement = settlementOf(reply, delivery::Transition::defer);
    settlement.unattendedSince = since;
    REQUIRE(settleOne(*store, settlement));
  }
  PeerStats bob() { return reader()->peerStats().at(0); }
  void later(const std::string& id, Outcome outcome) {
    FrameResult word;
    word.outcome = outcome;
    inTransaction(*store, [&] { return store->settles().applyAckEvent("urn:bob", id, 1, word); });
  }

  std::unique_ptr<store::Store> store;
};

}  // namespace

TEST_CASE("P13: a peer without an application for a type is known since then, and until it has one for it") {
  Deferring world;
  const WallTime now = world.clock->wallNow();
  world.defer("a", "wanted", std::nullopt);
  CHECK_FALSE(world.bob().unattendedSince);
  world.defer("b", "unwanted", now - std::chrono::minutes(4));
  REQUIRE(world.bob().peer == "bob");
  CHECK(world.bob().unattendedSince == now - std::chrono::minutes(4));
  CHECK(world.bob().unattendedType == "unwanted");
  CHECK_FALSE(world.reader()->peerStats().at(1).unattendedSince);
  // Answers of one moment differ by the time that they were under way; another beginning is another one.
  world.defer("c", "unwanted", now - std::chrono::minutes(4) + std::chrono::seconds(1));
  CHECK(world.bob().unattendedSince == now - std::chrono::minutes(4));
  world.defer("d", "unwanted", now - std::chrono::minutes(2));
  CHECK(world.bob().unattendedSince == now - std::chrono::minutes(2));

  const auto explained = world.reader()->explain("b");
  REQUIRE(explained);
  REQUIRE(explained->reasons.size() == 2);
  CHECK(explained->reasons[0].blockReason == BlockReason::peerUnattended);
  CHECK(explained->reasons[0].since == now - std::chrono::minutes(2));
  CHECK(explained->reasons[0].detail == "unwanted");
  CHECK(explained->reasons[1].blockReason == BlockReason::awaitsAck);
  CHECK(world.reader()->explain("a")->reasons.size() == 1);

  // What another type's application does says nothing of this one.
  world.defer("e", "wanted", std::nullopt);
  world.later("e", Outcome::ack);
  CHECK(world.bob().unattendedSince);
  world.defer("f", "unwanted", std::nullopt);
  CHECK_FALSE(world.bob().unattendedSince);
  CHECK(world.bob().unattendedType.empty());
  CHECK(world.problems() == "");
}

TEST_CASE("P13: a peer that works on a message of the type has an application for it") {
  for (const Outcome outcome : {Outcome::ack, Outcome::term}) {
    Deferring world;
    world.defer("a", "unwanted", world.clock->wallNow());
    world.defer("b", "unwanted", world.clock->wallNow());
    REQUIRE(world.bob().unattendedSince);
    world.later("a", outcome);
    CHECK_FALSE(world.bob().unattendedSince);
  }
}

TEST_CASE("P13: where nothing is deferred at a peer, nothing waits for an application there") {
  Deferring world;
  world.defer("a", "unwanted", world.clock->wallNow());
  REQUIRE(world.bob().unattendedSince);
  inTransaction(*world.store, [&] { return world.store->settles().ackById("a"); });
  CHECK_FALSE(world.bob().unattendedSince);
}

}  // namespace attendance_test
