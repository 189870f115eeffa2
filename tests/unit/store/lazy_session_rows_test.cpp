// Goal: a session's row may lag behind its messages, but nobody notices: no number is given twice, and readers, other
// processes and the application's own connection see the truth. Method: each way in which a lagging row is met, without
// the orderly end that would write it; then random histories beside a model, with every invariant of `verify`:
// ACKBOX_TEST_SCALE multiplies them.

#include "store/sqlite/cache/lazy_session_rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ackbox/random.hpp"
#include "store/sqlite/outbound/application_writer.hpp"
#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"
#include "support/scale.hpp"

namespace ackbox::testing::lazy_session_rows_test {
namespace {

// The file as a crash would leave it: what is committed, and nothing that a process does at its end.
struct Crashed : StoreWorld {
  explicit Crashed(const StoreWorld& world) {
    for (const char* end : {"", "-wal"}) {
      std::filesystem::copy_file(world.file.string() + end, file.string() + end);
    }
    options = world.options;
    lives = std::make_shared<Lives>();
  }
};

std::int64_t columnOf(const StoreWorld& world, const std::string& session, const std::string& column) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  return database
      .execAndGet("SELECT " + column +
                  " FROM ackbox_session_states JOIN ackbox_sessions ON id=session_id WHERE name='" + session + "'")
      .getInt64();
}

std::int64_t tailsKey(const StoreWorld& world) {
  SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
  return database.execAndGet("SELECT tails_key FROM ackbox_counters").getInt64();
}

SessionStats statsOf(const StoreWorld& world, const std::string& session) {
  const store::sqlite::SqliteReader reader(world.file, world.options);
  for (const SessionStats& stats : reader.sessions({}, 100, 0).sessions) {
    if (stats.session == session) {
      return stats;
    }
  }
  return {};
}

std::string findingsOf(const StoreWorld& world) {
  std::string text;
  for (const Finding& finding : store::sqlite::verify(world.file, world.options).findings) {
    text += finding.table + " " + std::to_string(finding.row) + ": " + finding.problem + "\n";
  }
  return text;
}

std::uint64_t enqueueTo(store::sqlite::SqliteStore& store, const std::string& session) {
  return enqueueOne(store, frameOf(session)).sequence;
}

}  // namespace

TEST_CASE("an enqueue leaves its session's row alone, and readers see what it does not say") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  enqueueTo(*store, "s");
  CHECK(columnOf(world, "s", "last_sequence") == 0);
  CHECK(columnOf(world, "s", "live") == 0);
  CHECK(statsOf(world, "s").lastSequence == 2);
  CHECK(statsOf(world, "s").live == 2);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("after a crash the numbers go on where the messages end") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  enqueueTo(*store, "t");
  enqueueTo(*store, "s");
  const Crashed crashed(world);
  const auto next = crashed.open();
  CHECK(columnOf(crashed, "s", "last_sequence") == 2);
  CHECK(columnOf(crashed, "s", "live") == 2);
  CHECK(columnOf(crashed, "s", "head_id") == 1);
  CHECK(tailsKey(crashed) == 3);
  CHECK(enqueueTo(*next, "s") == 3);
  CHECK(enqueueTo(*next, "t") == 2);
  CHECK(findingsOf(crashed).empty());
}

