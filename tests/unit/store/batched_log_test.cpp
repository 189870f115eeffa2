// Goal: a connection that writes its log in one piece per commit loses, invents and confuses nothing, also with
// transactions that outgrow the cache, beside other writers, and on a disk that fails.
// Method: SQLite on a disk in memory that counts and refuses calls; the same statements on a plain connection as the
// oracle; copies of the files are recovered, which looks at every checksum.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "counting_vfs.hpp"
#include "sqlite/wal/batched_log.hpp"
#include "store_world.hpp"
#include "support/memory_disk.hpp"
#include "support/scale.hpp"

namespace batched_log_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

constexpr int kOpenFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
const std::string kFile = "/agent.db";

SQLite::Database openPlain(const std::string& vfs, const std::string& file = kFile, int flags = kOpenFlags) {
  SQLite::Database database(file, flags, 0, vfs);
  database.exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=NORMAL");
  database.exec("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v BLOB)");
  return database;
}

struct Batched {
  explicit Batched(const std::string& vfs, const std::string& file = kFile, int flags = kOpenFlags)
      : database(openPlain(vfs, file, flags)) {}

  SQLite::Database database;
  sqlite::BatchedLog log{database.getHandle()};
};

std::string contentOf(SQLite::Database& database) {
  CHECK(database.execAndGet("PRAGMA integrity_check").getString() == "ok");
  const std::string all =
      database.execAndGet("SELECT coalesce(group_concat(id||':'||CAST(v AS TEXT)),'') FROM t").getString();
  return std::to_string(all.size()) + " bytes with the hash " + std::to_string(std::hash<std::string>{}(all));
}

// As after a power cut that spared every write: the shared memory is gone, and the log is read anew.
std::string contentAfterRecovery(const MemoryDisk& disk) {
  const MemoryDisk copy(disk.files());
  SQLite::Database database(kFile, kOpenFlags, 0, copy.name());
  return contentOf(database);
}

void insert(SQLite::Database& database, int rows, const char* before = "") {
  database.exec(before);
  for (int row = 0; row < rows; ++row) {
    database.exec("INSERT INTO t(v) VALUES(hex(randomblob(1500)))");
  }
}

/// Counts the writes of the log, and refuses one.
struct LogWrites {
  explicit LogWrites(MemoryDisk& onDisk) : disk(onDisk) {
    disk.onCall = [this](DiskCall call, const std::string& path) {
      const bool ours = call == DiskCall::write && path == kFile + "-wal";
      count += ours ? 1 : 0;
      return ours && count == refused ? code : SQLITE_OK;
    };
  }
  ~LogWrites() { disk.onCall = nullptr; }
  LogWrites(const LogWrites&) = delete;
  LogWrites& operator=(const LogWrites&) = delete;

  MemoryDisk& disk;
  int count = 0;
  int refused = 0;
  int code = SQLITE_FULL;
};

/// Seeded statements with values that follow from the seed, so that two databases can be given the same.
/// Without `savepoints` none is undone: SQLite 3.40's own log cannot be recovered after that happened in a
/// transaction that had outgrown the cache.
std::vector<std::string> transaction(unsigned seed, bool savepoints) {
  std::mt19937 random(seed);
  const auto draw = [&random](unsigned below) { return std::to_string(random() % below); };
  std::vector<std::string> statements{"BEGIN IMMEDIATE"};
  for (int step = 0; step < 40; ++step) {
    const std::string value = "CAST(printf('%." + draw(6'000) + "c','" + draw(10) + "') AS BLOB)";
    switch (random() % 10) {
      case 0:
        statements.emplace_back("SAVEPOINT s");
        break;
      case 1:
        statements.emplace_back(savepoints ? "ROLLBACK TO s" : "RELEASE s");
        break;
      case 2:
        statements.push_back("DELETE FROM t WHERE id=" + draw(30));
        break;
      case 3:
        statements.push_back("UPDATE t SET v=" + value + " WHERE id%5=" + draw(5));
        break;
      case 4:
        statements.emplace_back("SELECT sum(length(v)) FROM t");
        break;
      default:
        statements.push_back("REPLACE INTO t VALUES(" + draw(60) + "," + value + ")");
    }
  }
  statements.emplace_back(random() % 4 == 0 ? "ROLLBACK" : "COMMIT");
  return statements;
}

