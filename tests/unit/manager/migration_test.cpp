// Goal: a file of an earlier version becomes one of this program's version as a whole or not at all, is copied before,
// and keeps what it holds; no program works on tables of another version.
// Method: the golden file of version 1, and a version 2 that exists in this test alone. The process is killed at each
// step, and power fails behind each write.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/outbox_operator.hpp"
#include "golden_file.hpp"
#include "store/sqlite/open.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/schema/versions.hpp"
#include "support/crash_images.hpp"
#include "support/memory_disk.hpp"
#include "support/version_two.hpp"

namespace ackbox::migration_test {
namespace {

using namespace testing;
using golden::Agent;
using store::sqlite::Migration;
using store::sqlite::Schema;
using store::sqlite::SchemaInPlace;
namespace fs = std::filesystem;

std::string bytesOf(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

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

std::vector<std::string> namesBeside(const fs::path& file) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(file.parent_path())) {
    if (entry.path().filename().string().find(".version-") != std::string::npos) {
      names.push_back(entry.path().filename());
    }
  }
  return names;
}

int versionIn(const fs::path& file, const std::string& vfs = {}) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE, 0, vfs);
  return database.execAndGet("SELECT version FROM ackbox_schema").getInt();
}

/// Opens it with a program of its version, and fails for what is wrong.
int checkSoundAs(const fs::path& file, OutboxOptions options) {
  const int version = versionIn(file, options.vfs);
  const auto check = [&] { golden::checkSound(OutboxReader::open(file, options)); };
  if (version == 2) {
    const SchemaInPlace two(versionTwo());
    check();
  } else {
    check();
  }
  return version;
}

OutboxOptions quiet() {
  OutboxOptions options;
  options.log = [](const LogRecord&) {};
  return options;
}

TEST_CASE("this release has one version of the tables, and nothing to migrate") {
  const Schema& schema = store::sqlite::currentSchema();
  CHECK(schema.version == 1);
  // One from each earlier version.
  CHECK(std::ssize(schema.migrations) == schema.version - 1);
  const golden::File one;
  const std::string before = bytesOf(one.file);
  const MigrationReport report = OutboxOperator::migrateFile(one.file, quiet());
  CHECK(report.from == schema.version);
  CHECK(report.changes.empty());
  CHECK(bytesOf(one.file) == before);
  CHECK(namesBeside(one.file).empty());
}

TEST_CASE("a file of an earlier version is refused by each door with the remedy, and stays as it is") {
  const golden::File one;
  const std::string before = bytesOf(one.file);
  const SchemaInPlace two(versionTwo());
  Agent agent(one.file, golden::kLater);
  const std::string refusal = refusalOf(Errc::schemaOutdated, [&] { agent.open(); });
  CHECK(refusal.find("version 1, made by ackbox 0.1.0") != std::string::npos);
  CHECK(refusal.find("ackbox migrate") != std::string::npos);
  refusalOf(Errc::schemaOutdated, [&] { static_cast<void>(OutboxReader::open(one.file, quiet())); });
  refusalOf(Errc::schemaOutdated, [&] { OutboxOperator::repairFile(one.file, quiet()); });
  refusalOf(Errc::schemaOutdated, [&] { OutboxOperator::makeNewStore(one.file, quiet()); });
  const MigrationReport planned = OutboxOperator::previewMigration(one.file, quiet());
  CHECK(planned.from == 1);
  CHECK(planned.to == 2);
  CHECK(planned.changes == std::vector<std::string>{kVersionTwoChange});
  CHECK(bytesOf(one.file) == before);
  CHECK(namesBeside(one.file).empty());
}

TEST_CASE("P3 P4: a migrated file has all rows, works on, and is refused by a program of the version before") {
  const golden::File one;
  std::vector<std::string> log;
  OutboxOptions options;
  options.log = [&](const LogRecord& record) { log.push_back(toKeyValue(record)); };
  MigrationReport announced;
  {
    const SchemaInPlace two(versionTwo());
    const MigrationReport report =
        OutboxOperator::migrateFile(one.file, options, [&](const MigrationReport& planned) { announced = planned; });
    CHECK(report.changes.size() == 1);
    CHECK(announced.backup == report.backup);
    CHECK(report.backup == one.file.string() + ".version-1");
    REQUIRE(log.size() == 2);
    CHECK(log[0].find(" info migration-begins file=" + one.file.string() + " from=1 to=2 backup=") !=
          std::string::npos);
    CHECK(log[1].find(" info migrated ") != std::string::npos);
    // Once more it does nothing.
    const std::string before = bytesOf(one.file);
    CHECK(OutboxOperator::migrateFile(one.file, options).changes.empty());
    CHECK(bytesOf(one.file) == before);
    CHECK(namesBeside(one.file).size() == 1);
    CHECK(log.size() == 2);
    Agent agent(one.file, golden::kLater);
    golden::checkSound(OutboxReader::open(one.file, agent.options()));
    agent.open();
    CHECK(OutboxReader(agent.manager()).fileInfo().schemaVersion == 2);
    CHECK(agent.manager().getStats().pending == 18);
    agent.manager().drainOnce();
    CHECK(agent.sender().frames().size() == 13);
    golden::checkSound(OutboxReader(agent.manager()));
    const fs::path fresh = one.folder.file("new.db");
    Agent(fresh, golden::kLater).open();
    CHECK(versionIn(fresh) == 2);
  }
  Agent old(one.file, golden::kLater);
  CHECK(refusalOf(Errc::schemaTooNew, [&] { old.open(); }).find("version 2, made by ackbox 0.1.0") !=
        std::string::npos);
  // The way back is the copy.
  Agent back(announced.backup, golden::kLater);
  golden::checkSound(OutboxReader::open(announced.backup, back.options()));
  back.open();
  CHECK(back.manager().getStats().pending == 18);
}

