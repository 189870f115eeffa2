// Goal: the relay example keeps its index in step whatever repeats or dies: rows 1 and 6 of what the library must do.
// Method: real processes of the example that send every request twice and kill themselves with SIGKILL after each of
// their steps in turn; then one runs to completion, and both files are read from outside.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "child.hpp"
#include "support/temp_dir.hpp"

namespace relay_test {

namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr int kObservations = 8;
// More than the program has, so that a campaign that never completes ends as well.
constexpr int kStepsMax = 200;

/// Runs the example in `directory`; its exit code, or minus the number of the signal that ended it.
int runRelay(const std::filesystem::path& directory, const std::vector<std::string>& arguments) {
  std::filesystem::create_directories(directory);
  std::filesystem::current_path(directory);
  main_job::Child child(RELAY_PROGRAM, arguments);
  child.endsWithin(kPatience);
  return child.terminate({});
}

int readNumber(const std::filesystem::path& file, const std::string& query) {
  SQLite::Database database(file.string(), SQLite::OPEN_READONLY, 5000);
  return database.execAndGet(query);
}

/// A row without its frame would be missing in the index; a frame without its row would be a stranger there.
void checkIndexHoldsEachOnce(const std::filesystem::path& directory) {
  CHECK(readNumber(directory / "agent.db", "SELECT count(*) FROM observations") == kObservations);
  CHECK(readNumber(directory / "index.db", "SELECT count(*) FROM notes") == kObservations);
  CHECK(readNumber(directory / "index.db", "SELECT count(DISTINCT id) FROM notes") == kObservations);
  SQLite::Database both((directory / "agent.db").string(), SQLite::OPEN_READONLY, 5000);
  both.exec("ATTACH '" + (directory / "index.db").string() + "' AS relayed");
  const int same = both.execAndGet("SELECT count(*) FROM observations JOIN relayed.notes USING (id, note)");
  CHECK(same == kObservations);
}

}  // namespace

TEST_CASE("row 6: with every request sent twice, the index holds each observation once") {
  const ackbox::testing::TempDir directory;
  CHECK(runRelay(directory.file("twice"), {"--twice"}) == 0);
  checkIndexHoldsEachOnce(directory.file("twice"));
}

TEST_CASE("row 1: killed after any step and started again, rows and frames and index are in balance") {
  const ackbox::testing::TempDir directory;
  int kills = 0;
  for (int step = 1; step < kStepsMax; ++step) {
    CAPTURE(step);
    const std::filesystem::path world = directory.file(std::to_string(step));
    const int status = runRelay(world, {"--twice", "--kill-after", std::to_string(step)});
    if (status == 0) {
      break;
    }
    REQUIRE(status == -SIGKILL);
    ++kills;
    REQUIRE(runRelay(world, {}) == 0);
    checkIndexHoldsEachOnce(world);
  }
  // Saving has two steps for each observation, and relaying one or more.
  CHECK(kills >= 3 * kObservations);
  CHECK(kills < kStepsMax - 1);
}

TEST_CASE("row 6: killed again and again on the same files, it completes and the index holds each observation once") {
  const ackbox::testing::TempDir directory;
  int step = 1;
  int status = -SIGKILL;
  for (; status == -SIGKILL && step < kStepsMax; ++step) {
    status = runRelay(directory.file("world"), {"--twice", "--kill-after", std::to_string(step)});
  }
  CHECK(status == 0);
  CHECK(step > 4);
  checkIndexHoldsEachOnce(directory.file("world"));
}

}  // namespace relay_test