/// Says what each statement answered; where `like` is given, what failed there is left out, and where SQLite gave up
/// the whole transaction there, it is rolled back here.
struct Answer {
  bool failed = false;
  bool over = false;
};
std::vector<Answer> run(SQLite::Database& database, const std::vector<std::string>& statements,
                        const std::vector<Answer>* like = nullptr) {
  std::vector<Answer> answers;
  for (const std::string& sql : statements) {
    Answer answer;
    const Answer* const model = like == nullptr ? nullptr : &(*like)[answers.size()];
    if (model == nullptr || !model->failed) {
      answer.failed = sqlite3_exec(database.getHandle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK;
    }
    if (model != nullptr && model->over && sqlite3_get_autocommit(database.getHandle()) == 0) {
      database.exec("ROLLBACK");
    }
    answer.over = sqlite3_get_autocommit(database.getHandle()) != 0;
    answers.push_back(answer);
    if (answer.over && answers.size() > 1) {
      break;
    }
  }
  return answers;
}

}  // namespace

TEST_CASE("a commit is one write to the log, however many pages it has") {
  MemoryDisk disk;
  Batched ours(disk.name());
  const LogWrites writes(disk);
  ours.database.exec("BEGIN IMMEDIATE");
  insert(ours.database, 10);
  CHECK(writes.count == 0);
  ours.database.exec("COMMIT");
  CHECK(writes.count == 1);
  CHECK(contentAfterRecovery(disk) == contentOf(ours.database));
}

TEST_CASE("P1: the one sync of a durable commit comes after all of its bytes") {
  const auto record = std::make_shared<DiskRecord>();
  MemoryDisk disk({}, record);
  Batched ours(disk.name());
  ours.database.exec("PRAGMA synchronous=FULL");
  insert(ours.database, 1);
  const std::size_t before = record->length();
  insert(ours.database, 1);
  // One of the writes may be a preallocation.
  REQUIRE(record->length() >= before + 2);
  for (std::size_t call = before; call + 1 < record->length(); ++call) {
    CHECK(record->operations()[call].kind == DiskCall::write);
  }
  CHECK(record->operations()[record->length() - 1].kind == DiskCall::sync);
}

TEST_CASE("few durable commits change the length of the log's file, and others preallocate nothing") {
  MemoryDisk disk;
  Batched ours(disk.name());
  const auto length = [&disk] { return disk.files().at(kFile + "-wal").size(); };
  insert(ours.database, 1);
  const std::size_t without = length();
  insert(ours.database, 1);
  // Pages and their descriptions, and nothing behind.
  CHECK((length() - without) % (4096 + 24) == 0);
  ours.database.exec("PRAGMA synchronous=FULL");
  int changes = 0;
  for (int commit = 0; commit < 300; ++commit) {
    const std::size_t before = length();
    insert(ours.database, 1);
    changes += length() == before ? 0 : 1;
  }
  CHECK(changes < 30);
  CHECK(contentAfterRecovery(disk) == contentOf(ours.database));
}

TEST_CASE("P1: without its commits' syncs a log is synced where SQLite syncs it at NORMAL") {
  const auto callsOf = [](const char* synchronous, bool spared) {
    MemoryDisk disk;
    Batched ours(disk.name());
    ours.database.exec(std::string("PRAGMA synchronous=") + synchronous);
    CHECK(ours.log.syncCommits(!spared));
    std::vector<std::string> calls;
    disk.onCall = [&calls](DiskCall call, const std::string& path) {
      calls.push_back(std::to_string(static_cast<int>(call)) + " " + path);
      return SQLITE_OK;
    };
    for (const char* const checkpoint : {"", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(FULL)",
                                         "PRAGMA wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(TRUNCATE)", ""}) {
      insert(ours.database, 3, checkpoint);
      ours.database.exec("BEGIN IMMEDIATE");
      insert(ours.database, 100);
      ours.database.exec("ROLLBACK; BEGIN IMMEDIATE; UPDATE t SET v=v||'x'; COMMIT");
    }
    disk.onCall = nullptr;
    return calls;
  };
  const std::vector<std::string> spared = callsOf("FULL", true);
  CHECK(spared == callsOf("NORMAL", false));
  CHECK(spared.size() < callsOf("FULL", false).size());
}

