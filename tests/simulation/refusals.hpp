#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ackbox::simulation {

/// A peer that refuses: some messages, always, by their names; or all of them, half of the time.
struct RefusalWorld {
  std::uint64_t seed = 1;
  int status = 404;
  /// Of the messages; 100: all. Without a meaning where `byTime`.
  std::uint32_t percent = 10;
  bool byTime = false;
  bool isWebhook = false;
  bool inSessions = false;
  /// All messages at once; otherwise one a second.
  bool atOnce = false;
  std::uint32_t messages = 60;
  /// Prints what happened.
  bool isTraced = false;

  [[nodiscard]] std::string describe() const;
};

struct RefusalReport {
  /// Broken promises; empty in a sound world.
  std::vector<std::string> violations;
  /// Of a message that the peer would have taken and that was its session's next: how long, and for how many refused
  /// requests, it waited at most.
  std::chrono::milliseconds longestWait{0};
  std::uint32_t mostRefusals = 0;
  std::uint32_t requests = 0;
  std::uint32_t deadLetters = 0;
};

/// One world, judged.
[[nodiscard]] RefusalReport runRefusals(const RefusalWorld& world);

/// One for each status from 400 to 451, share, profile and layout, of which every `step`th, and a table of them; or
/// only the one of seed `only`, with all that happened in it. Returns how many broke a promise.
std::uint64_t runRefusalWorlds(std::uint64_t base, std::uint64_t step, std::uint64_t only = 0);

}  // namespace ackbox::simulation
