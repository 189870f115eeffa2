#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/situations.hpp"

namespace ackbox::simulation {

struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint64_t messages = 500;
  bool canary = false;
  /// Files are restored or lost.
  bool accidents = false;
  /// Prints the events of the world.
  bool verbose = false;
};

struct WorldReport {
  std::string swarm;
  /// Broken promises; empty in a sound world.
  std::vector<std::string> violations;
  std::uint64_t messages = 0;
  std::uint64_t effects = 0;
  std::uint64_t deadLetters = 0;
  std::uint64_t kills = 0;
  std::uint64_t accidents = 0;
  std::uint64_t requests = 0;
  std::uint64_t steps = 0;
  std::uint64_t diskFaults = 0;
  /// Commits in their callers' calls; queued commits; and those queued ones that several jobs shared.
  std::uint64_t inlineCommits = 0;
  std::uint64_t queuedCommits = 0;
  std::uint64_t sharedCommits = 0;
  Situations seen;
  /// How long the world lived, in its own time.
  double seconds = 0;
  /// A digest of all effects, their places and their order: equal for equal seeds.
  std::uint64_t digest = 0;
};

/// Runs one world: a phase with faults, then everything heals, then all messages that can be delivered must be, and
/// finally every store is compared with the ledger of the world.
[[nodiscard]] WorldReport runWorld(const WorldOptions& options);

}  // namespace ackbox::simulation
