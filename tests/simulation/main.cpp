// Goal: promises P3 to P8 and P10 hold for agents with real stores, the real machine and the real protocol, whatever
// the network, the clocks, the handlers, the operators and SIGKILL do.
// Method: a world per seed, in one thread on virtual time (`ackbox::testing`), with faults drawn per seed; then
// everything heals, all that can be delivered must be, and a judge compares every store with what the world saw.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "simulation/places.hpp"
#include "simulation/refusals.hpp"
#include "simulation/situations.hpp"
#include "simulation/world.hpp"
#include "support/scale.hpp"

namespace {

using namespace ackbox::simulation;

// A campaign of at least this many worlds must have met each situation.
constexpr std::uint64_t kLongCampaign = 2'000;

// Maps text to a number, because the base of the seeds may be a number or a commit's hash.
std::uint64_t hashOf(const std::string& text) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  }
  return hash;
}

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t messages = 0;
  std::uint64_t effects = 0;
  std::uint64_t deadLetters = 0;
  std::uint64_t kills = 0;
  std::uint64_t accidents = 0;
  std::uint64_t diskFaults = 0;
  std::uint64_t requests = 0;
  std::uint64_t inlineCommits = 0;
  std::uint64_t queuedCommits = 0;
  std::uint64_t sharedCommits = 0;
  std::uint64_t broken = 0;
  double virtualHours = 0;
  /// In how many worlds each situation was seen.
  std::array<std::uint64_t, kSituations> seenIn{};
};

// Prints how many worlds met each situation, the rarest first. Returns how many possible ones were not met.
std::uint64_t tellReach(const Totals& totals, bool withAccidents) {
  std::vector<std::size_t> order(kSituations);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t index) { return totals.seenIn[index]; });
  std::uint64_t missing = 0;
  for (const std::size_t index : order) {
    const auto situation = static_cast<Situation>(index);
    const bool isPossible = placesKind().areFiles ? !needsDatabases(situation) : !needsFiles(situation);
    if ((!isPossible || needsAccidents(situation) != withAccidents) && totals.seenIn[index] == 0) {
      continue;
    }
    missing += totals.seenIn[index] == 0 ? 1U : 0U;
    std::printf("seen in %4llu of %llu worlds: %s\n", static_cast<unsigned long long>(totals.seenIn[index]),
                static_cast<unsigned long long>(totals.worlds), std::string(describe(situation)).c_str());
  }
  return missing;
}

/// A world that throws counts as broken, with the exception as the reason.
WorldReport reportOf(const WorldOptions& options) {
  try {
    return runWorld(options);
  } catch (const std::exception& failure) {
    WorldReport report;
    report.violations.push_back(std::string("it threw: ") + failure.what());
    return report;
  }
}

