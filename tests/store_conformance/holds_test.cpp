// Goal: what an operator orders holds in every process from its commit on, is told to those who ask for rows, and is
// undone by its opposite alone.
// Method: orders by one handle; claims and looks by another.

#include <doctest/doctest.h>

#include "ackbox/error.hpp"
#include "store_conformance/world.hpp"

namespace holds_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::ClaimStatus;
using delivery::Transition;

namespace {

/// A session with one message, as one process knows it, and another process that gives orders.
struct Ordered : World {
  Ordered() {
    mine = open();
    theirs = open();
    enqueueOne(*mine, frameOf("s", "{}", "m"));
    row = mine->discovery().take(10).rows.at(0);
  }
  template <typename Order>
  auto order(Order order) {
    return inTransaction(*theirs, [&] { return order(theirs->holds()); });
  }
  /// Gives the session back when it was claimed.
  ClaimStatus claim() const {
    const store::ClaimReply reply = claimOf(*mine, row);
    if (!reply.sessions.at(0).rows.empty()) {
      settleOne(*mine, settlementOf(reply, Transition::release));
      const delivery::SessionRelease release{.session = row.session, .dueAt = {}, .previousSequence = {}};
      inTransaction(*mine, [&] { mine->claims().endClaims({&release, 1}); });
    }
    return reply.sessions[0].status;
  }
  [[nodiscard]] std::optional<delivery::HoldSnapshot> told() const {
    inTransaction(*mine, [] {});
    return mine->discovery().take(10).holds;
  }

  std::unique_ptr<store::Store> mine;
  std::unique_ptr<store::Store> theirs;
  delivery::RowSeen row;
};

}  // namespace

TEST_CASE("P13: a paused session is not claimed, whoever paused it, until it is resumed") {
  Ordered world;
  CHECK(world.order([](store::Holds& holds) { return holds.pauseSession("default", "s"); }));
  CHECK_FALSE(world.order([](store::Holds& holds) { return holds.pauseSession("default", "s"); }));
  CHECK(world.claim() == ClaimStatus::halted);
  std::optional<delivery::HoldSnapshot> told = world.told();
  REQUIRE(told);
  CHECK(told->sessions == std::vector<delivery::SessionKey>{world.row.session});
  CHECK(world.reader()->sessionStats("default", "s")->pausedAt == world.clock->wallNow());
  CHECK(world.order([](store::Holds& holds) { return holds.resumeSession("default", "s"); }));
  CHECK_FALSE(world.order([](store::Holds& holds) { return holds.resumeSession("default", "s"); }));
  CHECK(world.claim() == ClaimStatus::claimed);
  told = world.told();
  REQUIRE(told);
  CHECK(told->sessions.empty());
  CHECK(world.problems() == "");
}

TEST_CASE("P13: a paused peer is told as paused, also after a restart, and its resumes are counted") {
  Ordered world;
  CHECK(world.order([](store::Holds& holds) { return holds.pausePeer("default"); }));
  CHECK_FALSE(world.order([](store::Holds& holds) { return holds.pausePeer("default"); }));
  std::optional<delivery::HoldSnapshot> told = world.told();
  REQUIRE(told);
  REQUIRE(told->peers.size() == 1);
  CHECK(told->peers[0].isPaused);
  const std::int64_t resumes = told->peers[0].resumes;
  world.mine = world.open();
  told = world.told();
  REQUIRE(told);
  CHECK(told->peers.at(0).isPaused);
  CHECK(world.order([](store::Holds& holds) { return holds.resumePeer("default"); }));
  told = world.told();
  REQUIRE(told);
  CHECK_FALSE(told->peers.at(0).isPaused);
  CHECK(told->peers.at(0).resumes > resumes);
  CHECK_THROWS_AS(world.order([](store::Holds& holds) { return holds.pausePeer("nobody"); }), Error);
  world.theirs->rollback();
}

TEST_CASE("P4: a session that a dead letter blocks goes on when it is unblocked, or the dead letter is gone") {
  Ordered world;
  enqueueOne(*world.mine, frameOf("s", "{}", "next"));
  const delivery::RowSeen next = world.mine->discovery().take(10).rows.at(0);
  auto failed = settlementOf(claimOf(*world.mine, world.row), Transition::fail);
  failed.blocks = true;
  failed.reason = "rejected";
  const delivery::SessionRelease release{.session = failed.session, .dueAt = {}, .previousSequence = {}};
  inTransaction(*world.mine, [&] {
    CHECK(world.mine->settles().settle({&failed, 1}).front());
    world.mine->claims().endClaims({&release, 1});
  });
  world.row = next;
  CHECK(world.claim() == ClaimStatus::halted);
  REQUIRE(world.reader()->blockedSessions(10).size() == 1);
  CHECK(world.reader()->blockedSessions(10)[0].messageId == "m");
  // A pause is another order.
  CHECK_FALSE(world.order([](store::Holds& holds) { return holds.resumeSession("default", "s"); }));
  CHECK(world.claim() == ClaimStatus::halted);
  SUBCASE("unblocked") {
    CHECK(world.order([](store::Holds& holds) { return holds.unblock("default", "s"); }));
    CHECK_FALSE(world.order([](store::Holds& holds) { return holds.unblock("default", "s"); }));
  }
  SUBCASE("discarded") {
    CHECK(inTransaction(*world.theirs, [&] {
            return world.theirs->deadLetters().change("m", Transition::discard, {});
          }).receipt.done());
  }
  SUBCASE("redriven: it goes behind what waits") {
    CHECK(inTransaction(*world.theirs, [&] {
            return world.theirs->deadLetters().change("m", Transition::redrive, {});
          }).receipt.sequence == 3);
  }
  CHECK(world.claim() == ClaimStatus::claimed);
  CHECK(world.reader()->blockedSessions(10).empty());
  CHECK(world.problems() == "");
}

TEST_CASE("P2: an order that is rolled back is none") {
  Ordered world;
  world.theirs->begin(true);
  CHECK(world.theirs->holds().pauseSession("default", "s"));
  CHECK(world.theirs->holds().pausePeer("default"));
  world.theirs->rollback();
  CHECK(world.claim() == ClaimStatus::claimed);
  const std::optional<delivery::HoldSnapshot> told = world.told();
  CHECK((!told || told->sessions.empty()));
  CHECK_FALSE(world.reader()->sessionStats("default", "s")->pausedAt);
}

}  // namespace holds_test
