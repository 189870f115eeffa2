#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "child.hpp"
#include "ledger.hpp"
#include "support/temp_dir.hpp"

namespace crash {

/// The result, when the kills are over and everything was delivered.
struct Outcome {
  std::uint64_t killsOfAlice = 0;
  std::uint64_t killsOfBob = 0;
  main_job::Flow frames;
  main_job::Flow replies;
};

/// The hardships that agents must survive.
struct Hardships {
  std::uint64_t pauses = 0;
  std::uint64_t starvations = 0;
  std::uint64_t slowDisks = 0;

  [[nodiscard]] std::uint64_t all() const noexcept { return pauses + starvations + slowDisks; }
};

/// The hardships that they have survived.
struct Suffered : Hardships {
  std::uint64_t kills = 0;
  /// The longest time from the end of a hardship until a message was acknowledged again.
  std::chrono::milliseconds longestWait{0};
  /// The same, from the announced time of the peers' next probes.
  std::chrono::milliseconds longestBeyond{0};
};

/// Two agents on two files, and a driver that kills them.
///
/// All members throw `std::runtime_error` when an agent ends by itself, does not start, or ends with an error.
class CrashWorld {
public:
  /// `bobExtra` is added to bob's arguments, `extra` to those of both agents.
  explicit CrashWorld(std::uint64_t seed, const std::vector<std::string>& bobExtra = {},
                      const std::vector<std::string>& extra = {});

  /// Kills agents at random instants, within `longest` of their readiness, singly and together, while frames flow both
  /// ways. A few are killed again while they still recover.
  void killAbout(std::uint64_t kills, std::chrono::milliseconds longest = std::chrono::milliseconds(60));

  /// Stops, starves and slows agents down in a drawn order, each time for up to `longest`, singly and together; while
  /// one is stopped, the other is killed one time in eight. After each hardship messages must flow again: throws when
  /// the next acknowledgement comes later than the file announces plus some seconds.
  Suffered suffer(Hardships planned, std::chrono::milliseconds longest);

  /// Lets the agents deliver everything, ends them, and compares.
  [[nodiscard]] Outcome settle();

private:
  struct Agent {
    std::string name;
    std::filesystem::path database;
    std::vector<std::string> arguments;
    std::optional<main_job::Child> process;
    std::uint64_t kills = 0;
  };

  void launch(Agent& agent, bool feeds);
  void awaitReady(Agent& agent);
  void killAfterUpTo(Agent& agent, std::chrono::milliseconds longest);
  void awaitEnough();
  void endure(Hardships& left, Suffered& suffered, std::chrono::milliseconds longest);
  void awaitFlow(Suffered& suffered);
  void awaitDrained(Agent& agent);
  void end(Agent& agent);

  std::mt19937_64 random_;
  ackbox::testing::TempDir directory_;
  Agent alice_;
  Agent bob_;
};

/// Each frame that was put in has taken effect once, in order, and nothing else has.
inline void checkEffects(const main_job::Flow& flow) {
  CHECK(flow.comparison.putIn > 0);
  CHECK(flow.comparison.lost == 0);
  CHECK(flow.comparison.repeated == 0);
  CHECK(flow.comparison.reordered == 0);
  CHECK(flow.comparison.unexpected == 0);
  CHECK(flow.sender.failed == 0);
  CHECK(flow.receiver.received == flow.comparison.effects);
}

}  // namespace crash
