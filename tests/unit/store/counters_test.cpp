// Goal: the counters row, read in O(1), always equals what a count over the rows would say.
// Method: a seeded loop of enqueues, claims, settles, ACKs, rollbacks and undone scopes; after each step the gauges
// are compared with count(*).

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <map>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"
#include "support/scale.hpp"

namespace counters_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using store::DeadLetterSlice;

namespace {

struct RandomWork {
  RandomWork(std::uint64_t seed, std::size_t peers) : random(seededRandom(seed)) {
    for (std::size_t peer = 0; peer < peers; ++peer) {
      world.options.peers.push_back({.name = "p" + std::to_string(peer)});
    }
    // Odd seeds keep what is acknowledged.
    world.options.ackedRetention = std::chrono::seconds(10 * (seed % 2));
    store = world.open();
  }

  std::size_t below(std::size_t bound) { return random->next() % bound; }

  void enqueue() {
    const std::size_t count = 1 + below(5);
    for (std::size_t index = 0; index < count; ++index) {
      Frame frame = frameOf("s" + std::to_string(below(4)), '"' + std::string(below(300), 'x') + '"');
      frame.peer = world.options.peers[below(world.options.peers.size())].name;
      const auto receipt = store->outbox().enqueue(frame);
      ids.push_back(receipt.messageId);
    }
  }

  void claim() {
    for (const delivery::RowSeen& row : store->discovery().take(100).rows) {
      known[row.session].push_back(row.key);
    }
    std::vector<delivery::SessionClaim> wanted;
    for (const auto& [session, keys] : known) {
      wanted.push_back({session, keys});
    }
    store->begin(false);
    for (const delivery::SessionClaimed& session : store->claims().claim(wanted).sessions) {
      for (const delivery::ClaimedRow& row : session.rows) {
        delivery::Settlement settlement;
        settlement.key = row.key;
        settlement.session = session.session;
        settlement.attempt = row.attempt;
        claimed.push_back(settlement);
      }
    }
    store->commit();
  }

  void settle() {
    static constexpr Transition kChoices[] = {Transition::ack, Transition::defer, Transition::retry,
                                              Transition::release, Transition::fail};
    for (delivery::Settlement& settlement : claimed) {
      settlement.transition = kChoices[below(5)];
      settlement.reason = settlement.transition == Transition::fail ? "given-up" : "";
    }
    // Some twice: those are stale.
    const std::vector<delivery::Settlement> again(claimed.begin(),
                                                  claimed.begin() + static_cast<std::ptrdiff_t>(claimed.size() / 3));
    store->settles().settle(claimed);
    store->settles().settle(again);
    claimed.clear();
  }

  void step() {
    switch (below(8)) {
      case 0:
        return claim();
      case 4:
        // Another connection's commit, and time.
        world.clock->advance(std::chrono::seconds(5));
        other().begin(false);
        other().settles().purgeAcked(3);
        return other().commit();
      case 5:
        store->begin(false);
        (void)store->deadLetters().change(DeadLetterSlice{}, below(2) == 0 ? Transition::redrive : Transition::discard,
                                          2);
        break;
      case 6:
        store->begin(false);
        store->advanceOldest(below(4));
        break;
      case 1:
        store->begin(false);
        settle();
        break;
      case 2:
        store->begin(false);
        if (!ids.empty()) {
          store->settles().ackById(ids[below(ids.size())]);
        }
        break;
      case 3:
        store->begin(false);
        store->savepoint();
        enqueue();
        if (below(2) == 0) {
          store->rollbackToSavepoint();
        } else {
          store->releaseSavepoint();
        }
        break;
      default:
        store->begin(false);
        enqueue();
        if (below(3) == 0) {
          return store->rollback();
        }
        break;
    }
    store->commit();
  }

  store::sqlite::SqliteStore& other() {
    if (!second) {
      second = world.open();
    }
    return *second;
  }

  StoreWorld world;
  std::unique_ptr<store::sqlite::SqliteStore> store;
  std::unique_ptr<store::sqlite::SqliteStore> second;
  std::shared_ptr<Random> random;
  std::map<delivery::SessionKey, std::vector<delivery::MessageKey>> known;
  std::vector<delivery::Settlement> claimed;
  std::vector<std::string> ids;
};

}  // namespace