TEST_CASE("a disk without space for the preallocation keeps the commit") {
  MemoryDisk disk;
  Batched ours(disk.name());
  ours.database.exec("PRAGMA synchronous=FULL");
  LogWrites writes(disk);
  // The commit's one write, and then the preallocation.
  writes.refused = 2;
  insert(ours.database, 1);
  CHECK(writes.count == 2);
  insert(ours.database, 3);
  CHECK(ours.database.execAndGet("SELECT count(*) FROM t").getInt() == 4);
  CHECK(contentAfterRecovery(disk) == contentOf(ours.database));
}

TEST_CASE("P1: the log is extended behind what others have written, whoever knew the file's length") {
  MemoryDisk disk;
  Batched first(disk.name());
  Batched second(disk.name());
  first.database.exec("PRAGMA synchronous=FULL");
  second.database.exec("PRAGMA synchronous=FULL");
  for (int turn = 0; turn < 60; ++turn) {
    Batched& writer = turn % 7 < 3 ? first : second;
    insert(writer.database, turn % 5 + 1);
    if (turn % 20 == 19) {
      // The log begins anew, shorter or as long as it was.
      writer.database.exec(turn == 39 ? "PRAGMA wal_checkpoint(TRUNCATE)" : "PRAGMA wal_checkpoint(RESTART)");
    }
    CHECK(contentAfterRecovery(disk) == contentOf(first.database));
  }
}

TEST_CASE("a store's commit is one write to the log") {
  CountingVfs vfs;
  StoreWorld world;
  world.options.vfs = vfs.name();
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  const int before = vfs.logWrites;
  enqueueOne(*store, frameOf("s"));
  CHECK(vfs.logWrites == before + 1);
}

TEST_CASE("P1: scopes that are undone in a large transaction cost no commit") {
  const auto rowsAfterRecovery = [](bool spill) {
    MemoryDisk disk;
    StoreWorld world;
    world.file = kFile;
    world.lives = std::make_shared<Lives>();
    world.options.vfs = disk.name();
    const auto store = world.open();
    if (spill) {
      store->database().exec("PRAGMA cache_spill=ON");
    }
    store->database().exec("PRAGMA cache_size=10");
    insert(store->database(), 100, "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
    store->begin(true);
    for (int scope = 0; scope < 5; ++scope) {
      store->outbox().enqueue(frameOf("s"));
      store->savepoint();
      for (int round = 0; round < 3; ++round) {
        store->database().exec("UPDATE t SET v=hex(randomblob(1500))");
      }
      store->rollbackToSavepoint();
    }
    store->commit();
    enqueueOne(*store, frameOf("s"));
    const MemoryDisk copy(disk.files());
    SQLite::Database recovered(kFile, kOpenFlags, 0, copy.name());
    return recovered.execAndGet("SELECT count(*) FROM ackbox_outbox").getInt();
  };
  CHECK(rowsAfterRecovery(false) == 6);
  // This is how they would be lost, the transaction itself among them.
  CHECK((sqlite3_libversion_number() >= 3'041'000 || rowsAfterRecovery(true) < 6));
}

TEST_CASE("transactions that outgrow the cache, change pages again and undo savepoints do what they do plainly") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const bool savepoints = seed % 2 == 0;
    MemoryDisk disk;
    MemoryDisk plainDisk;
    Batched ours(disk.name());
    SQLite::Database plain = openPlain(plainDisk.name());
    SQLite::Database reader(kFile, SQLite::OPEN_READWRITE, 0, disk.name());
    ours.database.exec("PRAGMA cache_size=5; PRAGMA cache_spill=5");
    plain.exec("PRAGMA cache_size=5; PRAGMA cache_spill=5");
    for (unsigned round = 0; round < 5; ++round) {
      const auto statements = transaction(seed * 100 + round, savepoints);
      run(ours.database, statements);
      CHECK(ours.log.whyOff() == nullptr);
      run(plain, statements);
      const std::string expected = contentOf(plain);
      CHECK(contentOf(ours.database) == expected);
      CHECK(contentOf(reader) == expected);
      CHECK((savepoints || contentAfterRecovery(disk) == expected));
      if (round == 3) {
        sqlite3_wal_checkpoint_v2(ours.database.getHandle(), "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
      }
    }
  }
}

