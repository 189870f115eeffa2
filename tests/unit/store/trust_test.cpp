// Goal: P11: a file of somebody else's, which a tool is given to look at, runs nothing and grows nothing: neither
// triggers nor virtual tables nor long expressions. Method: an outbox whose schema was changed by hand, as an attacker
// may do.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "sqlite/work_limit.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace trust_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

constexpr const char* kForEver =
    "SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n)";

void change(const StoreWorld& world, const std::string& sql) {
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec(sql);
}

std::string refusalOf(const StoreWorld& world) {
  try {
    world.open();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("P11: a trigger on one of the outbox's tables is refused by name before any statement could run it") {
  for (const bool isTrusted : {true, false}) {
    for (const char* table : {"ackbox_owners", "ackbox_meta", "ackbox_outbox", "ACKBOX_COUNTERS"}) {
      CAPTURE(std::string(table));
      StoreWorld world;
      world.open();
      world.options.trustSchema = isTrusted;
      change(world, std::string("CREATE TRIGGER bomb AFTER UPDATE ON ") + table + " BEGIN " + kForEver + "; END");
      CHECK(refusalOf(world).find("trigger bomb on table ackbox_") != std::string::npos);
      CHECK(refusalOf(world).find("DROP TRIGGER") != std::string::npos);
      CHECK_THROWS_AS(static_cast<void>(OutboxReader::open(world.file, world.options)), const Error&);
    }
  }
}

TEST_CASE("P11: a view or a virtual table in the place of a table is no table") {
  for (const char* sql :
       {"DROP TABLE ackbox_meta; CREATE VIEW ackbox_meta AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM "
        "n) "
        "SELECT i AS id FROM n",
        "DROP TABLE ackbox_meta; CREATE VIRTUAL TABLE ackbox_meta USING fts5(id, origin, epoch, orders, recalls)"}) {
    StoreWorld world;
    world.open();
    change(world, sql);
    CHECK(refusalOf(world).find("ackbox_meta is missing") != std::string::npos);
  }
}

TEST_CASE(
    "an application's triggers on its own tables work in a handler's transaction, unless the file is not trusted") {
  for (const bool isTrusted : {true, false}) {
    StoreWorld world;
    world.open();
    change(world,
           "CREATE TABLE orders(x); CREATE TABLE audit(x); CREATE VIEW orders_view AS SELECT x FROM orders; "
           "CREATE TRIGGER orders_audit AFTER INSERT ON orders BEGIN INSERT INTO audit VALUES(new.x); END");
    world.options.trustSchema = isTrusted;
    const auto store = world.open();
    inTransaction(*store, [&] { store->database().exec("INSERT INTO orders VALUES(1)"); });
    CHECK(store->database().execAndGet("SELECT count(*) FROM audit").getInt() == (isTrusted ? 1 : 0));
    if (isTrusted) {
      CHECK(store->database().execAndGet("SELECT count(*) FROM orders_view").getInt() == 1);
    } else {
      CHECK_THROWS(store->database().exec("SELECT * FROM orders_view"));
    }
  }
}

TEST_CASE("P11: a column that makes a gigabyte of nothing fails for who does not trust the file") {
  StoreWorld world;
  enqueueOne(*world.open(), frameOf("s"));
  world.options.trustSchema = false;
  change(world,
         "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql=replace(sql,'url TEXT NOT NULL','url TEXT AS "
         "(hex(zeroblob(400000000)))') WHERE name='ackbox_peers'; PRAGMA writable_schema=OFF");
  CHECK_FALSE(refusalOf(world).empty());
}

TEST_CASE("P11: a statement that works for longer than it may is ended; short ones never are, however many") {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  // A host of virtual machines counts what it takes away from this one, some tens of milliseconds at a time.
  sqlite::limitWork(database.getHandle(), std::chrono::milliseconds(400));
  for (int round = 0; round < 2; ++round) {
    CHECK_THROWS_WITH(database.exec(kForEver), "interrupted");
  }
  for (int round = 0; round < 300; ++round) {
    CHECK(database
              .execAndGet("SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE "
                          "i<3000) SELECT i FROM n)")
              .getInt() == 3000);
  }
  CHECK(sqlite::workOn(0) == std::chrono::seconds(5));
  CHECK(sqlite::workOn(std::uintmax_t{1} << 30U) > std::chrono::minutes(10));
}

TEST_CASE("P11: a limit of work that cannot be set leaves the one in force that was set before") {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  sqlite::limitWork(database.getHandle(), std::chrono::hours(1));
  {
    // SQLite replaces no function while a statement is under way.
    SQLite::Statement underWay(database, "SELECT 1 UNION ALL SELECT 2");
    REQUIRE(underWay.executeStep());
    sqlite::limitWork(database.getHandle(), std::chrono::milliseconds(0));
  }
  // What it was to be kept in is given back, and belongs to others.
  std::vector<std::unique_ptr<std::array<std::int64_t, 2>>> others(8);
  for (auto& other : others) {
    other = std::make_unique<std::array<std::int64_t, 2>>();
  }
  CHECK(database
            .execAndGet("SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE "
                        "i<3000) SELECT i FROM n)")
            .getInt() == 3000);
}

TEST_CASE("P11: whoever does not trust a file is not kept by it: a column that takes for ever to compute is given up") {
  StoreWorld world;
  enqueueOne(*world.open(), frameOf("s"));
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i<2000) INSERT INTO ackbox_peers(id,name,"
          "url,agent,max_requests) SELECT i,'peer '||i,'','',1 FROM n");
  world.options.trustSchema = false;
  change(world,
         "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql=replace(sql,'url TEXT NOT NULL','url TEXT AS "
         "(substr(replace(hex(zeroblob(30000000+id)),''00'',''1''),1,1))') WHERE name='ackbox_peers'; PRAGMA "
         "writable_schema=OFF");
  try {
    (void)OutboxReader::open(world.file, world.options).peerStats();
    (void)store::sqlite::verify(world.file, world.options);
    FAIL_CHECK("it was computed to the end");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("for longer than its size explains") != std::string::npos);
  }
}

TEST_CASE("P11: no statement on the store's connection rewrites the schema behind SQLite's back") {
  StoreWorld world;
  const auto store = world.open();
  CHECK_THROWS(inTransaction(*store, [&] {
    store->database().exec("PRAGMA writable_schema=ON");
    store->database().exec("UPDATE sqlite_master SET sql='' WHERE name='ackbox_meta'");
  }));
}

}  // namespace trust_test
