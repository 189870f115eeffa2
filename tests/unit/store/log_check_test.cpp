// Goal: where SQLite does not write its log as the batched log needs it, the batched log is off: found at open, and
// again with the first write that differs. No row is lost or changed by it.
// Method: a layer above the batched log turns the calls of the SQLite that runs into those of another one, one habit at
// a time.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "counting_vfs.hpp"
#include "other_sqlite.hpp"
#include "sqlite/wal/batched_log.hpp"
#include "sqlite/wal/log_check.hpp"
#include "sqlite/wal/log_format.hpp"
#include "sqlite/wal/scratch_disk.hpp"
#include "store_world.hpp"
#include "support/memory_disk.hpp"

namespace log_check_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

using Habit = OtherSqlite::Habit;

constexpr int kOpenFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
const std::string kFile = "/agent.db";

std::string checkWith(Habit habit) {
  std::unique_ptr<OtherSqlite> other;
  std::string found =
      sqlite::checkLog([&](sqlite3* connection) { other = std::make_unique<OtherSqlite>(connection, habit); });
  if (other) {
    other->forget();
  }
  return found;
}

std::string rows(SQLite::Database& database) {
  return database.execAndGet("SELECT count(*)||' '||coalesce(sum(length(v)),0)||' '||coalesce(sum(id*id),0) FROM t")
      .getString();
}

/// What a connection with a batched log commits under a habit; what a connection sees that recovers the files, and what
/// another one sees at once.
struct Written {
  std::string whyOff;
  std::string own;
  std::string seen;
  std::string recovered;
};

Written writeWith(Habit habit) {
  MemoryDisk disk;
  SQLite::Database database(kFile, kOpenFlags, 0, disk.name());
  // Without a sync, which would write what is held back.
  database.exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=NORMAL");
  database.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
  sqlite::BatchedLog log(database.getHandle());
  OtherSqlite other(database.getHandle(), habit);
  for (int round = 0; round < 3; ++round) {
    database.exec("BEGIN IMMEDIATE");
    for (int row = 0; row < 5; ++row) {
      database.exec("INSERT INTO t(v) VALUES(zeroblob(3000))");
    }
    database.exec("COMMIT");
  }
  Written written;
  written.whyOff = log.whyOff() == nullptr ? "" : log.whyOff();
  written.own = rows(database);
  SQLite::Database reader(kFile, kOpenFlags, 0, disk.name());
  written.seen = rows(reader);
  const MemoryDisk copy(disk.files());
  SQLite::Database recovered(kFile, kOpenFlags, 0, copy.name());
  written.recovered = rows(recovered);
  other.restore();
  return written;
}

}  // namespace

TEST_CASE("the SQLite that runs writes its log as the batched log needs it, and another that does the same passes") {
  CHECK(sqlite::checkLog() == "");
  CHECK(checkWith(Habit::usual) == "");
  CHECK(sqlite::knownLogDifference() == "");
}

TEST_CASE("the SQLite that is meant is the one that runs") {
  // Set where the tests run with another than the system's.
  const char* const expected = std::getenv("ACKBOX_EXPECT_SQLITE");
  CHECK((expected == nullptr || std::string(expected) == sqlite3_libversion()));
}

TEST_CASE("the check at open finds each habit that a SQLite might not have, and says which") {
  const std::string pieces = "SQLite wrote to the log in pieces that are not known";
  const std::string lock = "SQLite wrote to the log without the writer lock";
  const std::string order = "SQLite does not sync a commit after its last page and before it gives the lock back";
  CHECK(checkWith(Habit::wholeFrames) == pieces);
  CHECK(checkWith(Habit::pagesFirst) == pieces);
  CHECK(checkWith(Habit::longHeaders) == pieces);
  CHECK(checkWith(Habit::splitPages) == "a page of the log has not its size or its place");
  CHECK(checkWith(Habit::lateCommitMark) == "a commit is not complete with its last page");
  CHECK(checkWith(Habit::noCommitMark) == "the log's frames or checksums are not those of its commits");
  CHECK(checkWith(Habit::otherLock) == lock);
  CHECK(checkWith(Habit::noLock) == lock);
  CHECK(checkWith(Habit::earlySync) == order);
  CHECK(checkWith(Habit::lateSync) == order);
  CHECK(checkWith(Habit::noCommitSync) == "a commit is not synced once");
  CHECK(checkWith(Habit::noHeaderSync) == "a new log's header or its first commit is not synced");
}

