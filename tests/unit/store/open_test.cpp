// Goal: opening tells each kind of bad file by its own error and leaves it byte for byte as it was; a good or new file
// gets its tables, in one step, under any prefix.
// Method: write each kind of file by hand, open it, compare error and bytes; inspect what a good open made.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "ackbox/error.hpp"
#include "counting_vfs.hpp"
#include "store/reader.hpp"
#include "store_world.hpp"

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

TEST_CASE("a text file is not a database and stays as it is") {
  const StoreWorld world;
  write(world.file, "dear diary, today I was not a database, and I never will be, however long you look at me");
  checkRefused(world, Errc::notADatabase);
}

TEST_CASE("a damaged schema is told as corruption and stays as it is") {
  const StoreWorld world;
  world.open();
  std::string bytes = bytesOf(world.file);
  // The b-tree header of the schema's root page, right behind the file's own header.
  bytes.replace(100, 400, 400, '\x7f');
  write(world.file, bytes);
  std::filesystem::remove(world.file.string() + "-ackbox-owners");
  checkRefused(world, Errc::databaseCorrupt);
}

TEST_CASE("a newer schema is refused and stays as it is") {
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

TEST_CASE("without createSchema, missing tables are an error and an application's file stays as it is") {
  StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t(a)");
  world.options.createSchema = false;
  checkRefused(world, Errc::schemaMissing);
}

TEST_CASE("without createSchema, an absent file cannot be opened and is not made") {
  StoreWorld world;
  world.options.createSchema = false;
  CHECK(errorOfOpening(world) == Errc::cannotOpen);
  CHECK_FALSE(std::filesystem::exists(world.file));
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

TEST_CASE("a file that another connection keeps locked is busy, and opens afterwards") {
  StoreWorld world;
  world.options.busyTimeout = std::chrono::milliseconds(1);
  world.open();
  {
    SQLite::Database other(world.file.string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    CHECK(errorOfOpening(world) == Errc::databaseBusy);
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

TEST_CASE("the identity stays and the epoch grows with each open") {
  const StoreWorld world;
  std::string origin;
  {
    const auto store = world.open();
    origin = store->origin();
    CHECK(origin.size() == 36);
    CHECK(store->epoch() == 1);
  }
  const auto store = world.open();
  CHECK(store->origin() == origin);
  CHECK(store->epoch() == 2);
  const auto second = world.open();
  inTransaction(*store, [] {});
  CHECK(store->epoch() == 3);
}

TEST_CASE("two prefixes in one file are two outboxes, and the application's user_version is left alone") {
  StoreWorld world;
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("PRAGMA user_version=42");
  const auto first = world.open();
  world.options.tablePrefix = "other_";
  const auto second = world.open();
  enqueueOne(*first, frameOf("s"));
  CHECK(enqueueOne(*second, frameOf("s")).sequence == 1);
  CHECK(store::Reader(world.file, world.options).stats().pending == 1);
  CHECK(first->origin() != second->origin());
  CHECK(first->takeNewRows(10).rows.size() == 1);
  CHECK(first->database().execAndGet("PRAGMA user_version").getInt() == 42);
}

TEST_CASE("tables of an older version are migrated at open, or refused when nothing may be created") {
  StoreWorld world;
  // Version 0: an opener that died between the first table and the rest cannot exist, as all happens in one
  // transaction; so the oldest fixture is a file without tables, then the same file opened again.
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE mine(a)");
  world.open();
  CHECK(SQLite::Database(world.file.string()).execAndGet("SELECT version FROM ackbox_schema").getInt() == 1);
  CHECK(SQLite::Database(world.file.string()).tableExists("mine"));
  world.options.createSchema = false;
  CHECK_FALSE(errorOfOpening(world));
}
