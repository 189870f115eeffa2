// Goal: P3 P4 P12: tables of an earlier version become those of this program's as a whole or not at all, beside
// processes that have them open; no program works by its own rule on tables that do not allow it. Method: versions 2
// and 3 of the tables that exist in tests alone. Connections are ended at each step; programs of version 1, and clients
// with statements of their own, are at work before, meanwhile and afterwards.

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/postgres.hpp"
#include "store/postgres/outbound/application_writer.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store_conformance/messages.hpp"
#include "support/comes_to.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"
#include "support/postgres_versions.hpp"

namespace pg_migration_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::ApplicationWriter;
using store::postgres::PostgresReader;
using store::postgres::PostgresStore;
using store::postgres::Schema;
using store::postgres::SchemaInPlace;

namespace {

const PostgresVersions kVersions;
const Schema kOne = kVersions.one();
const Schema kTwo = kVersions.two();
const Schema kThree = kVersions.three();

template <typename Call>
std::string refusalOf(Errc expected, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == expected, error.what());
    return error.what();
  }
  FAIL_CHECK("it was not refused");
  return {};
}

OutboxOptions patient(std::chrono::milliseconds busyTimeout) {
  OutboxOptions options;
  options.busyTimeout = busyTimeout;
  options.log = [](const LogRecord&) {};
  return options;
}

/// A database with version 1 of the tables, and a message in it.
struct Stage {
  Stage() {
    const SchemaInPlace one(kOne);
    const PostgresClient client(database.location());
    { const PostgresStore made(database.location(), {}); }
    CHECK(client.enqueue("'default','s','test','{}'") == "stored 1");
  }
  using Announce = std::function<void(const MigrationReport&)>;
  MigrationReport migrate(const Schema& schema, const Announce& announce = {},
                          std::chrono::milliseconds patience = std::chrono::seconds(5)) const {
    const SchemaInPlace inPlace(schema);
    return migrateDatabase({database.location()}, patient(patience), announce);
  }
  [[nodiscard]] std::string version() const { return database.run("SELECT version FROM ackbox.schema"); }
  /// All columns, indexes and functions.
  [[nodiscard]] std::string layout() const { return layoutOf(database); }
  static std::string layoutOf(const PostgresDatabase& of) {
    return of.run(
        "SELECT string_agg(line,E'\\n' ORDER BY line) FROM (SELECT concat_ws(' ',table_name,column_name,data_type,"
        "is_nullable,column_default) AS line FROM information_schema.columns WHERE table_schema='ackbox' UNION ALL "
        "SELECT indexdef FROM pg_indexes WHERE schemaname='ackbox' UNION ALL SELECT proname||' '||"
        "pg_get_function_arguments(oid)||prosrc FROM pg_proc WHERE pronamespace='ackbox'::regnamespace) AS l");
  }
  /// Whether so many connections wait for a lock.
  [[nodiscard]] bool waits(int count = 1) const {
    return PostgresServer::get().run("SELECT count(*)>=" + std::to_string(count) +
                                     " FROM pg_stat_activity WHERE wait_event_type='Lock' AND datname='" +
                                     database.name() + "'") == "t";
  }
  void checkSound(const Schema& schema) const {
    const SchemaInPlace inPlace(schema);
    CHECK(PostgresReader(database.location(), {}).verify().findings.empty());
  }

  PostgresDatabase database;
};

}  // namespace

TEST_CASE("this release has one version of the tables in PostgreSQL, and nothing to migrate") {
  const PostgresDatabase database;
  { const PostgresStore made(database.location(), {}); }
  const Schema& schema = store::postgres::currentSchema();
  // One from each earlier version.
  CHECK(std::ssize(schema.migrations) == schema.version - 1);
  CHECK(schema.least <= schema.version);
  const MigrationReport report = migrateDatabase({database.location()});
  CHECK(report.changes.empty());
  CHECK(report.from == schema.version);
}

TEST_CASE("tables of an earlier version are refused by each door with the remedy, and stay as they are") {
  const Stage stage;
  const std::string before = stage.layout();
  const SchemaInPlace three(kThree);
  const std::string location = stage.database.location();
  const PostgresClient client(location);
  const std::string refusal = refusalOf(Errc::schemaOutdated, [&] { const PostgresStore store(location, {}); });
  CHECK(refusal.find("version 1, made by ackbox 0.1.0") != std::string::npos);
  CHECK(refusal.find("ackbox migrate") != std::string::npos);
  refusalOf(Errc::schemaOutdated, [&] { const PostgresReader reader(location, {}); });
  refusalOf(Errc::schemaOutdated, [&] { const ApplicationWriter writer(client.connection.get(), {}); });
  refusalOf(Errc::schemaOutdated, [&] { makeNewStore({location}); });
  const MigrationReport planned = previewMigration({location});
  CHECK(planned.from == 1);
  CHECK(planned.to == 3);
  CHECK(planned.least == 3);
  CHECK(planned.changes == std::vector<std::string>{kTenantChange, kColourChange});
  CHECK(stage.layout() == before);
}

