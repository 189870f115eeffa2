// Goal: what an operator reads: ages, latencies, sizes, one peer's and one session's part, at a cost that neither the
// backlog nor the dead letters move.
// Method: a store and its reader on one file, time by hand; the cost as the instructions that SQLite executes.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace stats_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("row 13, P9: dead letters in front of the oldest message are passed once, not by each reader") {
  StoreWorld world;
  const auto store = world.open();
  constexpr int kDead = 3'000;
  inTransaction(*store, [&] {
    for (int index = 0; index < kDead; ++index) {
      store->outbox().enqueue(frameOf("s" + std::to_string(index % 7)));
    }
  });
  for (int rest = kDead; rest > 0; rest -= 1'000) {
    settleAll(*store, Transition::fail);
  }
  enqueueOne(*store, frameOf("live"));
  const auto floor = [&] { return store->database().execAndGet("SELECT oldest_key FROM ackbox_counters").getInt64(); };
  CHECK(floor() == kDead + 1);
  CHECK(world.reader()->stats().oldestPendingAt == world.clock->wallNow());
  CHECK(store::sqlite::verify(world.file, world.options).clean());

  // Another process's settle is passed by the poll, a bounded step at a time.
  store->database().exec("UPDATE ackbox_counters SET oldest_key=0");
  const auto other = world.open();
  int steps = 0;
  for (; floor() != kDead + 1; ++steps) {
    inTransaction(*other, [&] { other->advanceOldest(1'000); });
    REQUIRE(steps < 10);
  }
  CHECK(steps == 3);
}

TEST_CASE("the oldest message is known where one is left, and kept ones are passed where none is") {
  StoreWorld world;
  world.options.ackedRetention = std::chrono::hours(1);
  std::int64_t passed = 3;
  SUBCASE("kept") {}
  SUBCASE("not kept") {
    world.options.ackedRetention = std::chrono::hours(0);
    passed = 2;
  }
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", "{}", "a"));
  world.clock->advance(seconds(10));
  enqueueOne(*store, frameOf("s", "{}", "b"));
  const auto oldestAfter = [&](const char* settled) {
    inTransaction(*store, [&] { return store->settles().ackById(settled).has_value(); });
    return inTransaction(*store, [&] { return store->vitals(); }).oldestAt;
  };
  CHECK(oldestAfter("a") == world.clock->wallNow());
  CHECK_FALSE(oldestAfter("b"));
  CHECK(store->database().execAndGet("SELECT oldest_key FROM ackbox_counters").getInt64() == passed);
}

TEST_CASE("row 24: what is being sent is told of its peer, whoever sends it, and is not pending") {
  StoreWorld world;
  setPeers(world.options, {"alice", "bob"});
  const auto first = world.open();
  const auto second = world.open();
  for (int index = 0; index < 70; ++index) {
    enqueueOne(*first, frameTo("alice", "s" + std::to_string(index)));
  }
  REQUIRE(claimNew(*first).messages.size() == 70);
  enqueueOne(*second, frameTo("bob", "s"));
  enqueueOne(*second, frameTo("alice", "another"));
  const auto rows = second->discovery().take(100).rows;
  const delivery::SessionClaim toBob{rows.at(70).session, {rows.at(70).key}};
  REQUIRE(inTransaction(*second, [&] { return second->claims().claim({&toBob, 1}); }).messages.size() == 1);
  const Stats stats = world.reader()->stats();
  CHECK(stats.sending == 71);
  CHECK(stats.pending == 1);
  const std::vector<PeerStats> peers = world.reader()->peerStats();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].sending == 70);
  CHECK(peers[0].pending == 1);
  CHECK(peers[1].sending == 1);
  CHECK(peers[1].pending == 0);

  // Of a damaged file, too, no figure wraps around.
  first->database().exec("UPDATE ackbox_claims SET bits=-1 WHERE block>=0");
  first->database().exec("UPDATE ackbox_peer_counters SET pending=0");
  CHECK(world.reader()->stats().pending == 0);
  for (const PeerStats& peer : world.reader()->peerStats()) {
    CHECK(peer.pending == 0);
  }
}

