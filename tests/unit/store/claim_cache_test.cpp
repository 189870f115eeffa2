// Goal: a claim out of memory says what the file says: the same frame, and nothing of a row or a session that was
// changed meanwhile, whoever changed it. Method: each way in which what is remembered becomes wrong.

#include "store/sqlite/cache/claim_cache.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store_world.hpp"

namespace ackbox::testing::claim_cache_test {
namespace {

using delivery::ClaimStatus;

delivery::RowSeen onlyNew(store::sqlite::SqliteStore& store) {
  const store::NewRows newRows = store.discovery().take(10);
  REQUIRE(newRows.rows.size() == 1);
  return newRows.rows.front();
}

}  // namespace

TEST_CASE("what an answer has settled is remembered as the peer's, and not what left flight with its owner's death") {
  StoreWorld world;
  SUBCASE("settled, and released later") {
    const auto store = world.open();
    enqueueOne(*store, frameOf("s"));
    const store::ClaimReply first = claimNew(*store);
    REQUIRE(settleOne(*store, settlementOf(first, delivery::Transition::ack)));
    delivery::SessionRelease release;
    release.session = first.sessions.front().session;
    inTransaction(*store, [&] { store->claims().endClaims({&release, 1}); });
    enqueueOne(*store, frameOf("s"));
    CHECK(claimNew(*store).sessions.front().confirmedSequence == 1);
  }
  SUBCASE("its owner died") {
    world.lives = std::make_shared<Lives>();
    const auto store = world.open();
    const auto other = world.open();
    enqueueOne(*other, frameOf("s"));
    REQUIRE(claimNew(*other).messages.size() == 1);
    const delivery::RowSeen row = onlyNew(*store);
    REQUIRE(claimOf(*store, row).sessions.front().status == ClaimStatus::busy);
    world.lives->erase(other->owner());
    REQUIRE(inTransaction(*store, [&] { return store->owners().releaseDead(); }) == 1);
    const store::ClaimReply reply = claimOf(*store, row);
    CHECK(reply.sessions.front().status == ClaimStatus::claimed);
    CHECK(reply.sessions.front().confirmedSequence == 0);
  }
  SUBCASE("its owner died when the first of two was settled: the other is the head") {
    world.lives = std::make_shared<Lives>();
    const auto store = world.open();
    const auto other = world.open();
    enqueueOne(*other, frameOf("s"));
    enqueueOne(*other, frameOf("s"));
    const store::ClaimReply both = claimNew(*other);
    REQUIRE(both.messages.size() == 2);
    REQUIRE(settleOne(*other, settlementOf(both, delivery::Transition::ack)));
    world.lives->erase(other->owner());
    REQUIRE(inTransaction(*store, [&] { return store->owners().releaseDead(); }) == 1);
    CHECK(store->database().execAndGet("SELECT head_id FROM ackbox_session_states").getInt64() ==
          both.messages.back().key);
  }
}

TEST_CASE("a row that is about to be removed is gone for what follows, and stays when the transaction is undone") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("first"));
  enqueueOne(*store, frameOf("second"));
  const store::ClaimReply reply = claimNew(*store);
  std::vector<delivery::Settlement> settlements{settlementOf(reply, delivery::Transition::ack, 0)};
  SUBCASE("gone") {
    settlements.push_back(settlements.front());
    settlements.back().from = MessageState::pending;
    settlements.back().transition = delivery::Transition::fail;
    const auto settled = inTransaction(*store, [&] { return store->settles().settle(settlements); });
    CHECK(settled[0]);
    CHECK_FALSE(settled[1]);
  }
  SUBCASE("undone") {
    settlements.push_back(settlementOf(reply, delivery::Transition::claim, 1));
    store->begin(false);
    CHECK_THROWS_AS(static_cast<void>(store->settles().settle(settlements)), Error);
    store->rollback();
    CHECK(settleOne(*store, settlementOf(reply, delivery::Transition::ack, 1)));
    CHECK(store->database().execAndGet("SELECT id FROM ackbox_outbox").getInt64() == settlements.front().key);
  }
}

TEST_CASE("rows in flight that foreign statements took away stop one transaction, and are late in the next") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("gone"));
  enqueueOne(*store, frameOf("kept"));
  const store::ClaimReply reply = claimNew(*store);
  const std::vector<delivery::Settlement> settlements{settlementOf(reply, delivery::Transition::ack, 0),
                                                      settlementOf(reply, delivery::Transition::ack, 1)};
  store->begin(false);
  store->database().exec("DELETE FROM ackbox_outbox WHERE id=" + std::to_string(settlements[0].key));
  CHECK_THROWS_WITH_AS(static_cast<void>(store->settles().settle(settlements)), doctest::Contains("foreign statements"),
                       Error);
  store->rollback();
  inTransaction(*store, [&] {
    store->database().exec("DELETE FROM ackbox_outbox WHERE id=" + std::to_string(settlements[0].key));
    const auto settled = store->settles().settle(settlements);
    CHECK_FALSE(settled[0]);
    CHECK(settled[1]);
  });
}

}  // namespace ackbox::testing::claim_cache_test