TEST_CASE("an enqueue leaves the counters' row alone as well, and readers, and who comes later, count the message") {
  StoreWorld world;
  world.options.peers.resize(2);
  world.options.peers.back().name = "other";
  world.options.peers.back().url = "http://127.0.0.1:1/";
  const auto store = world.open();
  const auto column = [&world](const std::string& name, const std::string& table) {
    SQLite::Database database(world.file.string(), SQLite::OPEN_READONLY);
    return database.execAndGet("SELECT sum(" + name + ") FROM ackbox_" + table).getInt64();
  };
  enqueueTo(*store, "s");
  Frame frame = frameOf("s", "[1]");
  frame.peer = "other";
  enqueueOne(*store, frame);
  frame.session.clear();
  enqueueOne(*store, frame);
  CHECK(column("last_key", "counters") == 0);
  CHECK(column("pending", "peer_counters") == 0);
  const auto checkFigures = [](const StoreWorld& at, std::uint64_t count) {
    const store::sqlite::SqliteReader reader(at.file, at.options);
    CHECK(reader.stats().pending == count);
    CHECK(reader.stats().enqueued == count);
    CHECK(reader.stats().pendingBytes == 3 * count - 1);
    const std::vector<PeerStats> peers = reader.peerStats();
    REQUIRE(peers.size() == 2);
    CHECK(peers.at(0).pending == 1);
    CHECK(peers.at(1).pending == count - 1);
    CHECK(peers.at(1).enqueued == count - 1);
    CHECK(peers.at(1).pendingBytes == 3 * (count - 1));
    CHECK(findingsOf(at).empty());
  };
  checkFigures(world, 3);
  SUBCASE("after a crash") {
    const Crashed crashed(world);
    const auto next = crashed.open();
    checkFigures(crashed, 3);
    enqueueOne(*next, frame);
    checkFigures(crashed, 4);
  }
  SUBCASE("another store") {
    const auto other = world.open();
    checkFigures(world, 3);
    CHECK(column("pending", "peer_counters") == 3);
    enqueueOne(*store, frame);
    enqueueOne(*other, frame);
    enqueueOne(*store, frame);
    checkFigures(world, 6);
  }
  SUBCASE("64 of them") {
    for (std::uint64_t count = 3; count < 63; ++count) {
      enqueueOne(*store, frame);
    }
    CHECK(column("last_key", "counters") == 0);
    enqueueOne(*store, frame);
    CHECK(column("last_key", "counters") == 64);
    checkFigures(world, 64);
  }
  SUBCASE("with anything else") {
    inTransaction(*store, [&] { store->inboundMarks().countDuplicate(); });
    CHECK(column("last_key", "counters") == 3);
    checkFigures(world, 3);
  }
  SUBCASE("undone") {
    store->begin(false);
    static_cast<void>(store->outbox().enqueue(frame));
    store->rollback();
    checkFigures(world, 3);
    store->begin(false);
    store->savepoint();
    static_cast<void>(store->outbox().enqueue(frame));
    store->rollbackToSavepoint();
    static_cast<void>(store->outbox().enqueue(frame));
    store->commit();
    checkFigures(world, 4);
  }
}

TEST_CASE("an orderly end writes all tails") {
  const StoreWorld world;
  auto store = world.open();
  enqueueTo(*store, "s");
  store = nullptr;
  CHECK(columnOf(world, "s", "last_sequence") == 1);
  CHECK(columnOf(world, "s", "live") == 1);
  CHECK(tailsKey(world) == 1);
}

TEST_CASE("what was enqueued in a transaction is there for the rest of it") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  const delivery::RowSeen first = store->discovery().take(10).rows.front();
  Frame frame = frameOf("s", "{}", "mine");
  frame.supersedeKey = "k";
  frame.idempotencyKey = "once";
  store->begin(false);
  REQUIRE(store->outbox().enqueue(frame).sequence == 2);
  SUBCASE("its id") {
    CHECK(store->outbox().enqueue(frameOf("s", "{}", "mine")).status == EnqueueStatus::duplicate);
  }
  SUBCASE("its key") {
    frame.id = "another";
    CHECK(store->outbox().enqueue(frame).messageId == "mine");
  }
  SUBCASE("who takes its place") {
    frame.id = "another";
    frame.idempotencyKey.clear();
    CHECK(store->outbox().enqueue(frame).supersededId == "mine");
  }
  SUBCASE("an acknowledgement") {
    CHECK(store->settles().ackById("mine").has_value());
  }
  SUBCASE("a change by hand") {
    CHECK_FALSE(store->deadLetters().change("mine", delivery::Transition::fail, "why").receipt.refusal);
  }
  SUBCASE("a claim") {
    const delivery::SessionClaim claim{first.session, {first.key, first.key + 1}};
    CHECK(store->claims().claim({&claim, 1}).messages.size() == 2);
  }
  store->commit();
  CHECK(findingsOf(world).empty());
}

TEST_CASE("a session's head is the first of the messages that its row did not know") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  enqueueOne(*store, frameOf("s", "{}", "second"));
  REQUIRE(inTransaction(*store, [&] { return store->settles().ackById("second").has_value(); }));
  CHECK(columnOf(world, "s", "head_id") == 1);
}

