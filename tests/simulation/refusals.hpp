#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ackbox::simulation {

/// A peer that refuses: either some messages, always, by their names; or all messages, half of the time.
struct RefusalWorld {
  std::uint64_t seed = 1;
  int status = 404;
  /// The share of refused messages; 100: all. Not used with `byTime`.
  std::uint32_t percent = 10;
  bool byTime = false;
  bool isWebhook = false;
  bool inSessions = false;
  /// Enqueues all messages at once; otherwise one each second.
  bool atOnce = false;
  std::uint32_t messages = 60;
  /// Prints the events.
  bool isTraced = false;

  [[nodiscard]] std::string describe() const;
};

struct RefusalReport {
  /// Broken promises; empty in a sound world.
  std::vector<std::string> violations;
  /// For a message that the peer would have accepted and that was its session's next: the longest wait, and the most
  /// refused requests during a wait.
  std::chrono::milliseconds longestWait{0};
  std::uint32_t mostRefusals = 0;
  std::uint32_t requests = 0;
  std::uint32_t deadLetters = 0;
};

/// Runs and judges one world.
[[nodiscard]] RefusalReport runRefusals(const RefusalWorld& world);

/// Runs a world for every `step`th combination of status from 400 to 451, share, profile and layout, and prints a
/// table; or runs only the world of seed `only`, and prints its events. Returns how many broke a promise.
std::uint64_t runRefusalWorlds(std::uint64_t base, std::uint64_t step, std::uint64_t only = 0);

}  // namespace ackbox::simulation
