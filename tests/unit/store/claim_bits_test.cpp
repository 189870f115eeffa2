#include "store/sqlite/cache/claim_bits.hpp"

#include <doctest/doctest.h>

#include <SQLiteCpp/Database.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "store/sqlite/outbound/dead_letters.hpp"
#include "store_world.hpp"

namespace claim_bits_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

std::int64_t rowsIn(store::sqlite::SqliteStore& store, const std::string& table) {
  return store.database().execAndGet("SELECT count(*) FROM " + table).getInt64();
}

delivery::SessionClaim claimOf(const store::NewRows& newRows) {
  delivery::SessionClaim claim{newRows.rows.front().session, {}};
  for (const delivery::RowSeen& row : newRows.rows) {
    claim.keys.push_back(row.key);
  }
  return claim;
}

store::ClaimReply claimWith(store::sqlite::SqliteStore& store, const delivery::SessionClaim& claim) {
  return inTransaction(store, [&] { return store.claims().claim({&claim, 1}); });
}

}  // namespace

TEST_CASE("two owners' claims are those of plain sets, whatever is claimed, given back, written and read again") {
  using Table = store::sqlite::ClaimSet::Table;
  const StoreWorld world;
  const auto store = world.open();
  SQLite::Database& database = store->database();
  sqlite::Connection connection(world.file, world.options, [](sqlite3*) {});
  // Thousands of commits, of which none is to outlive anything.
  connection.database().exec("PRAGMA synchronous=OFF");
  store::sqlite::ClaimBits blocks[2] = {store::sqlite::ClaimBits(connection), store::sqlite::ClaimBits(connection)};
  // By the owner, and whether messages are meant or sessions, which have the same ids.
  std::set<std::int64_t> model[2][2];
  blocks[0].setOwner(1);
  blocks[1].setOwner(2);
  std::mt19937 random(7);
  for (int step = 0; step < 4'000; ++step) {
    const std::size_t own = random() % 2;
    const std::size_t other = 1 - own;
    store::sqlite::ClaimSet sets[] = {{blocks[own], Table::rows}, {blocks[own], Table::sessions}};
    // Few of each block, and in turns more and fewer blocks, so that runs of them are left empty.
    const std::uint64_t added = step % 200 < 100 ? 3 : 1;
    for (std::uint64_t changes = 1 + random() % 30; changes > 0; --changes) {
      const std::size_t table = random() % 2;
      const std::int64_t id = 1 + static_cast<std::int64_t>(random() % 40 * 50 + random() % 2);
      store::sqlite::ClaimSet& set = sets[table];
      REQUIRE(set.holds(id) == model[own][table].contains(id));
      REQUIRE(set.isForeign(id) == model[other][table].contains(id));
      if (random() % 4 < added && !model[other][table].contains(id)) {
        set.add(id);
        model[own][table].insert(id);
      } else {
        set.remove(id);
        model[own][table].erase(id);
        model[other][table].erase(id);
      }
    }
    // The other one learns of it by its own look at the file, as after a foreign commit.
    blocks[own].flush();
    REQUIRE_FALSE(blocks[own].isPending());
    REQUIRE(database.execAndGet("SELECT count(*) FROM ackbox_claims WHERE bits=0").getInt64() == 0);
    blocks[other].forget();
    if (random() % 50 == 0) {
      blocks[own].forget();
    }
  }
  const auto bits = [&](std::int64_t owner, const std::string& which) {
    return static_cast<std::size_t>(
        database
            .execAndGet(
                "WITH RECURSIVE bit(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM bit WHERE n<63) SELECT count(*) FROM "
                "ackbox_claims CROSS JOIN bit WHERE bits>>n&1 AND owner_id=" +
                std::to_string(owner) + " AND " + which)
            .getInt64());
  };
  for (const std::int64_t owner : {1, 2}) {
    const auto& claimed = model[owner - 1];
    CHECK(bits(owner, "block>=0") == claimed[0].size());
    CHECK(bits(owner, "block<0") == claimed[1].size());
  }
  blocks[0].removeAll(1);
  CHECK(bits(1, "TRUE") == 0);
  CHECK_FALSE(store::sqlite::ClaimSet(blocks[0], Table::rows).holds(*model[0][0].begin()));
}