TEST_CASE("an enqueue that is undone, alone or with its transaction, leaves no trace in the tail") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueTo(*store, "s");
  SUBCASE("a nested scope") {
    store->begin(false);
    CHECK(store->outbox().enqueue(frameOf("s")).sequence == 2);
    store->savepoint();
    CHECK(store->outbox().enqueue(frameOf("s")).sequence == 3);
    CHECK(store->outbox().enqueue(frameOf("new")).sequence == 1);
    store->rollbackToSavepoint();
    CHECK(store->outbox().enqueue(frameOf("s")).sequence == 3);
    store->savepoint();
    CHECK(store->outbox().enqueue(frameOf("t")).sequence == 1);
    store->releaseSavepoint();
    store->commit();
    CHECK(statsOf(world, "s").live == 3);
    CHECK(statsOf(world, "t").live == 1);
    CHECK(enqueueTo(*store, "new") == 1);
    CHECK(enqueueTo(*store, "s") == 4);
  }
  SUBCASE("a nested scope whose keys go to other sessions") {
    for (const char* session : {"a", "b"}) {
      enqueueOne(*store, frameOf(session, "{}", session));
      REQUIRE(inTransaction(*store, [&] { return store->settles().ackById(session).has_value(); }));
    }
    store->begin(false);
    store->savepoint();
    static_cast<void>(store->outbox().enqueue(frameOf("a")));
    static_cast<void>(store->outbox().enqueue(frameOf("b")));
    store->rollbackToSavepoint();
    static_cast<void>(store->outbox().enqueue(frameOf("c")));
    static_cast<void>(store->outbox().enqueue(frameOf("b")));
    store->commit();
    // Writes the row of "s", which was first.
    const delivery::RowSeen row = store->discovery().take(10).rows.front();
    const delivery::SessionClaim claim{row.session, {row.key}};
    inTransaction(*store, [&] { static_cast<void>(store->claims().claim({&claim, 1})); });
    delivery::SessionRelease release;
    release.session = row.session;
    inTransaction(*store, [&] {
      store->claims().endClaims({&release, 1});
      store->inboundMarks().countDuplicate();
    });
    CHECK(columnOf(world, "s", "last_sequence") == 1);
    CHECK(tailsKey(world) == 3);
  }
  SUBCASE("the transaction") {
    store->begin(false);
    CHECK(store->outbox().enqueue(frameOf("s")).sequence == 2);
    store->rollback();
    CHECK(enqueueTo(*store, "s") == 2);
  }
  SUBCASE("the transaction that would have written it") {
    store->begin(false);
    REQUIRE(store->settles().ackById(
        store::sqlite::SqliteReader(world.file, world.options).messages({}, 1, 0).messages.front().messageId));
    store->rollback();
    CHECK(enqueueTo(*store, "s") == 2);
  }
  CHECK(findingsOf(world).empty());
  const Crashed crashed(world);
  const auto next = crashed.open();
  CHECK(enqueueTo(*next, "s") == statsOf(world, "s").lastSequence + 1);
  CHECK(findingsOf(crashed).empty());
}

