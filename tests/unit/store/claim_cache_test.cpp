// Goal: a claim out of memory says what the file says: the same frame, and nothing of a row or a session that was
// changed meanwhile, whoever changed it. Method: each way in which what is remembered becomes wrong.

#include "store/sqlite/cache/claim_cache.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "store/sqlite/peers/holds.hpp"
#include "store_world.hpp"

namespace ackbox::testing::claim_cache_test {
namespace {

using delivery::ClaimStatus;

// What a claim of this session's row gives.
store::ClaimReply claimOf(store::sqlite::SqliteStore& store, const delivery::RowSeen& row) {
  const std::vector<delivery::SessionClaim> claims{{row.session, {row.key}}};
  return inTransaction(store, [&] { return store.claims().claim(claims); });
}

delivery::RowSeen onlyNew(store::sqlite::SqliteStore& store) {
  const store::NewRows news = store.discovery().take(10);
  REQUIRE(news.rows.size() == 1);
  return news.rows.front();
}

Frame fullFrame() {
  Frame frame = frameOf("s", R"({"a":1})", "full");
  frame.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  frame.correlationId = "question";
  frame.expiresAt = WallTime(std::chrono::hours(1'000'000));
  return frame;
}

}  // namespace

TEST_CASE("a claim gives the same out of memory and out of the file") {
  const StoreWorld world;
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
  CHECK(left.data == R"({"a":1})");
  const delivery::ClaimedRow& first = known.sessions.front().rows.front();
  // The first claim is over by now.
  CHECK(read.sessions.front().rows.front().attempt == first.attempt + 1);
  CHECK(read.sessions.front().rows.front().dataBytes == first.dataBytes);
}

TEST_CASE("what was superseded, acknowledged or undone is not claimed out of memory") {
  const StoreWorld world;
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

TEST_CASE("what another store settled, or told of a session, is not contradicted out of memory") {
  const StoreWorld world;
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

TEST_CASE("a session that is known obeys what was ordered since, and tells what its messages made of it") {
  const StoreWorld world;
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
  SUBCASE("blocked") {
    inTransaction(*store, [&] { dynamic_cast<store::sqlite::Holds&>(store->holds()).block(session, row.key); });
    CHECK(claimOf(*store, row).sessions.front().status == ClaimStatus::halted);
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
    delivery::PeerIdentity news;
    news.peer = store->peers().rows().front().key;
    news.session = session;
    news.store = "another";
    news.storeEpoch = 1;
    news.found = PeerResetKind::peerLost;
    inTransaction(*store, [&] { static_cast<void>(store->peerResets().recordIdentity(news)); });
    static_cast<void>(store->discovery().take(10));
    CHECK(claimOf(*store, row).sessions.front().previousSequence == 0);
  }
}

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

TEST_CASE("rows in flight that are settled together are removed together, and the rest stays") {
  const StoreWorld world;
  const auto store = world.open();
  constexpr std::size_t kRows = 75;
  inTransaction(*store, [&] {
    for (std::size_t number = 0; number < kRows; ++number) {
      static_cast<void>(store->outbox().enqueue(frameOf("s" + std::to_string(number % 5))));
    }
  });
  const store::ClaimReply reply = claimNew(*store);
  std::vector<delivery::Settlement> settlements;
  for (std::size_t session = 0; session < reply.sessions.size(); ++session) {
    // Each third stays where it is; one is named twice, and one by an earlier claim.
    if (session % 3 != 2) {
      settlements.push_back(settlementOf(reply, delivery::Transition::ack, session));
    }
  }
  const std::size_t acked = settlements.size();
  settlements.push_back(settlements.front());
  settlements.push_back(settlementOf(reply, delivery::Transition::ack, 2));
  ++settlements.back().attempt;
  const auto settled = inTransaction(*store, [&] { return store->settles().settle(settlements); });
  for (std::size_t index = 0; index < settled.size(); ++index) {
    CHECK(settled[index].has_value() == (index < acked));
  }
  CHECK(store->database().execAndGet("SELECT count(*) FROM ackbox_outbox").getUInt() == kRows - acked);
  CHECK(settleOne(*store, settlementOf(reply, delivery::Transition::ack, 2)));
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

TEST_CASE("P11: a claim brings no more bytes than it may, and what it has read beyond is claimed next without a read") {
  constexpr std::int64_t kAnyRecall = std::numeric_limits<std::int64_t>::max();
  const StoreWorld world;
  auto store = world.open();
  const std::string data = "\"" + std::string(100'000, 'x') + "\"";
  for (int row = 0; row < 40; ++row) {
    enqueueOne(*store, frameOf(row < 20 ? "a" : "b", data));
  }
  store = nullptr;
  store = world.open();
  std::vector<delivery::SessionClaim> asked;
  for (const delivery::RowSeen& row : store->discovery().take(100).rows) {
    if (asked.empty() || asked.back().session != row.session) {
      asked.push_back({.session = row.session, .keys = {}});
    }
    asked.back().keys.push_back(row.key);
  }
  REQUIRE(asked.size() == 2);
  const store::ClaimReply reply =
      inTransaction(*store, [&] { return store->claims().claim(asked, kAnyRecall, 500'000); });
  CHECK(reply.messages.size() == 4);
  CHECK(reply.bytes <= 500'000);
  REQUIRE(reply.sessions.size() == 2);
  CHECK(reply.sessions[0].status == ClaimStatus::claimed);
  CHECK(reply.sessions[0].rows.size() == 4);
  CHECK(reply.sessions[1].status == ClaimStatus::full);
  CHECK(reply.sessions[1].rows.empty());
  // The other session is free, and the first row goes whatever its size.
  const std::vector<delivery::SessionClaim> second{asked[1]};
  CHECK(inTransaction(*store, [&] { return store->claims().claim(second, kAnyRecall, 1); }).messages.size() == 1);
}

}  // namespace ackbox::testing::claim_cache_test
