// Goal: processes that are stopped lose nothing and repeat nothing, and no other process takes their claims; when they
// go on, messages flow within the time that the file announces (P2 to P8, P13).
// Method: the two agents of the crash loop exchange frames and replies. A seeded loop stops them (SIGSTOP, SIGCONT),
// starves them of the processor, and gives them a disk on which each sync takes half a second, singly and together, and
// kills one now and then while the other is stopped. After each of these, a message must be acknowledged before the
// announced instant of the peer's next probe plus some seconds for the machine; at the end the effects are compared
// with the enqueued frames. ACKBOX_TEST_SCALE multiplies the hardships; from 10 on, agents are stopped for up to 10 s
// instead of 1 s.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "crash_world.hpp"
#include "hardships.hpp"
#include "support/scale.hpp"

namespace {

using std::chrono::milliseconds;

void suffer(crash::CrashWorld& world, const crash::Hardships& planned, milliseconds longest) {
  const crash::Suffered suffered = world.suffer(planned, longest);
  const crash::Outcome outcome = world.settle();
  MESSAGE("pauses " << suffered.pauses << ", starvations " << suffered.starvations << ", slow disks "
                    << suffered.slowDisks << ", SIGKILLs meanwhile " << suffered.kills
                    << "; longest wait for a message " << suffered.longestWait.count()
                    << " ms, beyond what was announced " << suffered.longestBeyond.count() << " ms; frames "
                    << outcome.frames.comparison.putIn << ", replies " << outcome.replies.comparison.putIn
                    << ", duplicates suppressed "
                    << outcome.frames.receiver.duplicates + outcome.replies.receiver.duplicates);
  CHECK(suffered.pauses == planned.pauses);
  crash::checkEffects(outcome.frames);
  crash::checkEffects(outcome.replies);
}

milliseconds longestPause() {
  return ackbox::testing::scaled(1) >= 10 ? milliseconds(10'000) : milliseconds(1'000);
}

}  // namespace

TEST_CASE("P3 P4 P5 P7 P13: agents that are stopped and starved, on slow disks, lose nothing and flow again (seed 5)") {
  crash::Hardships planned{ackbox::testing::scaled(10), ackbox::testing::scaled(2), ackbox::testing::scaled(2)};
  if (!crash::Starved::isAllowed()) {
    MESSAGE("NOT TRIED: this system does not let a process be starved (SCHED_IDLE and back)");
    planned.starvations = 0;
  }
  crash::CrashWorld world(ackbox::testing::chosenSeed(5), {}, {"--slow-disk"});
  suffer(world, planned, longestPause());
}

TEST_CASE("P3 P4 P5 P7 P13: agents on threads of their own that are stopped lose nothing and flow again (seed 6)") {
  crash::CrashWorld world(ackbox::testing::chosenSeed(6), {}, {"--own-threads"});
  suffer(world, {ackbox::testing::scaled(6), 0, 0}, longestPause());
}