TEST_CASE("the claims of a message and of a session are found by their places") {
  const StoreWorld world;
  const auto store = world.open();
  const auto planOf = [&](const std::string& sql) {
    SQLite::Statement plan(store->database(), "EXPLAIN QUERY PLAN " + sqlite::expand(sql, "ackbox_"));
    std::string steps;
    while (plan.executeStep()) {
      steps += plan.getColumn(3).getString() + "\n";
    }
    return steps;
  };
  const std::string search = "SEARCH ackbox_claims USING PRIMARY KEY (block=?)";
  for (const std::string_view row : {store::sqlite::kRowOwner, store::sqlite::kRowState}) {
    CHECK(planOf("SELECT " + std::string(row) + " FROM #outbox AS o").find(search) != std::string::npos);
  }
  CHECK(planOf("SELECT " + std::string(store::sqlite::kSessionOwner) + " FROM #sessions AS s").find(search) !=
        std::string::npos);
  const std::string rows = planOf("SELECT o.id FROM " + std::string(store::sqlite::kClaimedRows));
  CHECK(rows.find("SEARCH c USING PRIMARY KEY (block>?)") != std::string::npos);
  CHECK(rows.find("SEARCH o USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)") != std::string::npos);
}

TEST_CASE("a claim of 100 neighbours writes three rows, none of them the messages', and leaves none behind") {
  const StoreWorld world;
  const auto store = world.open();
  for (int index = 0; index < 100; ++index) {
    enqueueOne(*store, frameOf("s"));
  }
  const auto changes = [&] { return store->database().execAndGet("SELECT total_changes()").getInt64(); };
  const delivery::SessionClaim claim = claimOf(store->discovery().take(1'000));
  const std::int64_t before = changes();
  const store::ClaimReply reply = claimWith(*store, claim);
  REQUIRE(reply.messages.size() == 100);
  // Two blocks of messages, one of sessions.
  CHECK(changes() - before == 3);
  CHECK(rowsIn(*store, "ackbox_claims") == 3);
  std::vector<delivery::Settlement> settlements;
  for (std::size_t row = 0; row < 100; ++row) {
    settlements.push_back(settlementOf(reply, delivery::Transition::ack, 0, row));
  }
  const delivery::SessionRelease release{.session = claim.session, .dueAt = {}, .previousSequence = 100};
  inTransaction(*store, [&] {
    for (const auto& settled : store->settles().settle(settlements)) {
      CHECK(settled);
    }
    store->claims().endClaims({&release, 1});
  });
  CHECK(rowsIn(*store, "ackbox_claims") == 0);
}

TEST_CASE("a lone message's claim writes one page, and its settle four") {
  const StoreWorld world;
  const auto store = world.open();
  const auto pagesWritten = [&] {
    int pages = 0;
    int highest = 0;
    sqlite3_db_status(store->database().getHandle(), SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 1);
    return pages;
  };
  enqueueOne(*store, frameOf("s"));
  const delivery::SessionClaim claim = claimOf(store->discovery().take(10));
  pagesWritten();
  const store::ClaimReply reply = claimWith(*store, claim);
  CHECK(pagesWritten() == 1);
  const delivery::SessionRelease release{.session = claim.session, .dueAt = {}, .previousSequence = 1};
  const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::ack);
  inTransaction(*store, [&] {
    CHECK(store->settles().settle({&settlement, 1}).front());
    store->claims().endClaims({&release, 1});
  });
  // The message, what was claimed, the session's state, the counters.
  CHECK(pagesWritten() == 4);
}

TEST_CASE("P3: that a dead owner had something in flight does not say that the peer has it, its own word does") {
  StoreWorld world;
  world.lives = std::make_shared<Lives>();
  const auto reader = world.open();
  auto dying = world.open();
  for (int index = 0; index < 4; ++index) {
    enqueueOne(*dying, frameOf("s"));
  }
  delivery::SessionClaim claim = claimOf(dying->discovery().take(10));
  claim.keys.pop_back();
  const store::ClaimReply reply = claimWith(*dying, claim);
  // The second is acknowledged by a word of its own, with no release; the others stay in flight.
  const std::string second = reply.messages.at(1).frame.messageId;
  REQUIRE(inTransaction(*reader, [&] { return reader->settles().ackById(second); }));
  const auto confirmed = [&] {
    return reader->database().execAndGet("SELECT confirmed_sequence FROM ackbox_session_states").getInt64();
  };
  CHECK(confirmed() == 0);
  world.lives->erase(dying->owner());
  CHECK(inTransaction(*reader, [&] { return reader->owners().releaseDead(); }) == 1);
  CHECK(confirmed() == 0);
  delivery::SessionClaim more = claimOf(reader->discovery().take(10));
  more.doubt = delivery::AcceptedFrame{2, second};
  const store::ClaimReply again = claimWith(*reader, more);
  REQUIRE(again.sessions.size() == 1);
  CHECK(again.sessions.front().rows.size() == 3);
  CHECK(again.sessions.front().confirmedSequence == 2);
  CHECK(again.sessions.front().rows.front().attempt == 2);
}

}  // namespace claim_bits_test
