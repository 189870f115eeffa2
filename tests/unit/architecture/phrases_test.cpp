// Goal: habits that a reviewer would catch, caught by a test: time only through `Clock`, no waiting by sleeping, no
// work left for later in a comment.
// Method: search the sources for the words. They are put together here from halves, so that this file passes too.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "unit/architecture/source_tree.hpp"

namespace ackbox::test::phrases_test {
namespace {

/// Checks that no line of `files` contains one of `phrases`.
void checkAbsent(const std::vector<std::string>& files, const std::vector<std::string>& phrases,
                 std::string_view remedy) {
  CHECK_FALSE(files.empty());
  for (const std::string& file : files) {
    for (const SourceLine& line : readLines(file)) {
      const bool found = std::ranges::any_of(
          phrases, [&](const std::string& phrase) { return line.text.find(phrase) != std::string::npos; });
      CHECK_MESSAGE(!found, describe(line) << "\n" << remedy);
    }
  }
}

}  // namespace

TEST_CASE("nothing waits by sleeping") {
  const std::string sleep = "sleep";
  checkAbsent(sourceFiles({"include", "src", "tests", "examples"}, {".hpp", ".cpp"}),
              {sleep + "_for", sleep + "_until", "u" + sleep + "(", "nano" + sleep, " " + sleep + "("},
              "wait for the event itself, or set an Alarm of a Clock");
}

TEST_CASE("only src/base/clock.cpp reads the machine's clocks") {
  std::vector<std::string> files = sourceFiles({"include", "src"}, {".hpp", ".cpp"});
  std::erase(files, "src/base/clock.cpp");
  const std::string clock = "_clock";
  checkAbsent(files,
              {"system" + clock + "::now", "steady" + clock + "::now", "high_resolution" + clock,
               "clock_" + std::string("gettime"), " time(nullptr)", "std::" + std::string("time(")},
              "ask the Clock of the options, so that a test can own time");
}

TEST_CASE("what the store promises is tried without a word of one database, and named by the promise") {
  std::vector<std::string> files = sourceFiles({"tests/store_conformance"}, {".hpp", ".cpp"});
  // Each database plugs in by a file of its own.
  std::erase(files, "tests/store_conformance/sqlite_store.cpp");
  std::erase(files, "tests/store_conformance/postgres_store.cpp");
  checkAbsent(files, {"SQLite", "Sqlite", "sqlite", "PRAGMA ", "SELECT ", "UPDATE ", "DELETE "},
              "ask the seam, or test the table in tests/unit/store");
  for (const std::string& file : files) {
    const std::vector<SourceLine> lines = readLines(file);
    for (std::size_t index = 0; index < lines.size(); ++index) {
      if (lines[index].text.starts_with("TEST_CASE(")) {
        // The name may stand in the next line.
        const std::string name = lines[index].text + (index + 1 < lines.size() ? lines[index + 1].text : "");
        const std::size_t begin = name.find('"');
        CHECK_MESSAGE(
            (begin != std::string::npos && name[begin + 1] == 'P' && name[begin + 2] >= '1' && name[begin + 2] <= '9'),
            describe(lines[index]) << "\nbegin its name with the promise: P4: …");
      }
    }
  }
}

TEST_CASE("no comment leaves work for later") {
  checkAbsent(sourceFiles({"include", "src", "tests", "examples", "cmake", "proto", "scripts"},
                          {".hpp", ".cpp", ".txt", ".cmake", ".in", ".sh", ".md"}),
              {std::string("TO") + "DO", std::string("FIX") + "ME", std::string("XX") + "X "},
              "do it, or write down the limit as a fact");
}

}  // namespace ackbox::test::phrases_test