TEST_CASE("row 24: the sizes of the file, of what is free in it, and of its log are told") {
  StoreWorld world;
  const auto store = world.open();
  const Stats before = world.reader()->stats();
  CHECK(before.fileBytes > 0);
  CHECK(before.walBytes > 0);
  inTransaction(*store, [&] {
    for (int index = 0; index < 100; ++index) {
      store->outbox().enqueue(frameOf("s", std::string(20'000, 'x')));
    }
  });
  const Stats full = world.reader()->stats();
  CHECK(full.fileBytes > before.fileBytes + 2'000'000);
  CHECK(full.walBytes > 2'000'000);
  settleAll(*store, Transition::ack);
  CHECK(world.reader()->stats().freeBytes > 1'500'000);
}

TEST_CASE("row 19: free pages are given back a few at a time, in a file that we made, and the file is shorter") {
  StoreWorld world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    for (int index = 0; index < 800; ++index) {
      store->outbox().enqueue(frameOf("s", std::string(20'000, 'x')));
    }
  });
  settleAll(*store, Transition::ack);
  const Stats full = world.reader()->stats();
  REQUIRE(full.freeBytes > 15'000'000);
  // What a run does by itself leaves a margin for the next messages.
  int slices = 1;
  while (inTransaction(*store, [&] { return store->tidy(); })) {
    ++slices;
  }
  Stats now = world.reader()->stats();
  CHECK(slices > 20);
  CHECK(now.freeBytes < 5'000'000);
  CHECK(now.freeBytes > 3'000'000);
  CHECK(now.fileBytes < full.fileBytes / 2);
  // By hand, all of it.
  CHECK(inTransaction(*store, [&] { return store->vacuum(10); }) == 10);
  CHECK(inTransaction(*store, [&] { return store->vacuum(100'000); }) > 500);
  now = world.reader()->stats();
  CHECK(now.freeBytes == 0);
  CHECK(std::filesystem::file_size(world.file) == now.fileBytes);
  CHECK(now.walBytes == 0);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("row 19: 1,024 free pages are kept for the next messages; of one more, a slice is given back") {
  for (const int free : {1'024, 1'025}) {
    CAPTURE(free);
    StoreWorld world;
    const auto store = world.open();
    inTransaction(*store, [&] {
      for (int index = 0; index < 250; ++index) {
        store->outbox().enqueue(frameOf("s", std::string(20'000, 'x')));
      }
    });
    settleAll(*store, Transition::ack);
    const auto freePages = [&] { return store->database().execAndGet("PRAGMA freelist_count").getInt(); };
    REQUIRE(freePages() > free);
    inTransaction(*store, [&] { store->vacuum(static_cast<std::size_t>(freePages() - free)); });
    REQUIRE(freePages() == free);
    CHECK_FALSE(inTransaction(*store, [&] { return store->tidy(); }));
    CHECK(freePages() == (free == 1'024 ? 1'024 : 1'025 - 64));
  }
}

TEST_CASE("an application's file is never converted") {
  StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE mine(a)");
  const auto store = world.open();
  enqueueOne(*store, frameOf("s", std::string(200'000, 'x')));
  settleAll(*store, Transition::ack);
  CHECK(world.reader()->stats().freeBytes > 100'000);
  CHECK(inTransaction(*store, [&] { return store->vacuum(10); }) == 0);
  CHECK_FALSE(inTransaction(*store, [&] { return store->tidy(); }));
  CHECK(store->database().execAndGet("PRAGMA auto_vacuum").getInt() == 0);
}

TEST_CASE("row 19: the log is bounded, grows while a reader holds it, and is cut when the reader has gone") {
  StoreWorld world;
  world.options.checkpointPages = 50;
  const auto store = world.open();
  const auto write = [&](int times) {
    std::uint64_t most = 0;
    for (int index = 0; index < times; ++index) {
      enqueueOne(*store, frameOf("s", '"' + std::string(3'000, 'x') + '"'));
      if (index % 10 == 0) {
        most = std::max(most, world.reader()->stats().walBytes);
      }
    }
    return most;
  };
  CHECK(write(300) < std::uint64_t{100} * 4'200);
  {
    SQLite::Database reader(world.file.string(), SQLite::OPEN_READONLY);
    SQLite::Statement held(reader, "SELECT id FROM ackbox_outbox");
    held.executeStep();
    CHECK(write(300) > std::uint64_t{300} * 4'200);
    // A look while it is there is not waited for, and does no harm.
    inTransaction(*store, [&] { store->tidy(); });
    CHECK(world.reader()->stats().walBytes > std::uint64_t{300} * 4'200);
  }
  // Idle: the poll's look cuts it.
  inTransaction(*store, [&] { store->tidy(); });
  CHECK(world.reader()->stats().walBytes == 0);
  CHECK(write(300) < std::uint64_t{100} * 4'200);
  {
    SQLite::Database reader(world.file.string(), SQLite::OPEN_READONLY);
    SQLite::Statement held(reader, "SELECT id FROM ackbox_outbox");
    held.executeStep();
    write(300);
  }
  // Busy: the writes that follow do.
  write(50);
  CHECK(write(50) < std::uint64_t{110} * 4'200);
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("verify names the row where a figure is not what the rows say") {
  StoreWorld world;
  setPeers(world.options, {"alice", "bob"});
  const auto store = world.open();
  enqueueOne(*store, frameTo("alice", "s"));
  enqueueOne(*store, frameTo("alice", "s"));
  const auto problems = [&] {
    std::string all;
    for (const Finding& finding : store::sqlite::verify(world.file, world.options).findings) {
      all += finding.table + " " + std::to_string(finding.row) + ": " + finding.problem + "\n";
    }
    return all;
  };
  REQUIRE(problems().empty());
  const auto breaks = [&](const std::string& sql, const std::string& back) {
    store->database().exec(sql);
    const std::string found = problems();
    store->database().exec(back);
    return found;
  };
  CHECK(breaks("UPDATE ackbox_session_states SET live=live+1", "UPDATE ackbox_session_states SET live=live-1") ==
        "ackbox_session_states 1: live is not the number of its rows that are not settled\n");
  CHECK(breaks("UPDATE ackbox_session_states SET failed=1", "UPDATE ackbox_session_states SET failed=0") ==
        "ackbox_session_states 1: failed is not the number of its dead letters\n");
  CHECK(breaks("UPDATE ackbox_counters SET oldest_key=2", "UPDATE ackbox_counters SET oldest_key=1") ==
        "ackbox_outbox 1: it is live, but the counters say that all live rows come after it\n");
  CHECK(breaks("UPDATE ackbox_counters SET retained=1", "UPDATE ackbox_counters SET retained=0") ==
        "ackbox_counters 1: retained is not the number of ACKED rows\n");
  CHECK(breaks("UPDATE ackbox_peer_counters SET pending=pending+1 WHERE peer_id=1",
               "UPDATE ackbox_peer_counters SET pending=pending-1 WHERE peer_id=1") ==
        "ackbox_peer_counters 1: the gauges are not what its rows say\n");
  CHECK(breaks("DELETE FROM ackbox_peer_counters WHERE peer_id=2",
               "INSERT INTO ackbox_peer_counters(peer_id) VALUES(2)") ==
        "ackbox_peers 2: the file knows several, and this one has no counters\n");
  CHECK(problems().empty());
}

}  // namespace stats_test