TEST_CASE("row 13, defect 7: counters equal a count over the rows after any sequence of operations (P9)") {
  for (std::uint64_t seed = 1; seed <= scaled(3); ++seed) {
    CAPTURE(seed);
    RandomWork work(seed, 1 + seed % 3);
    const store::sqlite::SqliteReader reader(work.world.file, work.world.options);
    SQLite::Database& database = work.store->database();
    const std::string state = sqlite::expand(store::sqlite::kRowState, "ackbox_");
    const auto count = [&](const std::string& what) {
      return static_cast<std::uint64_t>(
          database.execAndGet("SELECT " + what + " FROM (SELECT data," + state + " AS state FROM ackbox_outbox AS o)")
              .getInt64());
    };
    for (int step = 0; step < 150; ++step) {
      CAPTURE(step);
      work.step();
      const Stats stats = reader.stats();
      REQUIRE(stats.pending == count("count(*) FILTER (WHERE state=0)"));
      REQUIRE(stats.sending == count("count(*) FILTER (WHERE state=1)"));
      REQUIRE(stats.sent == count("count(*) FILTER (WHERE state=2)"));
      REQUIRE(stats.failed == count("count(*) FILTER (WHERE state=4)"));
      REQUIRE(stats.pendingBytes == count("coalesce(sum(length(data)) FILTER (WHERE state<3),0)"));
      REQUIRE(stats.ackedRetained == count("count(*) FILTER (WHERE state=3)"));
      for (const Finding& finding : store::sqlite::verify(work.world.file, work.world.options).findings) {
        FAIL(finding.table, " ", finding.row, ": ", finding.problem);
      }
      const auto totalOf = [peers = reader.peerStats()](auto member) {
        std::uint64_t sum = 0;
        for (const PeerStats& peer : peers) {
          sum += peer.*member;
        }
        return sum;
      };
      REQUIRE(totalOf(&PeerStats::pending) == stats.pending);
      REQUIRE(totalOf(&PeerStats::sending) == stats.sending);
      REQUIRE(totalOf(&PeerStats::enqueued) == stats.enqueued);
      REQUIRE(totalOf(&PeerStats::acked) == stats.acked);
      REQUIRE(totalOf(&PeerStats::totalRetries) == stats.totalRetries);
      REQUIRE(stats.enqueueToAck.count == stats.acked);
    }
    CHECK(reader.stats().staleSettles > 0);
    CHECK(reader.stats().acked > 0);
  }
}

TEST_CASE("P2 P4: an undone scope leaves nothing of its messages behind where their keys and numbers are given again") {
  StoreWorld world;
  world.options.peers = {{.name = "undone"}, {.name = "kept"}};
  const auto store = world.open();
  const auto to = [](const char* peer, const char* session, const char* data) {
    Frame frame = frameOf(session, data);
    frame.peer = peer;
    return frame;
  };
  inTransaction(*store, [&] {
    store->savepoint();
    REQUIRE(store->outbox().enqueue(to("undone", "of the scope", "\"undone\"")).isNew());
    bool isSettled = false;
    SUBCASE("written out") {
      store->advanceOldest(1);
    }
    SUBCASE("claimed and settled, so that every part of the store has heard of it") {
      const delivery::SessionClaim claim{1, {1}};
      const store::ClaimReply reply = store->claims().claim({&claim, 1});
      REQUIRE(reply.messages.size() == 1);
      const delivery::Settlement settlement = settlementOf(reply, Transition::fail);
      REQUIRE(store->settles().settle({&settlement, 1}).front());
      isSettled = true;
    }
    CHECK(store->vitals().live == (isSettled ? 0 : 1));
    store->rollbackToSavepoint();
    CHECK(store->vitals().live == 0);
    CHECK(store->vitals().failed == 0);
    REQUIRE(store->outbox().enqueue(to("kept", "kept", "\"kept\"")).sequence == 1);
  });
  const store::sqlite::SqliteReader reader(world.file, world.options);
  CHECK(reader.stats().oldestPendingAt == world.clock->wallNow());
  CHECK(reader.stats().failed == 0);
  CHECK(reader.stats().failedTotal == 0);
  const store::NewRows fresh = store->discovery().take(10);
  REQUIRE(fresh.rows.size() == 1);
  CHECK(store->discovery().sessionName(fresh.rows.front().session) == "kept");
  const delivery::SessionClaim claim{fresh.rows.front().session, {fresh.rows.front().key}};
  const store::ClaimReply reply = inTransaction(*store, [&] { return store->claims().claim({&claim, 1}); });
  REQUIRE(reply.messages.size() == 1);
  CHECK(reply.messages.front().frame.data == "\"kept\"");
  CHECK(reply.messages.front().frame.session == "kept");
  CHECK(reply.sessions.front().rows.front().attempt == 1);
  CHECK(reply.sessions.front().previousSequence == 0);
  CHECK(reply.sessions.front().confirmedSequence == 0);
  REQUIRE(settleOne(*store, settlementOf(reply, Transition::ack)));
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("row 10: the oldest message that waits is the same after an undone scope in which it was settled") {
  StoreWorld world;
  const auto store = world.open();
  const WallTime first = world.clock->wallNow();
  enqueueOne(*store, frameOf("s", "{}", "a"));
  world.clock->advance(std::chrono::seconds(1));
  enqueueOne(*store, frameOf("s", "{}", "b"));
  store->begin(false);
  store->savepoint();
  REQUIRE(store->settles().ackById("a"));
  store->advanceOldest(10);
  CHECK(store->vitals().oldestAt == first + std::chrono::seconds(1));
  store->rollbackToSavepoint();
  CHECK(store->vitals().oldestAt.value_or(first) == first);
  store->advanceOldest(10);
  CHECK(store->vitals().oldestAt == first);
  store->commit();
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().oldestPendingAt == first);
}

}  // namespace counters_test
