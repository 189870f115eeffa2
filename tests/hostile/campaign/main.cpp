// Goal: P11 and P8 hold for an agent with the library's defaults, whatever those do who mean harm.
// Method: the agent is a process of its own with few descriptors, whose inbound server has its own thread and whose
// outbox sends at the same time. One attack after the other, each on a fresh agent, beside an honest peer that speaks
// to it and another that it speaks to, both of whom are timed. Only the wire and the public headers are used, so that
// the same program measures any version.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hostile/campaign/attacks.hpp"

namespace {

using namespace ackbox::campaign;

constexpr bool kIsSanitized = std::string_view(ACKBOX_CAMPAIGN_SANITIZE).find("address") != std::string_view::npos;
// Of what is allowed, for the sanitizer's own: its shadow, and what it keeps of freed memory.
constexpr std::uint64_t kSanitizedShare = 4;

std::string milliseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), value < 10 ? "%.1f" : "%.0f", value);
  return text;
}

std::string describe(const Served& served) {
  return served.asked == 0 && served.done == 0
             ? "-"
             : std::to_string(served.done) + " of " + std::to_string(served.asked) + ", " + milliseconds(served.p50) +
                   " / " + milliseconds(served.p99) + " / " + milliseconds(served.worst);
}

void printHead() {
  std::printf(
      "| | input | process | memory before, peak MiB | descriptors | processor s | honest peer's requests: served, p50 "
      "/ "
      "p99 / worst ms | messages to an honest peer: the same | served after | file MiB | what it got |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
}

void print(const Row& row) {
  std::printf(
      "| %s | %s | %s | %llu, %llu | %llu | %.1f | %s | %s | %s | %llu | %s |\n", row.attack.c_str(), row.input.c_str(),
      row.ending.empty() ? "alive" : row.ending.c_str(), static_cast<unsigned long long>(row.memoryBeforeMiB),
      static_cast<unsigned long long>(row.taken.memoryMiB), static_cast<unsigned long long>(row.taken.descriptors),
      row.taken.processorSeconds, describe(row.in).c_str(), describe(row.out).c_str(), row.isServedAfter ? "yes" : "no",
      static_cast<unsigned long long>(row.fileMiB), row.got.c_str());
  std::fflush(stdout);
}

nlohmann::ordered_json jsonOf(const Served& served) {
  return {{"asked", served.asked},
          {"done", served.done},
          {"p50_ms", served.p50},
          {"p99_ms", served.p99},
          {"worst_ms", served.worst}};
}

nlohmann::ordered_json jsonOf(const Row& row) {
  return {{"attack", row.attack},
          {"input", row.input},
          {"alive", row.ending.empty()},
          {"ending", row.ending},
          {"memory_before_mib", row.memoryBeforeMiB},
          {"memory_peak_mib", row.taken.memoryMiB},
          {"descriptors", row.taken.descriptors},
          {"processor_seconds", row.taken.processorSeconds},
          {"honest_requests", jsonOf(row.in)},
          {"honest_messages", jsonOf(row.out)},
          {"served_after", row.isServedAfter},
          {"file_mib", row.fileMiB},
          {"got", row.got}};
}

Row run(const Attack& attack, const ArenaOptions& options) {
  Arena arena(options);
  const std::string got = attack.run(arena);
  Row row = arena.finish();
  row.attack = attack.name;
  row.input = std::string(attack.input) + (options.isSmall ? " (a tenth of it)" : "");
  row.got = got;
  if (!attack.hasHonestPeers) {
    // It was asked to end.
    row.ending.clear();
  }
  return row;
}

// What a row breaks of what is promised, without a look at the clock.
std::vector<std::string> problemsOf(const Attack& attack, const Row& row) {
  std::vector<std::string> problems;
  const std::uint64_t memoryMiBMax = attack.memoryMiBMax * (kIsSanitized ? kSanitizedShare : 1);
  if (attack.hasHonestPeers) {
    if (!row.ending.empty()) {
      problems.push_back("the process ended by " + row.ending);
    }
    if (row.in.done == 0 || !row.isServedAfter) {
      problems.emplace_back("an honest peer's requests were not served");
    }
    if (row.out.done == 0 || row.out.done * 2 < row.out.asked) {
      problems.push_back("of " + std::to_string(row.out.asked) + " messages to honest peers " +
                         std::to_string(row.out.done) + " arrived");
    }
  }
  if (row.taken.memoryMiB > memoryMiBMax) {
    problems.push_back("it took " + std::to_string(row.taken.memoryMiB) + " MiB, and may take " +
                       std::to_string(memoryMiBMax));
  }
  if (row.got.find("hangs") != std::string::npos || row.got.find("hung") != std::string::npos) {
    problems.push_back("something hangs: " + row.got);
  }
  return problems;
}

// The attacker has as many descriptors as there are; a pipe whose reader has ended is no reason to end.
void prepareThisProcess() {
  rlimit limits{};
  getrlimit(RLIMIT_NOFILE, &limits);
  limits.rlim_cur = limits.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limits);
  std::signal(SIGPIPE, SIG_IGN);
  if (kIsSanitized) {
    // Freed memory that the sanitizer keeps is not what is measured.
    const char* given = std::getenv("ASAN_OPTIONS");
    setenv("ASAN_OPTIONS", (std::string(given == nullptr ? "" : given) + ":quarantine_size_mb=8").c_str(), 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Attacks an agent with the library's defaults. Exit status 1: --check found a promise broken.");
  ArenaOptions options;
  options.agent = CAMPAIGN_AGENT;
  options.tool = ACKBOX_TOOL;
  std::vector<std::string> names;
  std::int64_t seconds = 20;
  bool isJson = false;
  bool isChecked = false;
  app.add_option("--attack", names, "Only this one, such as B3; may be given several times");
  app.add_option("--seconds", seconds, "How long each attack goes on")->capture_default_str();
  CLI::Option* const descriptors =
      app.add_option("--descriptors", options.descriptors, "The agent's limit of open descriptors; 128 with --small")
          ->capture_default_str();
  app.add_option("--server", options.server, "Who runs the agent's server: own, executor or pool")
      ->check(CLI::IsMember({"own", "executor", "pool"}))
      ->capture_default_str();
  app.add_option("--agent", options.agent, "The program campaign_agent, of another build perhaps")
      ->capture_default_str();
  app.add_option("--tool", options.tool, "The program ackbox, as well")->capture_default_str();
  app.add_flag("--small", options.isSmall, "A tenth of the connections and messages, where they are counted");
  app.add_flag("--check", isChecked, "Fail unless the agent lives, serves honest peers and keeps to its memory");
  app.add_flag("--json", isJson, "One JSON object a line instead of a table");
  CLI11_PARSE(app, argc, argv);
  options.time = std::chrono::seconds(seconds);
  if (options.isSmall && descriptors->count() == 0) {
    options.descriptors = 128;
  }
  prepareThisProcess();
  if (!isJson) {
    printHead();
  }
  bool isSound = true;
  for (const Attack& attack : attacks()) {
    if (!names.empty() && std::find(names.begin(), names.end(), attack.name) == names.end()) {
      continue;
    }
    if (attack.needsAddressSpace && kIsSanitized) {
      std::fprintf(stderr, "%s is left out: a sanitizer takes all of the address space\n", attack.name.data());
      continue;
    }
    try {
      const Row row = run(attack, options);
      if (isJson) {
        std::printf("%s\n", jsonOf(row).dump().c_str());
        std::fflush(stdout);
      } else {
        print(row);
      }
      const std::vector<std::string> problems = isChecked ? problemsOf(attack, row) : std::vector<std::string>();
      for (const std::string& problem : problems) {
        std::fprintf(stderr, "%s: %s\n", row.attack.c_str(), problem.c_str());
        isSound = false;
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", attack.name.data(), error.what());
      isSound = false;
    }
  }
  return isSound ? 0 : 1;
}
