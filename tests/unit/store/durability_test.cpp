// Goal: P1, an enqueue's commit is synced to the log before it returns, and only where it was promised; the log stays
// bounded without SQLite's automatic checkpoints.
// Method: a VFS that counts the log's syncs and remembers how far it was written.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "counting_vfs.hpp"
#include "sqlite/checkpointer.hpp"
#include "store_world.hpp"

namespace durability_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

int logSyncsOfCommit(CountingVfs& vfs, store::sqlite::SqliteStore& store, bool durable) {
  const int before = vfs.logSyncs;
  store.begin(durable);
  store.outbox().enqueue(frameOf("s"));
  store.commit();
  return vfs.logSyncs - before;
}

}  // namespace

TEST_CASE("P1: every durable commit syncs the log, the others do not, and changing between them keeps working") {
  CountingVfs vfs;
  StoreWorld world;
  world.options.vfs = vfs.name();
  const auto store = world.open();
  for (int round = 0; round < 5; ++round) {
    CHECK(logSyncsOfCommit(vfs, *store, true) >= 1);
    CHECK(logSyncsOfCommit(vfs, *store, true) >= 1);
    CHECK(logSyncsOfCommit(vfs, *store, false) == 0);
    CHECK(logSyncsOfCommit(vfs, *store, false) == 0);
  }
}

TEST_CASE("P1: a durable commit syncs the log after foreign code ended a transaction and told SQLite not to sync") {
  CountingVfs vfs;
  StoreWorld world;
  world.options.vfs = vfs.name();
  const auto store = world.open();
  for (const bool durable : {true, false}) {
    store->begin(durable);
    store->guardTransaction(true);
    store->database().exec("ROLLBACK; PRAGMA synchronous=OFF");
    store->rollback();
    CHECK(logSyncsOfCommit(vfs, *store, true) >= 1);
    CHECK(logSyncsOfCommit(vfs, *store, false) == 0);
    CHECK(logSyncsOfCommit(vfs, *store, true) >= 1);
  }
}

TEST_CASE("a store that promises to survive a process crash only does not sync") {
  CountingVfs vfs;
  StoreWorld world;
  world.options.vfs = vfs.name();
  world.options.durability = Durability::processCrash;
  const auto store = world.open();
  CHECK(logSyncsOfCommit(vfs, *store, true) == 0);
}

TEST_CASE("the log stays bounded by checkpoints, with a second store and with a reader that comes and goes") {
  CountingVfs vfs;
  StoreWorld world;
  world.options.vfs = vfs.name();
  world.options.checkpointPages = 50;
  const auto first = world.open();
  const auto second = world.open();
  SQLite::Database reader(world.file.string(), SQLite::OPEN_READONLY);
  for (int round = 0; round < 1'000; ++round) {
    enqueueOne(round % 2 == 0 ? *first : *second, frameOf("s", std::string(3'000, 'x')));
    if (round % 100 == 0) {
      CHECK(reader.execAndGet("SELECT count(*) FROM ackbox_outbox").getInt() == round + 1);
    }
  }
  CHECK(vfs.logBytesMax < 200 * 4'200);
  CHECK(first->database().execAndGet("PRAGMA integrity_check").getString() == "ok");
}

TEST_CASE("a checkpoint that finds another writer at work copies nothing behind its back") {
  const TempDir directory;
  const std::string file = directory.file("plain.db").string();
  SQLite::Database ours(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  ours.exec("PRAGMA journal_mode=WAL; CREATE TABLE t(a)");
  sqlite::Checkpointer checkpointer(ours.getHandle(), 1, 0);
  SQLite::Database other(file, SQLite::OPEN_READWRITE);
  ours.exec("INSERT INTO t VALUES(zeroblob(100000))");
  const auto before = std::filesystem::file_size(file);

  other.exec("BEGIN IMMEDIATE");
  checkpointer.checkpointIfDue();
  // SQLite alone would have gone on with a passive checkpoint here.
  CHECK(std::filesystem::file_size(file) == before);

  other.exec("ROLLBACK");
  ours.exec("INSERT INTO t VALUES(zeroblob(100000))");
  checkpointer.checkpointIfDue();
  CHECK(std::filesystem::file_size(file) > before + 200'000);
}

TEST_CASE("a checkpoint that was asked for is still wanted after one that went well is to be tried again") {
  const TempDir directory;
  const auto file = directory.file("agent.db");
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(v)");
  const auto log = file.string() + "-wal";
  sqlite::Checkpointer checkpointer(database.getHandle(), 1000, 0);
  database.exec("INSERT INTO t VALUES(1)");
  checkpointer.retry();
  checkpointer.checkpointIfDue();
  CHECK(std::filesystem::file_size(log) != 0);
  checkpointer.request();
  checkpointer.retry();
  checkpointer.checkpointIfDue();
  CHECK(std::filesystem::file_size(log) == 0);
}

}  // namespace durability_test