TEST_CASE("P1: a SQLite that begins to write in another way while it runs loses nothing") {
  const Written usual = writeWith(Habit::usual);
  CHECK(usual.whyOff == "");
  CHECK(usual.own == usual.recovered);
  for (const Habit habit : {Habit::wholeFrames, Habit::pagesFirst, Habit::splitPages, Habit::longHeaders,
                            Habit::otherLock, Habit::noLock, Habit::noCommitMark}) {
    CAPTURE(static_cast<int>(habit));
    const Written written = writeWith(habit);
    CHECK(written.whyOff != "");
    CHECK(written.own == usual.own);
    CHECK(written.seen == usual.own);
    // Without a mark in the log no SQLite that runs here could know what was committed.
    CHECK((habit == Habit::noCommitMark || written.recovered == usual.own));
  }
}

TEST_CASE("P1: a late commit mark is not held back") {
  const Written written = writeWith(Habit::lateCommitMark);
  CHECK(written.own == written.seen);
  CHECK(written.own == written.recovered);
}

TEST_CASE("a store says that it batches its log, and why it does not") {
  StoreWorld world;
  CHECK(world.open()->whyLogNotBatched() == "");
  CountingVfs vfs;
  world.options.vfs = vfs.name();
  const auto store = world.open();
  CHECK(store->whyLogNotBatched() == "");
  enqueueOne(*store, frameOf("s"));
  const OtherSqlite other(store->database().getHandle(), Habit::wholeFrames);
  enqueueOne(*store, frameOf("s"));
  CHECK(store->whyLogNotBatched() != "");
  enqueueOne(*store, frameOf("s"));
}

TEST_CASE("all page sizes of SQLite are known, and no others") {
  for (std::int64_t bytes = 512; bytes <= 65'536; bytes *= 2) {
    CAPTURE(bytes);
    CHECK(sqlite::isPageSize(bytes));
    CHECK_FALSE(sqlite::isPageSize(bytes + 1));
  }
  CHECK_FALSE(sqlite::isPageSize(256));
  CHECK_FALSE(sqlite::isPageSize(131'072));
}

TEST_CASE("a read beyond the end of a scratch file is short, and gives zeros as SQLite wants it") {
  const sqlite::ScratchDisk disk;
  sqlite3_vfs* const vfs = sqlite3_vfs_find(disk.name().c_str());
  REQUIRE(vfs != nullptr);
  std::vector<std::byte> room(static_cast<std::size_t>(vfs->szOsFile));
  auto* const file = reinterpret_cast<sqlite3_file*>(room.data());
  constexpr int kFlags = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  REQUIRE(vfs->xOpen(vfs, "scratch", file, kFlags, nullptr) == SQLITE_OK);
  REQUIRE(file->pMethods->xWrite(file, "abc", 3, 0) == SQLITE_OK);
  std::string read = "12345678";
  CHECK(file->pMethods->xRead(file, read.data(), 8, 0) == SQLITE_IOERR_SHORT_READ);
  CHECK(read == std::string("abc\0\0\0\0\0", 8));
  read = "12345678";
  CHECK(file->pMethods->xRead(file, read.data(), 8, 100) == SQLITE_IOERR_SHORT_READ);
  CHECK(read == std::string(8, '\0'));
  file->pMethods->xClose(file);
}

TEST_CASE("the check takes a few milliseconds, once") {
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kChecks = 20;
  for (int check = 0; check < kChecks; ++check) {
    CHECK(sqlite::checkLog() == "");
  }
  const auto each =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin) / kChecks;
  MESSAGE("one check: " << each.count() << " us");
}

}  // namespace log_check_test
