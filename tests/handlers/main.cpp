// Goal: the kit finds what is wrong with an application's handler, and nothing where nothing is wrong.
// Method: `testing::checkHandler` on a bank's handler, sound and with one planted defect at a time. Each defect must be
// found, each sound handler pass. The table of what was found is part of docs/testing.md.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

#include "handlers/planted_handlers.hpp"
#include "support/scale.hpp"

namespace {

using namespace ackbox;

constexpr const char* kBegin = "<!-- written by ackbox_handlers -->\n";
constexpr const char* kEnd = "<!-- end -->\n";

struct Table {
  std::string text =
      "| the handler | instead | found in worlds | first seed | smallest world |\n|---|---|---|---|---|\n";
  bool holds = true;
};

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// What is left of the first world that was found.
std::string sizeOf(const testing::CheckReport& report) {
  std::size_t frames = 0;
  std::size_t faults = 0;
  std::istringstream lines(report.plan);
  for (std::string line; std::getline(lines, line);) {
    ++(line.find(" enqueues m") != std::string::npos ? frames : faults);
  }
  return counted(frames, "frame") + ", " + counted(faults, "fault");
}

void add(Table& table, const test::PlantedHandler& planted, std::uint64_t worlds, bool countsAll) {
  testing::CheckOptions options = test::bankOptions();
  options.worlds = worlds;
  options.failuresMax = countsAll ? worlds : 1;
  options.minimizeRunsMax = countsAll ? options.minimizeRunsMax : 0;
  const testing::CheckReport report = checkHandler(planted.factory, test::bankInvariant, options);
  const bool isSound = planted.instead.empty();
  table.text +=
      "| " + planted.what + " | " + (isSound ? "it is sound" : planted.instead) + " | " +
      std::to_string(report.failedSeeds.size()) + " of " + std::to_string(report.worlds) + " | " +
      (report.passed() ? "none | none" : std::to_string(report.failedSeeds.front()) + " | " + sizeOf(report)) + " |\n";
  if (report.passed() != isSound) {
    table.holds = false;
    std::cout << (isSound ? "not sound: " : "not found: ") << planted.what << "\n" << report.text();
  }
  std::cout << "  " << planted.what << ": " << report.failedSeeds.size() << " of " << report.worlds << std::endl;
}

std::string contentsOf(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// In which worlds something is found changes with each change of timing; that it is found does not.
std::string withoutWorlds(const std::string& table) {
  return std::regex_replace(table, std::regex(R"(\| \d+ of \d+ \|.*)"), "");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string document = argc > 2 ? argv[2] : "";
  if ((mode != "--check" && mode != "--write") || document.empty()) {
    std::cerr << "ackbox_handlers --check|--write docs/testing.md\n";
    return 2;
  }
  Table table;
  const bool writes = mode == "--write";
  const std::uint64_t worlds = writes ? 100 : 12;
  for (const test::PlantedHandler& sound : test::soundHandlers()) {
    add(table, sound, writes ? worlds : testing::scaled(worlds), writes);
  }
  for (const test::PlantedHandler& planted : test::plantedHandlers()) {
    add(table, planted, worlds, writes);
  }
  const std::string before = contentsOf(document);
  const std::size_t begin = before.find(kBegin);
  const std::size_t end = before.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) {
    std::cerr << document << " has no place for the table\n";
    return 1;
  }
  const std::size_t start = begin + std::string(kBegin).size();
  if (writes) {
    std::cout << table.text;
    std::ofstream(document) << before.substr(0, start) << table.text << before.substr(end);
  } else if (withoutWorlds(before.substr(start, end - start)) != withoutWorlds(table.text)) {
    std::cout << document << " is stale: run ackbox_handlers --write docs/testing.md\n";
    return 1;
  }
  return table.holds ? 0 : 1;
}
