// Goal: the promises hold for real processes that are killed with SIGKILL at any instant. Method: two agents exchange
// frames and replies without a pause, signed and over mutual TLS; a seeded loop kills them singly, together, and again
// while they recover; then the table of effects, which has no UNIQUE constraint, is compared with the enqueued frames.
// The same comparison must notice the classic defect, added by hand. ACKBOX_TEST_SCALE multiplies the kills.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "crash_world.hpp"
#include "support/scale.hpp"

namespace {

using ackbox::testing::scaled;

constexpr std::chrono::milliseconds kLongest(60);

std::string described(std::uint64_t seed, const crash::Outcome& outcome) {
  return "seed " + std::to_string(seed) + ": SIGKILLs " + std::to_string(outcome.killsOfAlice + outcome.killsOfBob) +
         " (alice " + std::to_string(outcome.killsOfAlice) + ", bob " + std::to_string(outcome.killsOfBob) +
         "), frames " + std::to_string(outcome.frames.comparison.putIn) + ", replies " +
         std::to_string(outcome.replies.comparison.putIn) + ", duplicates suppressed " +
         std::to_string(outcome.frames.receiver.duplicates + outcome.replies.receiver.duplicates);
}

void checkFlow(const main_job::Flow& flow) {
  crash::checkEffects(flow);
  CHECK(flow.sender.enqueued == flow.comparison.putIn);
  CHECK(flow.sender.acked == flow.comparison.putIn);
  CHECK(flow.balances());
}

void killAndCompare(std::uint64_t seed, std::uint64_t kills = 70, std::chrono::milliseconds longest = kLongest,
                    const std::vector<std::string>& extra = {}) {
  MESSAGE("seed " << seed);
  crash::CrashWorld world(seed, {}, extra);
  world.killAbout(scaled(kills), longest);
  const crash::Outcome outcome = world.settle();
  MESSAGE(described(seed, outcome));
  CHECK(outcome.killsOfAlice + outcome.killsOfBob >= scaled(kills));
  checkFlow(outcome.frames);
  checkFlow(outcome.replies);
}

}  // namespace

TEST_CASE("P2 P3 P4 P5 P6: kills lose, repeat and reorder nothing (seed 1; in the long form two more)") {
  killAndCompare(1);
  if (ackbox::testing::isLongForm()) {
    killAndCompare(20240229);
    killAndCompare(987654321);
  }
}

// The library's default: no executor, and commits on the thread that has the work. Fewer frames fit in one life.
TEST_CASE("P2 P3 P4 P5 P6: kills of agents on threads of their own, fed one frame at a time, lose nothing (seed 7)") {
  killAndCompare(7, 40, 5 * kLongest, {"--own-threads"});
}

// Their outboxes also count ACK events.
TEST_CASE("P2 P3 P4 P5 P6: kills of agents that defer frames, half of them to a pool, lose nothing (seed 11)") {
  crash::CrashWorld world(11, {}, {"--defer"});
  world.killAbout(scaled(40));
  const crash::Outcome outcome = world.settle();
  MESSAGE(described(11, outcome));
  CHECK(outcome.frames.receiver.deferred > 0);
  crash::checkEffects(outcome.frames);
  crash::checkEffects(outcome.replies);
}

TEST_CASE("P5: the oracle finds the frames that are lost when the mark is committed before the effect") {
  constexpr std::uint64_t kSeed = 4;
  MESSAGE("seed " << kSeed);
  std::uint64_t lost = 0;
  // Lives long enough that frames are on their way when they end: few kills then meet the instant between the mark and
  // the effect.
  for (std::uint64_t kills = 5; kills <= 160 && lost == 0; kills *= 2) {
    crash::CrashWorld world(kSeed, {"--defect", "mark-before-effect"});
    world.killAbout(kills, 5 * kLongest);
    const crash::Outcome outcome = world.settle();
    lost = outcome.frames.comparison.lost;
    MESSAGE(described(kSeed, outcome) << ", lost " << lost);
    CHECK(outcome.frames.comparison.repeated == 0);
  }
  CHECK_MESSAGE(lost > 0,
                "frames were acknowledged before their effects, the agents were killed, and nothing was lost");
}