TEST_CASE("a file that an agent has open is not migrated") {
  const golden::File one;
  const auto liveness = store::sqlite::kernelLiveness(one.file.string() + "-ackbox-owners");
  liveness->hold(1);
  const SchemaInPlace two(versionTwo());
  refusalOf(Errc::alreadyRunning, [&] { OutboxOperator::migrateFile(one.file, quiet()); });
  CHECK(versionIn(one.file) == 1);
  CHECK(namesBeside(one.file).empty());
}

TEST_CASE("a migration that fails, that makes other tables, or that its caller ends leaves the file as it was") {
  const golden::File one;
  const char* statements = "ALTER TABLE #outbox ADD COLUMN tenant TEXT;";
  Errc expected = Errc::databaseError;
  SUBCASE("it makes no index") {}
  SUBCASE("its second statement fails") {
    statements = "ALTER TABLE #outbox ADD COLUMN tenant TEXT; DROP TABLE #nobody";
  }
  const Migration migrations[] = {{1, 2, statements, kVersionTwoChange}};
  Schema schema = versionTwo();
  schema.migrations = migrations;
  {
    const SchemaInPlace two(schema);
    refusalOf(expected, [&] { OutboxOperator::migrateFile(one.file, quiet()); });
    CHECK_THROWS_AS(OutboxOperator::migrateFile(one.file, quiet(),
                                                [](const MigrationReport&) { throw std::runtime_error("not now"); }),
                    std::runtime_error);
  }
  CHECK(checkSoundAs(one.file, quiet()) == 1);
  // No copy is lost: the newest has a name of its own.
  CHECK(namesBeside(one.file).size() == 2);
}

/// Kills this process at a step of the migration: 0 before the copy, 1 behind it, 2 behind the commit.
[[noreturn]] void migrateUntil(const fs::path& file, int step) {
  const auto killAt = [step](int here) {
    if (here == step) {
      raise(SIGKILL);
    }
  };
  try {
    const SchemaInPlace two(versionTwo());
    store::sqlite::migrateFile(file, quiet(),
                               {[&](const MigrationReport& planned) {
                                  killAt(0);
                                  return store::sqlite::backUpBefore(file, planned, quiet());
                                },
                                [&](const MigrationReport&) { killAt(1); }});
    killAt(2);
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);
}

TEST_CASE("a process that is killed at a step of the migration, or at any instant, leaves version 1 or version 2") {
  int migrated = 0;
  constexpr int kSteps = 3;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const golden::File one;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      migrateUntil(one.file, round < kSteps ? round : -1);
    }
    if (round >= kSteps) {
      const SteadyTime instant = systemClock()->steadyNow() + std::chrono::milliseconds(15) * (round - kSteps + 1);
      while (systemClock()->steadyNow() < instant) {
        std::this_thread::yield();
      }
      kill(child, SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) || (round >= kSteps && WEXITSTATUS(status) == 0)));
    const int version = checkSoundAs(one.file, quiet());
    CHECK((round >= kSteps || version == (round == 2 ? 2 : 1)));
    migrated += version == 2 ? 1 : 0;
    for (const std::string& name : namesBeside(one.file)) {
      // SQLite's files of an incomplete copy may be left, too.
      CHECK((name.find(".partial") != std::string::npos || checkSoundAs(one.folder.file(name), quiet()) == 1));
    }
    const SchemaInPlace two(versionTwo());
    OutboxOperator::migrateFile(one.file, quiet());
    golden::checkSound(OutboxReader::open(one.file, quiet()));
    for (const std::string& name : namesBeside(one.file)) {
      CHECK(name.find(".partial") == std::string::npos);
    }
  }
  MESSAGE(migrated << " of " << kRounds << " had migrated");
}

TEST_CASE("P1: power that fails behind any write of the migration leaves version 1 or version 2") {
  const golden::File one;
  const DiskFiles start = {{one.file.string(), bytesOf(one.file)}};
  const auto record = std::make_shared<DiskRecord>();
  OutboxOptions options = quiet();
  std::size_t begunAt = 0;
  std::size_t committedAt = 0;
  {
    MemoryDisk disk(start, record);
    options.vfs = disk.name();
    const SchemaInPlace two(versionTwo());
    store::sqlite::migrateFile(one.file, options,
                               {[&](const MigrationReport&) {
                                  begunAt = record->length();
                                  return fs::path("copy");
                                },
                                [](const MigrationReport&) {}});
    committedAt = record->length();
  }
  REQUIRE(committedAt > begunAt);
  DiskHistory history(start);
  std::array<int, 3> found{};
  for (std::size_t moment = 0; moment < record->length(); ++moment) {
    history.apply(record->operations()[moment]);
    using Rule = Survival::Rule;
    constexpr std::size_t kSector = 512;
    for (const Survival& survival : {Survival{}, Survival{.rule = Rule::none},
                                     Survival{.rule = Rule::some, .seed = moment, .sectorBytes = kSector}}) {
      if (moment + 1 < begunAt) {
        continue;
      }
      MemoryDisk disk(history.image(survival));
      options.vfs = disk.name();
      CAPTURE(moment);
      CAPTURE(survival.text());
      const int version = checkSoundAs(one.file, options);
      CHECK((version == 1 || version == 2));
      // What `migrateFile` returned from outlasts everything.
      CHECK((version == 2 || moment + 1 < committedAt));
      ++found.at(static_cast<std::size_t>(version));
    }
  }
  MESSAGE(record->length() << " writes, images of version 1: " << found[1] << ", of version 2: " << found[2]);
  CHECK(found[1] > 0);
  CHECK(found[2] > 0);
}

}  // namespace
}  // namespace ackbox::migration_test
