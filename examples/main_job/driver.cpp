// ackbox's main job, shown: two agents exchange frames while both are killed with SIGKILL over and over, at random
// instants; at the end a ledger compares what was put in with the effects that it had.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>

#include "run.hpp"

namespace {

namespace fs = std::filesystem;

fs::path makeDirectory() {
  std::string name = (fs::temp_directory_path() / "ackbox_main_job.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory in " + fs::temp_directory_path().string());
  }
  return name;
}

void refuseRepeats(std::vector<fs::path> inputs) {
  std::sort(inputs.begin(), inputs.end());
  if (const auto twice = std::adjacent_find(inputs.begin(), inputs.end()); twice != inputs.end()) {
    throw std::runtime_error(twice->string() + " is given twice");
  }
}

void print(const main_job::Report& report, bool json) {
  if (json) {
    main_job::printJson(std::cout, report);
    return;
  }
  const char* const noColour = std::getenv("NO_COLOR");
  const bool coloured = isatty(STDOUT_FILENO) == 1 && (noColour == nullptr || *noColour == '\0');
  main_job::printTable(std::cout, report, coloured);
}

int show(main_job::RunSettings settings, bool json) {
  std::cerr << "seed " << settings.seed << '\n';
  try {
    for (fs::path& input : settings.inputs) {
      input = fs::canonical(input);
    }
    refuseRepeats(settings.inputs);
    settings.directory = makeDirectory();
    // The agents and the progress line end before the account is printed.
    const main_job::Report report = main_job::Run(settings).carryOut();
    print(report, json);
    if (report.balances()) {
      fs::remove_all(settings.directory);
      return EXIT_SUCCESS;
    }
  } catch (const std::exception& error) {
    std::cerr << "main_job: " << error.what() << '\n';
  }
  if (!settings.directory.empty()) {
    std::cerr << "main_job: databases and logs are kept in " << settings.directory.string() << '\n';
  }
  return EXIT_FAILURE;
}

void onSignal(int) {
  main_job::Run::interrupt();
}

}  // namespace

int main(int argc, char** argv) {
  main_job::RunSettings settings;
  settings.seed = std::random_device{}();
  settings.agent = fs::read_symlink("/proc/self/exe").parent_path() / "agent";
  bool json = false;
  CLI::App app("Two agents talk through ackbox while both are killed over and over; prints the ledger of effects");
  app.add_option("--input,input", settings.inputs, "JSON lines: {\"session\":\"a\",\"type\":\"b\",\"data\":…}")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--kills", settings.kills, "SIGKILLs in total, half of them each")->capture_default_str();
  app.add_option("--seed", settings.seed, "draws the victims and the instants; default: another one each time");
  app.add_option("--agent", settings.agent, "the agent program; default: the one beside this program");
  app.add_flag("--json", json, "print the ledger as JSON");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGINT, onSignal);
  std::signal(SIGTERM, onSignal);
  return show(settings, json);
}
