// Goal: a message is claimed by the commit that stores it only with leave, and only when nothing else is live: then it
// is what a claim of its own would have given; and a leave never outlives what it was used for.
// Method: a store, each reason for which there is nothing to claim, and each end of a transaction.

#include "store/early_claim.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "store/orders.hpp"
#include "store_world.hpp"

namespace ackbox::testing {
namespace {

constexpr delivery::PeerKey kPeer = 1;

std::optional<store::ClaimReply> claimedWith(store::Store& store, const Frame& frame) {
  enqueueOne(store, frame);
  return store.takeNewRows(10).claimed;
}

std::int64_t claimsIn(store::Store& store) {
  return store.database().execAndGet("SELECT count(*) FROM ackbox_claims").getInt64();
}

}  // namespace

TEST_CASE("with leave a lone message is claimed where it is stored, once") {
  const StoreWorld world;
  const auto store = world.open();
  REQUIRE(store->peers().front().key == kPeer);
  store->earlyClaim().allow(kPeer);
  Frame frame = frameOf("s", R"({"a":1})", "first");
  enqueueOne(*store, frame);
  CHECK_FALSE(store->earlyClaim().withdraw());
  const store::NewRows news = store->takeNewRows(10);
  REQUIRE(news.rows.size() == 1);
  REQUIRE(news.claimed);
  CHECK(news.epoch == store->epoch());
  const delivery::SessionClaimed& session = news.claimed->sessions.at(0);
  CHECK(session.session == news.rows.front().session);
  CHECK(session.status == delivery::ClaimStatus::claimed);
  REQUIRE(session.rows.size() == 1);
  CHECK(session.rows.front().key == news.rows.front().key);
  CHECK(session.rows.front().attempt == 1);
  REQUIRE(news.claimed->messages.size() == 1);
  CHECK(news.claimed->messages.front().frame.messageId == "first");
  CHECK(news.claimed->messages.front().frame.session == "s");
  CHECK(news.claimed->messages.front().frame.data == R"({"a":1})");
  CHECK(claimsIn(*store) != 0);
  store->earlyClaim().settle();
  CHECK(store->earlyClaim().withdraw());
  REQUIRE(settleOne(*store, settlementOf(*news.claimed, delivery::Transition::ack)));
  CHECK_FALSE(claimedWith(*store, frameOf("s")));
}

TEST_CASE("an unordered message is claimed as the session that it is") {
  const StoreWorld world;
  const auto store = world.open();
  store->earlyClaim().allow(kPeer);
  const auto claimed = claimedWith(*store, frameOf(""));
  REQUIRE(claimed);
  CHECK(claimed->sessions.at(0).session == delivery::unitOf(claimed->messages.at(0).key));
}

TEST_CASE("nothing is claimed early that a claim would not give, or that is not alone") {
  StoreWorld world;
  world.options.peers.emplace_back();
  world.options.peers.emplace_back().name = "other";
  const auto store = world.open();
  Frame frame = frameOf("s");
  bool isUsed = false;
  SUBCASE("no leave") {
    isUsed = true;
  }
  SUBCASE("leave for another peer") {
    store->earlyClaim().allow(store->peers().back().key);
    frame.peer = store->peers().front().name;
    REQUIRE(store->peers().front().key != store->peers().back().key);
  }
  SUBCASE("another message is live") {
    enqueueOne(*store, frameOf("t"));
    (void)store->takeNewRows(10);
    store->earlyClaim().allow(kPeer);
  }
  SUBCASE("not to be sent yet") {
    store->earlyClaim().allow(kPeer);
    frame.notBefore = world.clock->wallNow() + std::chrono::seconds(1);
    isUsed = true;
  }
  SUBCASE("its session is paused") {
    inTransaction(*store, [&] { return store->orders().pauseSession(store->peers().front().name, "s"); });
    store->earlyClaim().allow(kPeer);
    isUsed = true;
  }
  CHECK_FALSE(claimedWith(*store, frame));
  CHECK(claimsIn(*store) == 0);
  CHECK(store->earlyClaim().isAllowed() == !isUsed);
  CHECK(store->earlyClaim().withdraw());
}

TEST_CASE("neither two messages of one commit are claimed early, nor one of another") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("u"));
  store->earlyClaim().allow(kPeer);
  inTransaction(*store, [&] { return store->vitals().live; });
  CHECK(store->earlyClaim().isAllowed());
  inTransaction(*store, [&] {
    store->enqueue(frameOf("s"));
    return store->enqueue(frameOf("t"));
  });
  CHECK_FALSE(store->takeNewRows(10).claimed);
  CHECK(claimsIn(*store) == 0);
}

TEST_CASE("what is rolled back is not claimed, and its leave is over") {
  const StoreWorld world;
  const auto store = world.open();
  store->earlyClaim().allow(kPeer);
  store->begin(false);
  store->enqueue(frameOf("s"));
  SUBCASE("before its commit") {
    store->rollback();
    CHECK(store->earlyClaim().isAllowed());
  }
  SUBCASE("by its commit") {
    // The claims' table is the last thing that a lone message's commit needs.
    store->database().exec(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.ackbox_claims BEGIN SELECT raise(ABORT,'no'); END");
    CHECK_THROWS(store->commit());
    CHECK_FALSE(store->earlyClaim().isAllowed());
  }
  CHECK(store->earlyClaim().withdraw());
  CHECK_FALSE(store->takeNewRows(10).claimed);
  CHECK_FALSE(claimedWith(*store, frameOf("s")));
}

TEST_CASE("a leave for a second one waits until the first is settled") {
  const StoreWorld world;
  const auto store = world.open();
  store->earlyClaim().allow(kPeer);
  REQUIRE(claimedWith(*store, frameOf("s")));
  store->earlyClaim().allow(kPeer);
  CHECK_FALSE(store->earlyClaim().isAllowed());
  store->earlyClaim().settle();
  store->earlyClaim().allow(kPeer);
  CHECK(store->earlyClaim().isAllowed());
  CHECK(store->earlyClaim().withdraw());
  CHECK_FALSE(store->earlyClaim().isAllowed());
}

}  // namespace ackbox::testing
