#include "store/claim_set.hpp"

#include <doctest/doctest.h>

#include <SQLiteCpp/Database.h>

#include <random>
#include <set>

#include "store_world.hpp"

using namespace ackbox;
using namespace ackbox::testing;

namespace {

std::int64_t rowsIn(store::Store& store, const std::string& table) {
  return store.database().execAndGet("SELECT count(*) FROM " + table).getInt64();
}

delivery::SessionClaim claimOf(const store::NewRows& news) {
  delivery::SessionClaim claim{news.rows.front().session, {}};
  for (const delivery::RowSeen& row : news.rows) {
    claim.keys.push_back(row.key);
  }
  return claim;
}

store::ClaimReply claimWith(store::Store& store, const delivery::SessionClaim& claim) {
  return inTransaction(store, [&] { return store.claim({&claim, 1}); });
}

}  // namespace

TEST_CASE("two owners' claims are those of a plain set, whatever is claimed, given back, written and read again") {
  const StoreWorld world;
  const auto store = world.open();
  SQLite::Database& database = store->database();
  database.exec("CREATE TABLE claimed(block INTEGER, owner_id INTEGER, bits INTEGER, PRIMARY KEY(block,owner_id))");
  store::Connection connection(world.file, world.options);
  store::ClaimSet ours(connection, "claimed");
  store::ClaimSet theirs(connection, "claimed");
  ours.setOwner(1);
  theirs.setOwner(2);
  std::set<std::int64_t> model[2];
  std::mt19937 random(7);
  for (int step = 0; step < 4'000; ++step) {
    const bool first = random() % 2 == 0;
    store::ClaimSet& set = first ? ours : theirs;
    const std::size_t own = first ? 0 : 1;
    const std::size_t other = 1 - own;
    // Few of each block, and in turns more and fewer blocks, so that runs of them are left empty.
    const std::uint64_t added = step % 200 < 100 ? 3 : 1;
    for (std::uint64_t changes = 1 + random() % 30; changes > 0; --changes) {
      const std::int64_t id = 1 + static_cast<std::int64_t>(random() % 40 * 50 + random() % 2);
      REQUIRE(set.holds(id) == model[own].contains(id));
      REQUIRE(set.isForeign(id) == model[other].contains(id));
      if (random() % 4 < added && !model[other].contains(id)) {
        set.add(id);
        model[own].insert(id);
      } else {
        set.remove(id);
        model[own].erase(id);
        model[other].erase(id);
      }
    }
    // The other one hears of it by its own look at the file, as after a foreign commit.
    set.flush();
    REQUIRE(database.execAndGet("SELECT count(*) FROM claimed WHERE bits=0").getInt64() == 0);
    (first ? theirs : ours).forget();
    if (random() % 50 == 0) {
      ours.forget();
    }
  }
  const auto bits = [&](std::int64_t owner) {
    return database
        .execAndGet(
            "WITH RECURSIVE bit(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM bit WHERE n<63) SELECT count(*) FROM "
            "claimed CROSS JOIN bit WHERE bits>>n&1 AND owner_id=" +
            std::to_string(owner))
        .getInt64();
  };
  CHECK(bits(1) == static_cast<std::int64_t>(model[0].size()));
  CHECK(bits(2) == static_cast<std::int64_t>(model[1].size()));
  ours.removeAll(1);
  CHECK(bits(1) == 0);
  CHECK_FALSE(ours.holds(*model[0].begin()));
}

TEST_CASE("a claim of 100 neighbours writes at most three rows, none of them the messages', and leaves none behind") {
  const StoreWorld world;
  const auto store = world.open();
  for (int index = 0; index < 100; ++index) {
    enqueueOne(*store, frameOf("s"));
  }
  const auto changes = [&] { return store->database().execAndGet("SELECT total_changes()").getInt64(); };
  const delivery::SessionClaim claim = claimOf(store->takeNewRows(1'000));
  const std::int64_t before = changes();
  const store::ClaimReply reply = claimWith(*store, claim);
  REQUIRE(reply.messages.size() == 100);
  // Two blocks of messages, one of sessions, the counters.
  CHECK(changes() - before == 4);
  CHECK(rowsIn(*store, "ackbox_claimed_rows") == 2);
  std::vector<delivery::Settlement> settlements;
  for (std::size_t row = 0; row < 100; ++row) {
    settlements.push_back(settlementOf(reply, delivery::Transition::ack, 0, row));
  }
  const delivery::SessionRelease release{.session = claim.session, .dueAt = {}, .previousSequence = 100};
  inTransaction(*store, [&] {
    for (const auto& settled : store->settle(settlements)) {
      CHECK(settled);
    }
    store->release({&release, 1});
  });
  CHECK(rowsIn(*store, "ackbox_claimed_rows") == 0);
  CHECK(rowsIn(*store, "ackbox_claimed_sessions") == 0);
}

TEST_CASE("a claim that was rolled back is none") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const delivery::SessionClaim claim = claimOf(store->takeNewRows(10));
  store->begin(false);
  CHECK(store->claim({&claim, 1}).messages.size() == 1);
  store->rollback();
  const store::ClaimReply reply = claimWith(*store, claim);
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.sessions.front().rows.front().attempt == 1);
  CHECK(settleOne(*store, settlementOf(reply, delivery::Transition::ack)));
}

TEST_CASE("a message that its own process claims twice is settled by the later claim only") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const delivery::SessionClaim claim = claimOf(store->takeNewRows(10));
  const store::ClaimReply earlier = claimWith(*store, claim);
  const store::ClaimReply later = claimWith(*store, claim);
  CHECK_FALSE(settleOne(*store, settlementOf(earlier, delivery::Transition::ack)));
  CHECK(settleOne(*store, settlementOf(later, delivery::Transition::ack)));
}

TEST_CASE("P7: what a dead owner had offered is remembered, whether it was settled or still in flight") {
  StoreWorld world;
  world.lives = std::make_shared<Lives>();
  const auto reader = world.open();
  auto dying = world.open();
  for (int index = 0; index < 4; ++index) {
    enqueueOne(*dying, frameOf("s"));
  }
  delivery::SessionClaim claim = claimOf(dying->takeNewRows(10));
  claim.keys.pop_back();
  const store::ClaimReply reply = claimWith(*dying, claim);
  // The second is acknowledged by a word of its own, with no release; the others stay in flight.
  const std::string second = reply.messages.at(1).frame.messageId;
  REQUIRE(inTransaction(*reader, [&] { return reader->ackById(second); }));
  const auto offered = [&] {
    return reader->database().execAndGet("SELECT offered_sequence FROM ackbox_session_states").getInt64();
  };
  CHECK(offered() == 2);
  world.lives->erase(dying->owner());
  CHECK(inTransaction(*reader, [&] { return reader->buryDeadOwners(); }) == 1);
  CHECK(offered() == 3);
  const store::ClaimReply again = claimNew(*reader);
  REQUIRE(again.sessions.size() == 1);
  CHECK(again.sessions.front().rows.size() == 3);
  CHECK(again.sessions.front().offeredSequence == 3);
  CHECK(again.sessions.front().rows.front().attempt == 2);
}
