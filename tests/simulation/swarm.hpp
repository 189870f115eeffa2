#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ackbox/options.hpp"
#include "ackbox/testing/network.hpp"

namespace ackbox {
class Random;
}

namespace ackbox::simulation {

/// What one seed's world is made of: each run draws which faults it has at all and how strong they are, because a world
/// with every fault at once hides what only a few together show.
struct Swarm {
  std::uint32_t agents = 2;
  std::uint32_t sessions = 1;
  /// A second process on the first agent's file.
  bool shared = false;
  testing::NetworkFaults network;
  /// Mean true time between two of each; 0: none.
  std::chrono::milliseconds kills{0};
  std::chrono::milliseconds partitions{0};
  std::chrono::milliseconds clockFaults{0};
  std::chrono::milliseconds operators{0};
  /// Of each call of a handler.
  double notNow = 0;
  double thrown = 0;
  double rejected = 0;
  double suicide = 0;
  double replies = 0;
  /// Of the outboxes.
  OutboxOptions outbox;

  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] Swarm drawSwarm(Random& random);

/// Uniform in [0, 1).
[[nodiscard]] double drawUnit(Random& random);
[[nodiscard]] bool drawChance(Random& random, double probability);
/// Uniform in [0, count).
[[nodiscard]] std::uint64_t drawBelow(Random& random, std::uint64_t count);

}  // namespace ackbox::simulation
