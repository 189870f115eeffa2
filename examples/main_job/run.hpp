#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "child.hpp"
#include "ledger.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace main_job {

struct RunSettings {
  std::vector<std::filesystem::path> inputs;
  /// SIGKILLs in total, half of them each.
  std::uint32_t kills = 24;
  /// Draws the ports, the victims and the instants.
  std::uint64_t seed = 0;
  /// The agent program.
  std::filesystem::path agent;
  /// Where databases and logs go; empty at first.
  std::filesystem::path directory;
};

/// Starts both agents, kills them over and over while they talk, waits until everything is delivered, and draws up the
/// account.
class Run {
public:
  /// Reads the inputs; malformed lines are told on standard error. Throws `std::runtime_error`.
  explicit Run(RunSettings settings);

  /// Throws `std::runtime_error` with a diagnosis when an agent fails, when nothing moves for a minute, or when
  /// `interrupt` was called.
  [[nodiscard]] Report carryOut();

  /// Makes `carryOut` throw soon. Safe in a signal handler.
  static void interrupt() noexcept;

private:
  /// How to start an agent, and the process that is its present life.
  struct Agent {
    std::string name;
    std::filesystem::path database;
    std::filesystem::path log;
    std::vector<std::string> arguments;
    std::optional<Child> process;
    std::uint64_t kills = 0;
  };

  void readInputs();
  void prepareAgents();
  void start(Agent& agent);
  void killOften();
  void pause(std::chrono::steady_clock::time_point until);
  void watch();
  void awaitEffects();
  void awaitDrained();
  void endGracefully(Agent& agent);
  [[nodiscard]] Report account() const;

  const RunSettings settings_;
  const std::chrono::steady_clock::time_point begunAt_ = std::chrono::steady_clock::now();
  std::mt19937_64 random_;
  std::vector<Entry> putIn_;
  std::vector<Entry> expectedReplies_;
  std::uint64_t malformed_ = 0;
  Agent alice_;
  Agent bob_;
  Progress progress_;
  std::uint64_t moved_ = 0;
  std::chrono::steady_clock::time_point movedAt_ = begunAt_;
};

}  // namespace main_job
