// ackbox_bench: measures named operations beside what an agent would have without ackbox, several times over, and
// prints the least, the median and the greatest of each figure. `--json` writes the form that json_report.cpp
// describes. Figures worth quoting come from a Release build on a quiet machine with a real disk.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/backlog.hpp"
#include "bench/daemon.hpp"
#include "bench/floor_link.hpp"
#include "bench/measured_disk.hpp"
#include "bench/neighbour.hpp"
#include "bench/receiver.hpp"
#include "bench/relay.hpp"
#include "bench/replica.hpp"
#include "bench/report.hpp"
#include "bench/scratch.hpp"

namespace ackbox::bench {
namespace {

struct Arguments {
  bool list = false;
  std::vector<std::string> operations;
  std::vector<std::string> without;
  unsigned runs = 5;
  double seconds = 1;
  std::uint64_t count = 0;
  std::string json;
  bool smoke = false;
  // How the bench calls itself for the far side of a delivery.
  std::int64_t syncDelayMicroseconds = 0;
  std::string role;
  std::string file;
  std::string url;
  Link link;
};

void list() {
  for (const Operation& operation : operations()) {
    std::cout << operation.name << "  " << operation.about << '\n';
  }
}

std::vector<const Operation*> chosen(const std::vector<std::string>& names, const std::vector<std::string>& without) {
  const auto isIn = [](const std::vector<std::string>& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<const Operation*> made;
  for (const Operation& operation : operations()) {
    if ((names.empty() || isIn(names, operation.name)) && !isIn(without, operation.name)) {
      made.push_back(&operation);
    }
  }
  return made;
}

int playRole(const Arguments& arguments) {
  if (arguments.role == "floor") {
    return runFloorReceiver(arguments.file);
  }
  if (arguments.role == "neighbour") {
    return runNeighbour(arguments.file);
  }
  if (arguments.role == "relay") {
    return runRelayReceiver(arguments.file);
  }
  if (arguments.role == "backlog") {
    return runBacklogReader(arguments.file);
  }
  if (arguments.role == "daemon") {
    return runDaemon(arguments.file);
  }
#ifdef ACKBOX_BENCH_POSTGRES
  if (arguments.role == "replica" || arguments.role == "native-replica") {
    return runReplica(arguments.file, arguments.url,
                      arguments.role == "replica" ? PeerProfile::webhook : PeerProfile::native);
  }
#endif
  return runReceiver(arguments.file, arguments.role == "receiver" ? Durability::powerCut : Durability::processCrash,
                     arguments.link);
}

void saveJson(const std::string& target, const Report& report) {
  if (target == "-") {
    writeJson(std::cout, report);
    return;
  }
  std::ofstream file(target);
  writeJson(file, report);
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + target);
  }
}

void measure(const Arguments& arguments) {
  const Scratch scratch(arguments.smoke);
  Report report;
  report.settings.folder = scratch.folder();
  // Smoke: few, so that every path runs; whole batches are taken even so.
  report.settings.count = arguments.smoke ? 20 : arguments.count;
  report.settings.duration = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.seconds * 1000));
  report.runs = arguments.smoke ? 1 : arguments.runs;
  report.machine = machineFacts(scratch.folder());
  if (scratch.warning()) {
    report.machine.warnings.push_back(*scratch.warning());
  }
  // With JSON on standard output, the table goes to standard error.
  std::ostream& table = arguments.json == "-" ? std::cerr : std::cout;
  printMachine(table, report.machine);
  for (const Operation* operation : chosen(arguments.operations, arguments.without)) {
    OperationReport& done = report.operations.emplace_back(OperationReport{operation, {}});
    for (unsigned run = 0; run < report.runs; ++run) {
      done.runs.push_back(operation->run(report.settings));
    }
    printOperation(table, done);
  }
  if (!arguments.json.empty()) {
    saveJson(arguments.json, report);
  }
}

}  // namespace
}  // namespace ackbox::bench

int main(int argc, char** argv) {
  using namespace ackbox::bench;
  Arguments arguments;
  CLI::App app("Measures ackbox beside naive and raw SQLite", "ackbox_bench");
  std::vector<std::string> names;
  for (const Operation& operation : operations()) {
    names.emplace_back(operation.name);
  }
  app.add_flag("--list", arguments.list, "Print the operations and what each compares, and end");
  app.add_option("--operation", arguments.operations, "Only these operations (default: all)")
      ->check(CLI::IsMember(names));
  app.add_option("--without", arguments.without, "Not these operations")->check(CLI::IsMember(names));
  app.add_option("--runs", arguments.runs, "Runs of each operation")->check(CLI::Range(1, 1000))->capture_default_str();
  auto* seconds = app.add_option("--seconds", arguments.seconds, "Seconds of each measurement within a run")
                      ->check(CLI::Range(0.001, 3600.0))
                      ->capture_default_str();
  app.add_option("--count", arguments.count, "Messages of each measurement, instead of seconds")->excludes(seconds);
  app.add_option("--json", arguments.json, "Write the report to this file, or - for standard output");
  app.add_flag("--smoke", arguments.smoke,
               "One run with next to no work: shows that all of it works, measures nothing");
  app.add_option("--role", arguments.role)
      ->check(CLI::IsMember({"receiver", "receiver-normal", "floor", "relay", "neighbour", "backlog", "daemon",
                             "replica", "native-replica"}))
      ->group("");
  app.add_option("--sync-delay-us", arguments.syncDelayMicroseconds)->group("");
  app.add_option("--file", arguments.file)->group("");
  app.add_option("--url", arguments.url)->group("");
  app.add_option("--keys", arguments.link.keys)->group("");
  app.add_flag("--signed", arguments.link.isSigned)->group("");
  app.add_flag("--encrypted", arguments.link.isEncrypted)->group("");
  app.add_flag("--logged", arguments.link.isLogged)->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    measureDisk();
    setSyncDelay(std::chrono::microseconds(arguments.syncDelayMicroseconds));
    if (!arguments.role.empty()) {
      return playRole(arguments);
    }
    if (arguments.list) {
      list();
    } else {
      measure(arguments);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "ackbox_bench: " << error.what() << '\n';
    return 1;
  }
}