void judgeWorld(const WorldOptions& options, bool verbose, bool twice, Totals& totals) {
  // Printed first, so that a crash leaves the seed that reproduces it.
  if (verbose) {
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
  }
  WorldReport report = reportOf(options);
  if (twice) {
    const WorldReport again = reportOf(options);
    if (again.digest != report.digest || again.steps != report.steps || again.requests != report.requests ||
        again.inlineCommits != report.inlineCommits || again.queuedCommits != report.queuedCommits) {
      report.violations.push_back("determinism: the same seed went another way");
    }
  }
  ++totals.worlds;
  totals.messages += report.messages;
  totals.effects += report.effects;
  totals.deadLetters += report.deadLetters;
  totals.kills += report.kills;
  totals.accidents += report.accidents;
  totals.diskFaults += report.diskFaults;
  totals.requests += report.requests;
  totals.inlineCommits += report.inlineCommits;
  totals.queuedCommits += report.queuedCommits;
  totals.sharedCommits += report.sharedCommits;
  totals.virtualHours += report.seconds / 3'600;
  for (std::size_t index = 0; index < kSituations; ++index) {
    totals.seenIn[index] += report.seen[index] ? 1U : 0U;
  }
  if (verbose) {
    std::printf(
        "  %s\n  %llu messages, %llu effects, %llu dead letters, %llu kills, %llu requests, %llu steps, %.1f s, "
        "%llu inline and %llu queued commits, digest %016llx\n",
        report.swarm.c_str(), static_cast<unsigned long long>(report.messages),
        static_cast<unsigned long long>(report.effects), static_cast<unsigned long long>(report.deadLetters),
        static_cast<unsigned long long>(report.kills), static_cast<unsigned long long>(report.requests),
        static_cast<unsigned long long>(report.steps), report.seconds,
        static_cast<unsigned long long>(report.inlineCommits), static_cast<unsigned long long>(report.queuedCommits),
        static_cast<unsigned long long>(report.digest));
  }
  if (!report.violations.empty()) {
    ++totals.broken;
    std::printf("seed %llu, %llu messages: %zu violations (again with --seed %llu --messages %llu%s)\n  %s\n",
                static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(options.messages),
                report.violations.size(), static_cast<unsigned long long>(options.seed),
                static_cast<unsigned long long>(options.messages), options.accidents ? " --accidents" : "",
                report.swarm.c_str());
    for (std::size_t index = 0; index < report.violations.size() && index < 10; ++index) {
      std::printf("  %s\n", report.violations[index].c_str());
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulates worlds of agents under faults and judges them. Exit status 1: a promise was broken.");
  std::string base = "1";
  std::uint64_t seed = 0;
  std::uint64_t worlds = 50;
  std::uint64_t seconds = 0;
  bool scaled = false;
  bool untilBroken = false;
  bool twice = false;
  bool requireReach = false;
  std::uint64_t refusals = 0;
  WorldOptions options;
  app.add_option("--base", base, "Any text, such as a commit's hash: the worlds' seeds follow from it");
  app.add_option("--seed", seed, "Only the world of this seed, with all that it has to say");
  app.add_option("--worlds", worlds, "How many worlds")->capture_default_str();
  app.add_flag("--scaled", scaled, "ACKBOX_TEST_SCALE times as many worlds");
  app.add_option("--seconds", seconds, "As many worlds as fit in this time instead");
  app.add_flag("--twice", twice, "Each world again, which must go the same way: the same seed gives the same digest");
  app.add_flag("--until-broken", untilBroken, "Ends after the first world that breaks a promise");
  app.add_flag("--require-reach", requireReach,
               "Fails when no world has met one of the situations, as a campaign of 2,000 worlds does anyway");
  app.add_option("--messages", options.messages, "Messages said in each world")->capture_default_str();
  app.add_flag("--accidents", options.accidents, "In every world files are put back to copies and lost");
  app.add_flag("--canary", options.canary, "Plants a defect: effects are written after the ACK. Must be found");
  app.add_option(
      "--refusals", refusals,
      "Instead, worlds with a peer that refuses, of each status, share, profile and layout; every Nth of them");
  CLI11_PARSE(app, argc, argv);
  std::printf("agents have their outboxes in %s\n", std::string(placesKind().name).c_str());
  if (!placesKind().areFiles) {
    if (options.accidents || refusals > 0) {
      std::fprintf(stderr, "--accidents and --refusals are about files: ackbox_simulation has them\n");
      return 2;
    }
    std::printf(
        "left out, because it needs files: accidents to them, readers with SQLite, disks that are busy or full; a "
        "disk that fails is a connection that is lost\n");
  }
  worlds = scaled ? ackbox::testing::scaled(worlds) : worlds;
  // No file here outlives the machine, so its memory suffices; TMPDIR can name another place.
  if (access("/dev/shm", W_OK) == 0) {
    setenv("TMPDIR", "/dev/shm", 0);
  }

  if (refusals > 0) {
    std::printf("base %s\n", base.c_str());
    return runRefusalWorlds(hashOf(base), refusals, seed) == 0 ? 0 : 1;
  }
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (seed != 0) {
    options.seed = seed;
    judgeWorld(options, true, twice, totals);
  } else {
    std::printf("base %s\n", base.c_str());
    std::fflush(stdout);
    const std::uint64_t first = hashOf(base);
    for (std::uint64_t index = 0; seconds == 0 ? index < worlds : elapsed() < static_cast<double>(seconds); ++index) {
      options.seed = first + index * 0x9E3779B97F4A7C15U;
      judgeWorld(options, std::getenv("ACKBOX_SIMULATION_VERBOSE") != nullptr, twice, totals);
      if (untilBroken && totals.broken > 0) {
        break;
      }
    }
  }
  const double took = elapsed();
  std::printf(
      "%llu worlds, %llu messages, %llu effects, %llu dead letters, %llu kills, %llu file accidents, %llu disk "
      "faults, %llu requests, %.1f virtual hours in %.1f s (%.0f messages a second): %llu broken\n",
      static_cast<unsigned long long>(totals.worlds), static_cast<unsigned long long>(totals.messages),
      static_cast<unsigned long long>(totals.effects), static_cast<unsigned long long>(totals.deadLetters),
      static_cast<unsigned long long>(totals.kills), static_cast<unsigned long long>(totals.accidents),
      static_cast<unsigned long long>(totals.diskFaults), static_cast<unsigned long long>(totals.requests),
      totals.virtualHours, took, static_cast<double>(totals.messages) / took,
      static_cast<unsigned long long>(totals.broken));
  std::printf("%llu commits in their callers' calls, %llu of what was queued, of which %llu were shared\n",
              static_cast<unsigned long long>(totals.inlineCommits),
              static_cast<unsigned long long>(totals.queuedCommits),
              static_cast<unsigned long long>(totals.sharedCommits));
  const std::uint64_t missing = tellReach(totals, options.accidents);
  const bool reaches = missing == 0 || !(requireReach || totals.worlds >= kLongCampaign);
  if (!reaches) {
    std::printf("%llu situations were met by no world: these worlds prove nothing about them\n",
                static_cast<unsigned long long>(missing));
  }
  // A single world may lack such commits; a campaign without them has not tested its subject.
  const bool proves = seed != 0 || (totals.inlineCommits > 0 && totals.sharedCommits > 0);
  if (!proves) {
    std::printf("no commit was made in its caller's call, or none was shared: these worlds prove nothing about them\n");
  }
  return totals.broken == 0 && proves && reaches ? 0 : 1;
}