TEST_CASE(
    "P3 P4: a migrated database is what a new one is, has all rows, and works on; a second migration does nothing") {
  const Stage stage;
  std::vector<std::string> log;
  OutboxOptions options;
  options.log = [&](const LogRecord& record) { log.push_back(toKeyValue(record)); };
  const SchemaInPlace three(kThree);
  const std::string location = stage.database.location();
  CHECK(migrateDatabase({location}, options).changes.size() == 2);
  REQUIRE(log.size() == 2);
  CHECK(log[0].find(" info migration-begins file=postgres://") != std::string::npos);
  CHECK(log[1].find(" info migrated ") != std::string::npos);
  CHECK(migrateDatabase({location}, options).changes.empty());
  CHECK(log.size() == 2);
  const PostgresDatabase fresh;
  { const PostgresStore made(fresh.location(), {}); }
  CHECK(stage.layout() == Stage::layoutOf(fresh));
  PostgresStore store(location, {});
  CHECK(enqueueOne(store, frameOf("s")).sequence == 2);
  CHECK(PostgresClient(location).enqueue("'default','s','test','{}'") == "stored 3");
  const PostgresReader reader(location, {});
  CHECK(reader.stats().pending == 3);
  CHECK(reader.fileInfo().schemaVersion == 3);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("P4: processes that know a version which the new tables allow go on, and can be started again") {
  const Stage stage;
  const std::string location = stage.database.location();
  const SchemaInPlace one(kOne);
  PostgresStore old(location, {});
  const PostgresReader reader(location, {});
  const PostgresClient client(location);
  ApplicationWriter writer(client.connection.get(), {});
  stage.migrate(kTwo);
  CHECK(stage.version() == "2");
  CHECK(enqueueOne(old, frameOf("s")).sequence == 2);
  client.run("BEGIN");
  CHECK(writer.enqueue(frameOf("s")).sequence == 3);
  client.run("COMMIT");
  PostgresStore restarted(location, {});
  CHECK(enqueueOne(restarted, frameOf("s")).sequence == 4);
  CHECK(reader.stats().pending == 4);
  const SchemaInPlace two(kTwo);
  PostgresStore later(location, {});
  CHECK(enqueueOne(later, frameOf("s")).sequence == 5);
  CHECK(PostgresReader(location, {}).verify().findings.empty());
}

TEST_CASE(
    "P3: processes that know only versions which the new tables do not allow change and read nothing more, and say "
    "why") {
  const Stage stage;
  const std::string location = stage.database.location();
  const SchemaInPlace one(kOne);
  PostgresStore old(location, {});
  PostgresStore lost(location, {});
  auto closed = std::make_unique<PostgresStore>(location, OutboxOptions{});
  const PostgresReader reader(location, {});
  const PostgresClient client(location);
  ApplicationWriter writer(client.connection.get(), {});
  stage.migrate(kThree);
  const std::string refusal = refusalOf(Errc::schemaTooNew, [&] { enqueueOne(old, frameOf("s")); });
  CHECK(refusal.find("knows version 1") != std::string::npos);
  old.rollback();
  stage.database.run("SELECT pg_terminate_backend(" + std::to_string(lost.serverProcess()) + ", 10000)");
  const std::string owners = stage.database.run("SELECT string_agg(id::text,',') FROM ackbox.owners");
  refusalOf(Errc::schemaTooNew, [&] { enqueueOne(lost, frameOf("s")); });
  lost.rollback();
  closed.reset();
  CHECK(stage.database.run("SELECT string_agg(id::text,',') FROM ackbox.owners") == owners);
  refusalOf(Errc::schemaTooNew, [&] { static_cast<void>(reader.stats()); });
  refusalOf(Errc::schemaTooNew, [&] { static_cast<void>(reader.verify()); });
  client.run("BEGIN");
  refusalOf(Errc::schemaTooNew, [&] { writer.enqueue(frameOf("s")); });
  refusalOf(Errc::schemaTooNew, [&] { writer.publish(frameOf("s")); });
  client.run("ROLLBACK");
  refusalOf(Errc::schemaTooNew, [&] { const PostgresStore restarted(location, {}); });
  refusalOf(Errc::schemaTooNew, [&] { migrateDatabase({location}); });
  CHECK(stage.database.run("SELECT string_agg(colour,',') FROM ackbox.outbox") == "red");
  stage.checkSound(kThree);
}

TEST_CASE("P3 P12: a transaction that is open is waited for, and what it has stored is migrated") {
  const Stage stage;
  const SchemaInPlace one(kOne);
  PostgresStore old(stage.database.location(), {});
  old.begin(true);
  CHECK(old.outbox().enqueue(frameOf("s")).sequence == 2);
  MigrationReport report;
  std::thread migrating([&] { report = stage.migrate(kThree); });
  CHECK(comesTo([&] { return stage.waits(); }));
  old.commit();
  migrating.join();
  CHECK(report.changes.size() == 2);
  CHECK(stage.database.run("SELECT string_agg(colour,',') FROM ackbox.outbox") == "red,red");
}

TEST_CASE("P3: a statement that waits for the migration does not go on by the rule of before") {
  for (const std::string isolation : {"READ COMMITTED", "REPEATABLE READ"}) {
    for (const Schema* const to : {&kTwo, &kThree}) {
      CAPTURE(isolation);
      CAPTURE(to->version);
      const Stage stage;
      const PostgresClient client(stage.database.location());
      client.run("BEGIN ISOLATION LEVEL " + isolation);
      client.run("SELECT 1");
      std::string answer;
      std::thread waiting;
      stage.migrate(*to, [&](const MigrationReport&) {
        waiting = std::thread([&] { answer = client.enqueue("'default','s','test','{}'"); });
        CHECK(comesTo([&] { return stage.waits(); }));
      });
      waiting.join();
      const bool goesOn = to == &kTwo && isolation == "READ COMMITTED";
      CHECK(answer == (goesOn ? "stored 2" : "40001"));
      client.run(goesOn ? "COMMIT" : "ROLLBACK");
      CHECK(client.enqueue("'default','s','test','{}'") == (goesOn ? "stored 3" : "stored 2"));
      stage.checkSound(*to);
    }
  }
}

TEST_CASE("P12: a store and a reader that wait for the migration go on, or are stopped, when it has ended") {
  for (const Schema* const to : {&kTwo, &kThree}) {
    CAPTURE(to->version);
    const Stage stage;
    std::vector<std::thread> threads;
    std::error_code ofStore;
    std::error_code ofReader;
    const auto codeOf = [](const auto& call) -> std::error_code {
      try {
        call();
        return {};
      } catch (const Error& error) {
        return error.code();
      }
    };
    const SchemaInPlace one(kOne);
    PostgresStore old(stage.database.location(), {});
    const PostgresReader reader(stage.database.location(), {});
    stage.migrate(*to, [&](const MigrationReport&) {
      threads.emplace_back([&] {
        do {
          ofStore = codeOf([&] { enqueueOne(old, frameOf("s")); });
          old.rollback();
        } while (ofStore == Errc::databaseBusy);
      });
      threads.emplace_back([&] { ofReader = codeOf([&] { static_cast<void>(reader.stats()); }); });
      CHECK(comesTo([&] { return stage.waits(2); }));
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    const std::error_code expected = to == &kTwo ? std::error_code() : make_error_code(Errc::schemaTooNew);
    CHECK(ofStore == expected);
    CHECK(ofReader == expected);
  }
}

TEST_CASE("of two processes that migrate at once, one does it, and the other finds it done; its wait is bounded") {
  const Stage stage;
  const SchemaInPlace three(kThree);
  MigrationReport second;
  std::thread other;
  const MigrationReport first = migrateDatabase({stage.database.location()}, {}, [&](const MigrationReport&) {
    const std::string refusal = refusalOf(Errc::databaseBusy, [&] {
      migrateDatabase({stage.database.location()}, patient(std::chrono::milliseconds(20)));
    });
    CHECK(refusal.find("another process makes or migrates the tables") != std::string::npos);
    other = std::thread([&] { second = migrateDatabase({stage.database.location()}); });
    CHECK(comesTo([&] { return stage.waits(); }));
  });
  other.join();
  CHECK(first.changes.size() == 2);
  CHECK(second.changes.empty());
  CHECK(stage.version() == "3");
}

TEST_CASE("P12: a transaction that stays open ends the wait after busyTimeout, and is named; nothing was changed") {
  for (const std::string held : {"SELECT 1 FROM ackbox.outbox", "SELECT ackbox.enqueue('default','s','test','{}')"}) {
    CAPTURE(held);
    const Stage stage;
    const std::string before = stage.layout();
    const PostgresClient client(stage.database.location() + " application_name=reports");
    client.run("BEGIN");
    client.run(held);
    const std::string process = client.run("SELECT pg_backend_pid()");
    const std::string refusal =
        refusalOf(Errc::databaseBusy, [&] { stage.migrate(kThree, {}, std::chrono::milliseconds(20)); });
    CHECK(refusal.find("process " + process + " of the server (reports") != std::string::npos);
    CHECK(refusal.find("idle in transaction") != std::string::npos);
    CHECK(refusal.find("pg_terminate_backend") != std::string::npos);
    CHECK(stage.layout() == before);
    client.run("COMMIT");
    stage.migrate(kThree);
    stage.checkSound(kThree);
  }
}

TEST_CASE(
    "P1 P3: a migration whose connection ends at any step, that fails, or that its caller ends leaves version 1") {
  const std::string end = ";SELECT pg_terminate_backend(pg_backend_pid())";
  const std::string ended2 = kVersions.step2 + end;
  const std::string ended3 = kVersions.step3 + end;
  const std::string failing3 = kVersions.step3 + ";SELECT 1/0";
  const std::string functions = store::postgres::kFunctionsSql + end;
  const auto step = [](const std::string& two, const std::string& three) {
    return std::vector<store::postgres::Migration>{{1, 2, two.c_str(), kTenantChange},
                                                   {2, 3, three.c_str(), kColourChange}};
  };
  const std::vector<std::pair<std::vector<store::postgres::Migration>, Errc>> all = {
      {step(ended2, kVersions.step3), Errc::ioError},
      {step(kVersions.step2, ended3), Errc::ioError},
      {step(kVersions.step2, failing3), Errc::databaseError},
      {step(kVersions.step2, kVersions.step3), Errc::ioError}};
  for (std::size_t index = 0; index < all.size(); ++index) {
    CAPTURE(index);
    const Stage stage;
    const std::string before = stage.layout();
    const SchemaInPlace one(kOne);
    PostgresStore old(stage.database.location(), {});
    Schema schema = kThree;
    schema.migrations = all[index].first;
    // The last one has all of it done, but for the version.
    schema.functions = index + 1 == all.size() ? functions.c_str() : schema.functions;
    try {
      stage.migrate(schema);
      FAIL_CHECK("it has not failed");
    } catch (const Error& error) {
      CHECK((error.code() == all[index].second || error.code() == Errc::databaseBusy));
    }
    CHECK_THROWS_AS(stage.migrate(kThree, [](const MigrationReport&) { throw std::runtime_error("not now"); }),
                    std::runtime_error);
    CHECK(stage.layout() == before);
    CHECK(stage.version() == "1");
    CHECK(enqueueOne(old, frameOf("s")).sequence == 2);
    CHECK(stage.migrate(kThree).changes.size() == 2);
    CHECK(stage.database.run("SELECT string_agg(colour,',') FROM ackbox.outbox") == "red,red");
    stage.checkSound(kThree);
  }
}

TEST_CASE(
    "P1 P3: a migration whose connection is ended at any instant leaves version 1 or version 3, and can be repeated") {
  int interrupted = 0;
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    const Stage stage;
    const std::string before = stage.layout();
    std::thread migrating([&] {
      try {
        stage.migrate(kThree);
      } catch (const Error&) {
        ++interrupted;
      }
    });
    const SteadyTime instant = systemClock()->steadyNow() + std::chrono::milliseconds(4) * round;
    while (systemClock()->steadyNow() < instant) {
      std::this_thread::yield();
    }
    PostgresServer::get().run("SELECT count(pg_terminate_backend(pid,10000)) FROM pg_stat_activity WHERE datname='" +
                              stage.database.name() + "'");
    migrating.join();
    CHECK((stage.version() == "3" || (stage.version() == "1" && stage.layout() == before)));
    stage.migrate(kThree);
    CHECK(stage.version() == "3");
    CHECK(stage.database.run("SELECT string_agg(colour,',') FROM ackbox.outbox") == "red");
    stage.checkSound(kThree);
  }
  MESSAGE(interrupted << " of " << kRounds << " were interrupted");
}

TEST_CASE("tables of a build before the first release are refused, with the remedy") {
  const PostgresDatabase database;
  { const PostgresStore made(database.location(), {}); }
  database.run("DROP TABLE ackbox.schema");
  const std::string refusal =
      refusalOf(Errc::schemaTooOld, [&] { const PostgresStore store(database.location(), {}); });
  CHECK(refusal.find("DROP SCHEMA ackbox CASCADE") != std::string::npos);
  refusalOf(Errc::schemaTooOld, [&] { migrateDatabase({database.location()}); });
  database.run("DROP SCHEMA ackbox CASCADE");
  refusalOf(Errc::schemaMissing, [&] { migrateDatabase({database.location()}); });
}

}  // namespace pg_migration_test
