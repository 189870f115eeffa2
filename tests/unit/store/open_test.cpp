// Goal: opening tells each kind of bad file by its own error and leaves it byte for byte as it was; a good or new file
// gets its tables, in one step, under any prefix.
// Method: write each kind of file by hand, open it, compare error and bytes; inspect what a good open made.

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/outbox_writer.hpp"
#include "counting_vfs.hpp"
#include "sqlite/snapshot.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store/sqlite/schema/moved.hpp"
#include "store_world.hpp"
#include "support/test_frame.hpp"

namespace open_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

std::string bytesOf(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::error_code errorOfOpening(const StoreWorld& world) {
  try {
    world.open();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

void checkRefused(const StoreWorld& world, Errc expected) {
  const std::string before = bytesOf(world.file);
  CHECK(errorOfOpening(world) == expected);
  CHECK(bytesOf(world.file) == before);
  CHECK_FALSE(std::filesystem::exists(world.file.string() + "-ackbox-owners"));
}

}  // namespace

TEST_CASE("defect 10: a text file is not a database and stays as it is") {
  const StoreWorld world;
  write(world.file, "dear diary, today I was not a database, and I never will be, however long you look at me");
  checkRefused(world, Errc::notADatabase);
}

TEST_CASE("defect 10: a damaged schema is told as corruption and stays as it is") {
  const StoreWorld world;
  world.open();
  std::string bytes = bytesOf(world.file);
  // The b-tree header of the schema's root page, right behind the file's own header.
  bytes.replace(100, 400, 400, '\x7f');
  write(world.file, bytes);
  std::filesystem::remove(world.file.string() + "-ackbox-owners");
  checkRefused(world, Errc::databaseCorrupt);
}

TEST_CASE("defect 10: a newer schema is refused and stays as it is") {
  const StoreWorld world;
  world.open();
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("UPDATE ackbox_schema SET version=99");
  std::filesystem::remove(world.file.string() + "-ackbox-owners");
  checkRefused(world, Errc::schemaTooNew);
}

TEST_CASE("a schema that lacks a table is told as corruption") {
  const StoreWorld world;
  world.open();
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("DROP TABLE ackbox_counters");
  CHECK(errorOfOpening(world) == Errc::databaseCorrupt);
}

TEST_CASE("an outbox that was moved is told as such by each opening, and no connection stores a message any more") {
  StoreWorld world;
  std::optional<OutboxManager> manager = OutboxManager::open(world.file, world.options);
  SQLite::Database before(world.file.string(), SQLite::OPEN_READWRITE);
  OutboxWriter writer(*manager, before);
  manager.reset();
  const store::sqlite::MovedMark mark{"7/1", "postgres://db.example/orders", false};
  {
    SQLite::Database database(world.file.string(), SQLite::OPEN_READWRITE);
    store::sqlite::setMovedMark(database.getHandle(), "ackbox_", mark, world.clock->wallNow());
    CHECK(store::sqlite::movedMark(database.getHandle(), "ackbox_")->database == mark.database);
  }
  CHECK(errorOfOpening(world) == Errc::databaseMoved);
  CHECK_THROWS_WITH_AS(static_cast<void>(OutboxReader::open(world.file, world.options)),
                       doctest::Contains("a move was begun to postgres://db.example/orders"), Error);
  before.exec("BEGIN");
  CHECK_THROWS_WITH_AS(writer.enqueue(testFrame("s")), doctest::Contains("the outbox was moved to a database"), Error);
  before.exec("ROLLBACK");
  {
    SQLite::Database database(world.file.string(), SQLite::OPEN_READWRITE);
    store::sqlite::removeMovedMark(database.getHandle(), "ackbox_");
  }
  CHECK_FALSE(errorOfOpening(world));
  before.exec("BEGIN");
  CHECK(writer.enqueue(testFrame("s")).isNew());
  before.exec("COMMIT");
}

TEST_CASE("without createSchema, missing tables are an error and an application's file stays as it is") {
  StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t(a)");
  world.options.createSchema = false;
  checkRefused(world, Errc::schemaMissing);
}

TEST_CASE("what has a name that ackbox needs is named in one sentence, with the remedy, and the file stays as it is") {
  const StoreWorld world;
  const char* object = nullptr;
  const auto have = [&](const std::string& sql) {
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
  };
  const auto haveOutboxThen = [&](const std::string& sql) {
    world.open();
    have(sql);
    std::filesystem::remove(world.file.string() + "-ackbox-owners");
  };
  SUBCASE("a table, by the name of a view") {
    object = "table ackbox_messages";
    have("CREATE TABLE ackbox_messages(a)");
  }
  SUBCASE("a table, by the name of a table, in other letters") {
    object = "table ACKBOX_Outbox";
    have("CREATE TABLE ACKBOX_Outbox(a)");
  }
  SUBCASE("a view, by the name of a table") {
    object = "view ackbox_schema";
    have("CREATE VIEW ackbox_schema AS SELECT 1 AS version");
  }
  SUBCASE("a view of the application's, by the name of a view") {
    object = "view ackbox_messages";
    have("CREATE VIEW ackbox_messages AS SELECT 1 AS a");
  }
  SUBCASE("an index, by the name of an index") {
    object = "index ackbox_outbox_named";
    have("CREATE TABLE t(a); CREATE INDEX ackbox_outbox_named ON t(a)");
  }
  SUBCASE("a table, by the name of a view, beside the outbox") {
    object = "table ackbox_messages";
    haveOutboxThen("DROP VIEW ackbox_messages; CREATE TABLE ackbox_messages(a)");
  }
  SUBCASE("an index, by the name of a view, beside the outbox") {
    object = "index ackbox_messages";
    haveOutboxThen("DROP VIEW ackbox_messages; CREATE TABLE t(a); CREATE INDEX ackbox_messages ON t(a)");
  }
  checkRefused(world, Errc::databaseError);
  try {
    world.open();
    FAIL("it was opened");
  } catch (const Error& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(message.size() < 250);
    CHECK(message.find(std::string(object) + " has a name that ackbox needs") != std::string::npos);
    CHECK(message.find("set another table prefix") != std::string::npos);
  }
}

TEST_CASE("a trigger of the application's on its own table may have any name") {
  const StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE t(a); CREATE TRIGGER ackbox_messages AFTER INSERT ON t BEGIN SELECT 1; END");
  CHECK_FALSE(errorOfOpening(world));
}

TEST_CASE("without createSchema, an absent file cannot be opened and is not made") {
  StoreWorld world;
  world.options.createSchema = false;
  CHECK(errorOfOpening(world) == Errc::cannotOpen);
  CHECK_FALSE(std::filesystem::exists(world.file));
}

TEST_CASE("P3: no new file is made beside a log that was left without its own, which SQLite would delete") {
  for (const char* end : {"-wal", "-journal"}) {
    CAPTURE(std::string(end));
    StoreWorld world;
    const std::filesystem::path log = world.file.string() + end;
    write(log, "messages");
    CHECK_THROWS_WITH_AS(world.open(), doctest::Contains(log.c_str()), Error);
    CHECK(errorOfOpening(world) == Errc::cannotOpen);
    CHECK(bytesOf(log) == "messages");
    CHECK_FALSE(std::filesystem::exists(world.file));
    // Nothing stands in an empty one.
    write(log, "");
    CHECK_FALSE(errorOfOpening(world));
  }
}

TEST_CASE("P3 P13: a log beside a file that is empty is kept, and an empty file that was in use is named") {
  StoreWorld world;
  CHECK_FALSE(world.open()->openingLook().wasEmptied);
  CHECK_FALSE(world.open()->openingLook().wasEmptied);
  write(world.file, "");
  CHECK(world.open()->openingLook().wasEmptied);
  CHECK_FALSE(world.open()->openingLook().wasEmptied);
  const std::filesystem::path log = world.file.string() + "-wal";
  write(world.file, "");
  write(log, "messages");
  CHECK_THROWS_WITH_AS(world.open(), doctest::Contains("is empty, but its log exists"), Error);
  // A program that only reads neither: SQLite would delete the log at its first look.
  CHECK_THROWS_WITH_AS((void)sqlite::ReadConnection(world.file, world.options),
                       doctest::Contains("is empty, but its log exists"), Error);
  CHECK(bytesOf(log) == "messages");
  // One that was taken away begins anew.
  std::filesystem::remove(log);
  std::filesystem::remove(world.file);
  CHECK_FALSE(world.open()->openingLook().wasEmptied);
}

TEST_CASE("P13: a new outbox in the place of one that was in use is noted in the file, until it is repaired") {
  const StoreWorld world;
  const auto notes = [&] { return store::sqlite::openReader(world.file, world.options)->fileInfo().notes; };
  std::string young;
  {
    const auto store = world.open();
    CHECK_FALSE(store->openingLook().wasMadeAnew);
    young = bytesOf(world.file);
  }
  CHECK(notes().empty());
  SUBCASE("the file was taken away") {
    std::filesystem::remove(world.file);
  }
  SUBCASE("the log of a young one was") {
    write(world.file, young);
  }
  {
    const auto store = world.open();
    CHECK((store->openingLook().wasMadeAnew || store->openingLook().wasEmptied));
  }
  CHECK_FALSE(world.open()->openingLook().wasMadeAnew);
  REQUIRE(notes().size() == 1);
  CHECK(notes()[0].event.starts_with("file-"));
  CHECK(notes()[0].at == world.clock->wallNow());
  CHECK(notes()[0].times == 1);
  const auto store = world.open();
  store->begin(true);
  (void)store->repair();
  store->commit();
  CHECK(notes().empty());
}

TEST_CASE("a missing folder and a folder in the file's place cannot be opened") {
  StoreWorld world;
  world.file = world.directory.file("nowhere") / "agent.db";
  CHECK(errorOfOpening(world) == Errc::cannotOpen);
  world.file = world.directory.file("folder");
  std::filesystem::create_directory(world.file);
  CHECK(errorOfOpening(world) == Errc::cannotOpen);
}

TEST_CASE("a file that may only be read is told as read-only") {
  StoreWorld world;
  world.open();
  std::filesystem::remove(world.file.string() + "-ackbox-owners");
  CountingVfs vfs;
  vfs.readOnly = true;
  world.options.vfs = vfs.name();
  checkRefused(world, Errc::databaseReadOnly);
}

TEST_CASE(
    "defect 10: a file that another connection keeps locked is busy, stays where and as it is, and opens afterwards") {
  StoreWorld world;
  world.options.busyTimeout = std::chrono::milliseconds(1);
  world.open();
  {
    SQLite::Database other(world.file.string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    const std::string before = bytesOf(world.file);
    const std::filesystem::path twin = world.file.string() + ".twin";
    std::filesystem::create_hard_link(world.file, twin);
    CHECK(errorOfOpening(world) == Errc::databaseBusy);
    CHECK(std::filesystem::equivalent(world.file, twin));
    CHECK(bytesOf(world.file) == before);
  }
  CHECK_FALSE(errorOfOpening(world));
}

TEST_CASE("a zero-length file is a new one") {
  const StoreWorld world;
  write(world.file, "");
  CHECK_FALSE(errorOfOpening(world));
}

TEST_CASE("an option out of range is refused before the file is touched") {
  StoreWorld world;
  world.options.tablePrefix = "1; DROP TABLE x";
  CHECK(errorOfOpening(world) == Errc::invalidOption);
  CHECK_FALSE(std::filesystem::exists(world.file));
}

TEST_CASE("two prefixes in one file are two outboxes, and the application's user_version is left alone") {
  StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("PRAGMA user_version=42");
  const auto first = world.open();
  world.options.tablePrefix = "other_";
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  CHECK(enqueueOne(*second, frameOf("s")).sequence == 1);
  CHECK(store::sqlite::SqliteReader(world.file, world.options).stats().pending == 1);
  CHECK(first->origin() != second->origin());
  CHECK(first->discovery().take(10).rows.size() == 1);
  CHECK(first->database().execAndGet("PRAGMA user_version").getInt() == 42);
}

TEST_CASE("tables beside an application's own are made at open, and are enough when nothing may be created") {
  StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE mine(a)");
  world.open();
  SQLite::Database file(world.file.string());
  CHECK(file.execAndGet("SELECT version FROM ackbox_schema").getInt64() == 1);
  CHECK(file.tableExists("mine"));
  world.options.createSchema = false;
  CHECK_FALSE(errorOfOpening(world));
}

TEST_CASE("a file from before the first release is refused with a clear message, and stays as it is") {
  StoreWorld world;
  const char* version = nullptr;
  SUBCASE("its first layout, under the number of the released one") {
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec(
            "CREATE TABLE ackbox_schema(version INTEGER NOT NULL); INSERT INTO ackbox_schema VALUES(1);"
            "CREATE TABLE ackbox_outbox(id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL, owner_id INTEGER)");
    version = "version 1";
  }
  SUBCASE("its last layout") {
    world.open();
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE ackbox_schema SET version=3; ALTER TABLE ackbox_schema DROP COLUMN written_by");
    version = "version 3";
  }
  SUBCASE("no version of ours") {
    world.open();
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("UPDATE ackbox_schema SET version=0");
    version = "version 0";
  }
  try {
    world.open();
    FAIL("it was opened");
  } catch (const Error& error) {
    const std::string told = error.what();
    CAPTURE(told);
    CHECK(told.find("before the first release") != std::string::npos);
    CHECK(told.find(version) != std::string::npos);
  }
}

TEST_CASE("a file of a newer version is said to be newer, also where it does not say which release made it") {
  StoreWorld world;
  world.open();
  const char* statements = "";
  SUBCASE("the name is empty") {
    statements = "UPDATE ackbox_schema SET version=99, written_by=''";
  }
  SUBCASE("there is none") {
    statements = "UPDATE ackbox_schema SET version=99; ALTER TABLE ackbox_schema DROP COLUMN written_by";
  }
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(statements);
  CHECK(errorOfOpening(world) == Errc::schemaTooNew);
}

TEST_CASE("P3: a backup written over a file that is in use is told to whoever has it open, until it is opened again") {
  StoreWorld world;
  auto store = world.open();
  const auto copy = world.directory.file("copy.db");
  const auto deliver = [&] {
    enqueueOne(*store, frameOf("s"));
    settleOne(*store, settlementOf(claimNew(*store), delivery::Transition::ack));
  };
  const auto writeOver = [&](const std::filesystem::path& from) {
    SQLite::Database source(from.string(), SQLite::OPEN_READONLY);
    SQLite::Database target(world.file.string(), SQLite::OPEN_READWRITE);
    SQLite::Backup backup(target, source);
    while (backup.executeStep(-1) != SQLITE_DONE) {
    }
  };
  const auto toldOf = [&] {
    try {
      enqueueOne(*store, frameOf("s"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SUBCASE("by the numbers that it has given since") {
    deliver();
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + copy.string() + "'");
    deliver();
  }
  SUBCASE("by how often it was opened") {
    SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + copy.string() + "'");
    store.reset();
    store = world.open();
  }
  CHECK(toldOf().empty());
  writeOver(copy);
  for (int count = 0; count < 3; ++count) {
    CHECK(toldOf().find("went back to an earlier state") != std::string::npos);
  }
  store.reset();
  store = world.open();
  CHECK(toldOf().empty());
  CHECK(store::sqlite::verify(world.file, world.options).clean());
}

TEST_CASE("a backup that is the file as it is, written over it, changes nothing") {
  StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, frameOf("s"));
  settleOne(*store, settlementOf(claimNew(*store), delivery::Transition::ack));
  const auto copy = world.directory.file("copy.db");
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + copy.string() + "'");
  {
    SQLite::Database source(copy.string(), SQLite::OPEN_READONLY);
    SQLite::Database target(world.file.string(), SQLite::OPEN_READWRITE);
    SQLite::Backup(target, source).executeStep(-1);
  }
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 2);
}

}  // namespace open_test