TEST_CASE("stores that take turns on one file give each number once") {
  const StoreWorld world;
  const auto one = world.open();
  const auto two = world.open();
  for (std::uint64_t round = 0; round < 5; ++round) {
    CHECK(enqueueTo(*one, "s") == 4 * round + 1);
    CHECK(enqueueTo(*one, "s") == 4 * round + 2);
    CHECK(enqueueTo(*two, "s") == 4 * round + 3);
    // Or each would look at all rows since the last release, again and again.
    CHECK(tailsKey(world) == static_cast<std::int64_t>(4 * round + 2));
    CHECK(enqueueTo(*two, "s") == 4 * round + 4);
  }
  CHECK(statsOf(world, "s").live == 20);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("the application's own connection goes on behind the store's messages, and the store behind its") {
  const StoreWorld world;
  const auto store = world.open();
  SQLite::Database connection{world.file.string(), SQLite::OPEN_READWRITE};
  store::sqlite::ApplicationWriter writer{connection.getHandle(), world.options, {}};
  CHECK(enqueueTo(*store, "s") == 1);
  connection.exec("BEGIN");
  CHECK(writer.enqueue(frameOf("s")).sequence == 2);
  CHECK(writer.enqueue(frameOf("s")).sequence == 3);
  connection.exec("ROLLBACK; BEGIN");
  CHECK(writer.enqueue(frameOf("s")).sequence == 2);
  connection.exec("COMMIT");
  CHECK(columnOf(world, "s", "last_sequence") == 2);
  CHECK(enqueueTo(*store, "s") == 3);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("a priority is written at once, as messages do not say it") {
  const StoreWorld world;
  const auto store = world.open();
  Frame frame = frameOf("s");
  enqueueOne(*store, frame);
  frame.priority = 9;
  enqueueOne(*store, frame);
  CHECK(columnOf(world, "s", "priority") == 9);
  CHECK(columnOf(world, "s", "last_sequence") == 0);
}

TEST_CASE("rows lag behind by so many messages and no more, oldest first") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueTo(*store, "old");
  inTransaction(*store, [&] {
    for (std::int64_t count = 1; count < store::sqlite::LazySessionRows::kBehindMax; ++count) {
      static_cast<void>(store->outbox().enqueue(frameOf("busy")));
    }
  });
  CHECK(columnOf(world, "old", "last_sequence") == 0);
  CHECK(tailsKey(world) == 0);
  const auto enqueueAndCount = [&](const std::string& session) {
    inTransaction(*store, [&] {
      static_cast<void>(store->outbox().enqueue(frameOf(session)));
      // Writes the counters' row.
      store->inboundMarks().countDuplicate();
    });
  };
  enqueueAndCount("busy");
  CHECK(columnOf(world, "old", "last_sequence") == 1);
  CHECK(columnOf(world, "busy", "last_sequence") == 0);
  CHECK(tailsKey(world) == 1);
  enqueueAndCount("late");
  CHECK(columnOf(world, "busy", "last_sequence") == store::sqlite::LazySessionRows::kBehindMax);
  CHECK(columnOf(world, "late", "last_sequence") == 0);
  CHECK(tailsKey(world) == store::sqlite::LazySessionRows::kBehindMax + 1);
  CHECK(findingsOf(world).empty());
}

TEST_CASE("whatever happens to messages, numbers and gauges are those of a model") {
  for (std::uint64_t seed = 1; seed <= scaled(4); ++seed) {
    CAPTURE(seed);
    const auto random = seededRandom(seed);
    const auto below = [&random](std::uint64_t bound) { return random->next() % bound; };
    StoreWorld world;
    if (seed % 2 == 0) {
      world.options.ackedRetention = std::chrono::hours(1);
    }
    std::vector<std::unique_ptr<store::sqlite::SqliteStore>> stores;
    stores.push_back(world.open());
    stores.push_back(world.open());
    std::map<std::string, std::uint64_t> tails;
    std::vector<std::string> ids;
    const auto change = [&](store::sqlite::SqliteStore& store) {
      const std::string session = "s" + std::to_string(below(4));
      switch (ids.empty() ? 0 : below(6)) {
        case 0:
        case 1: {
          Frame frame = frameOf(session);
          frame.supersedeKey = below(3) == 0 ? "k" : "";
          frame.priority = static_cast<std::uint8_t>(4 + below(2));
          const EnqueueReceipt receipt = store.outbox().enqueue(frame);
          REQUIRE(receipt.sequence == ++tails[session]);
          ids.push_back(receipt.messageId);
          break;
        }
        case 2:
          static_cast<void>(store.settles().ackById(ids[below(ids.size())]));
          break;
        case 3:
          static_cast<void>(store.deadLetters().change(ids[below(ids.size())], delivery::Transition::fail, "why"));
          break;
        case 4:
          static_cast<void>(store.deadLetters().change(ids[below(ids.size())], delivery::Transition::discard, {}));
          break;
        default: {
          const store::HandChange made =
              store.deadLetters().change(ids[below(ids.size())], delivery::Transition::redrive, {});
          if (!made.receipt.refusal) {
            REQUIRE(made.receipt.sequence == ++tails[made.session]);
          }
        }
      }
    };
    for (int step = 0; step < 60; ++step) {
      store::sqlite::SqliteStore& store = *stores[below(stores.size())];
      const auto tailsBefore = tails;
      const auto idsBefore = ids;
      store.begin(false);
      for (std::uint64_t changes = below(4); changes != 0; --changes) {
        if (below(4) != 0) {
          change(store);
          continue;
        }
        const auto tailsOutside = tails;
        const auto idsOutside = ids;
        store.savepoint();
        change(store);
        if (below(2) == 0) {
          store.releaseSavepoint();
        } else {
          store.rollbackToSavepoint();
          tails = tailsOutside;
          ids = idsOutside;
        }
      }
      if (below(5) == 0) {
        store.rollback();
        tails = tailsBefore;
        ids = idsBefore;
      } else {
        store.commit();
      }
      REQUIRE(findingsOf(world) == "");
      for (const auto& [session, last] : tails) {
        REQUIRE((last == 0 || statsOf(world, session).lastSequence == last));
      }
    }
    const Crashed crashed(world);
    const auto next = crashed.open();
    REQUIRE(findingsOf(crashed) == "");
    for (const auto& [session, last] : tails) {
      REQUIRE(enqueueTo(*next, session) == last + 1);
    }
  }
}

}  // namespace ackbox::testing::lazy_session_rows_test