TEST_CASE("what is left of a rolled back transaction is not written over what another process commits meanwhile") {
  MemoryDisk disk;
  Batched ours(disk.name());
  SQLite::Database other = openPlain(disk.name());
  insert(ours.database, 1);
  ours.database.exec("PRAGMA cache_size=5; PRAGMA cache_spill=5");
  ours.database.exec("BEGIN IMMEDIATE");
  insert(ours.database, 20);
  ours.database.exec("ROLLBACK");
  insert(other, 20);
  const std::string expected = contentOf(other);
  CHECK(contentOf(ours.database) == expected);
  CHECK(contentAfterRecovery(disk) == expected);
  insert(ours.database, 1);
  CHECK(contentOf(other) == contentOf(ours.database));
  CHECK(contentAfterRecovery(disk) == contentOf(ours.database));
}

TEST_CASE("any write that fails fails its statement or its commit, and costs nothing else") {
  const auto inject = [](int code, unsigned seed) {
    bool met = true;
    for (int refused = 1; met; ++refused) {
      CAPTURE(code);
      CAPTURE(seed);
      CAPTURE(refused);
      MemoryDisk disk;
      MemoryDisk plainDisk;
      Batched ours(disk.name());
      SQLite::Database plain = openPlain(plainDisk.name());
      ours.database.exec("PRAGMA cache_size=5; PRAGMA cache_spill=5");
      for (unsigned round = 0; round < 2; ++round) {
        const auto statements = transaction(seed * 100 + round, false);
        LogWrites writes(disk);
        writes.code = code;
        writes.refused = round == 0 ? 0 : refused;
        const std::vector<Answer> answers = run(ours.database, statements);
        met = writes.count >= refused;
        disk.onCall = nullptr;
        run(plain, statements, &answers);
      }
      const std::string expected = contentOf(plain);
      CHECK(contentOf(ours.database) == expected);
      CHECK(contentAfterRecovery(disk) == expected);
      CHECK(ours.log.whyOff() == nullptr);
      insert(ours.database, 3);
      CHECK(contentAfterRecovery(disk) == contentOf(ours.database));
    }
  };
  for (unsigned seed = 0; seed < scaled(3); ++seed) {
    inject(SQLITE_FULL, seed);
    inject(SQLITE_IOERR_WRITE, seed);
  }
}

TEST_CASE("whatever else is done to the log finds what was written to it") {
  MemoryDisk disk;
  Batched ours(disk.name());
  sqlite3_file* log = nullptr;
  REQUIRE(sqlite3_file_control(ours.database.getHandle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK);
  const auto size = [&disk] { return disk.files().at(kFile + "-wal").size(); };
  ours.database.exec("PRAGMA cache_size=5; PRAGMA cache_spill=5; BEGIN IMMEDIATE");
  const std::size_t before = size();
  insert(ours.database, 12);
  CHECK(size() == before);
  CHECK(log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) == SQLITE_OK);
  CHECK(size() > before);
}

TEST_CASE("a connection that leaves its log, and takes one again, goes on plainly") {
  MemoryDisk disk;
  Batched ours(disk.name());
  insert(ours.database, 2);
  ours.database.exec("PRAGMA journal_mode=DELETE");
  insert(ours.database, 2);
  ours.database.exec("PRAGMA journal_mode=WAL");
  insert(ours.database, 2);
  CHECK(ours.log.whyOff() != nullptr);
  CHECK_FALSE(ours.log.syncCommits(false));
  CHECK(ours.database.execAndGet("SELECT count(*) FROM t").getInt() == 6);
  CHECK(contentAfterRecovery(disk) == contentOf(ours.database));
}

TEST_CASE("where a torn write may harm its neighbours the log is written as SQLite does it") {
  CountingVfs vfs;
  const TempDir directory;
  Batched ours(vfs.name(), "file:" + directory.file("agent.db").string() + "?psow=0", kOpenFlags | SQLite::OPEN_URI);
  insert(ours.database, 1);
  const int before = vfs.logWrites;
  insert(ours.database, 1);
  CHECK(vfs.logWrites > before + 1);
  CHECK(ours.log.whyOff() != nullptr);
}

}  // namespace batched_log_test
