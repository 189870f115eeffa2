#pragma once

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

/// What is left when the killing is over and everything was delivered.
struct Outcome {
  std::uint64_t killsOfAlice = 0;
  std::uint64_t killsOfBob = 0;
  main_job::Flow frames;
  main_job::Flow replies;
};

/// Two agents on two files, and somebody who kills them.
///
/// Everything throws `std::runtime_error` when an agent ends by itself, does not come up, or ends with an error.
class CrashWorld {
public:
  /// `bobExtra` is added to bob's arguments, `extra` to those of both.
  explicit CrashWorld(std::uint64_t seed, const std::vector<std::string>& bobExtra = {},
                      const std::vector<std::string>& extra = {});

  /// Kills agents at random instants, within `longest` of their being ready, singly and together, while frames flow
  /// both ways. A few die again while they are still recovering.
  void killAbout(std::uint64_t kills, std::chrono::milliseconds longest = std::chrono::milliseconds(60));

  /// Lets the agents deliver all that is there, ends them, and compares.
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
  void awaitDrained(Agent& agent);
  void end(Agent& agent);

  std::mt19937_64 random_;
  ackbox::testing::TempDir directory_;
  Agent alice_;
  Agent bob_;
};

}  // namespace crash
