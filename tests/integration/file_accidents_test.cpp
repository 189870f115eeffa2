// Goal: whichever side's file is put back or lost, under backlog and load, no message is acknowledged without effect
// (P3, P4, P5). Method: two agents with real files on loopback and 21 sessions; each message that was enqueued after
// the accident is followed to what became of it. Further runs with ACKBOX_TEST_SCALE: 10 times as many are 20 of each.

#include <doctest/doctest.h>

#include "memory_world.hpp"
#include "support/scale.hpp"

namespace ackbox::testing::file_accidents_test {
namespace {

constexpr int kSessions = 21;

std::string sessionOf(int number) {
  return "s" + std::to_string(number);
}

Frame frameOf(const std::string& session, const std::string& data) {
  return {.peer = "bob", .session = session, .type = "say", .data = data, .id = session + "." + data};
}

// Messages `first` to `last` of every session, a session's in one commit with some of the others'.
void sayAll(Agent& alice, int first, int last) {
  for (int number = first; number <= last; ++number) {
    std::vector<Frame> frames;
    for (int session = 0; session < kSessions; ++session) {
      frames.push_back(frameOf(sessionOf(session), std::to_string(number)));
    }
    alice.manager->enqueueBatch(frames);
  }
}

}  // namespace

TEST_CASE("P3: a sender put back, with more new messages than were lost, has none acknowledged without effect") {
  for (std::uint64_t run = 0; run < scaled(2); ++run) {
    CAPTURE(run);
    TwoAgents agents;
    Agent& alice = agents.alice;
    Agent& bob = agents.bob;
    alice.options.peerHealth.probeDelays = {std::chrono::milliseconds(1)};
    // Batches of all sizes, and each shape of the first request.
    alice.options.batchFrames = run % 2 == 0 ? 256 : 7;
    alice.close();
    alice.start();
    sayAll(alice, 1, 20);
    alice.untilSettled();
    alice.backUp();
    sayAll(alice, 21, 30);
    alice.untilSettled();
    alice.goBack();
    alice.open();
    const std::set<std::string> before = alice.acked();
    sayAll(alice, 1021, 1060);
    // A session of which nothing was lost.
    alice.manager->enqueue(frameOf("new", "1"));
    alice.speak();
    until([&] { return !alice.resets().empty(); });
    // It is probed again and again, each time with one message of some session.
    until([&] { return alice.peer().failures > 3 * kSessions; });
    CHECK(alice.resets().size() == 1);
    std::set<std::string> acked = alice.acked();
    const Stats stats = alice.manager->getStats();
    alice.close();
    for (const std::string& id : before) {
      acked.erase(id);
    }
    for (int session = 0; session < kSessions; ++session) {
      CHECK(bob.effects(sessionOf(session)) == numbers(1, 30));
    }
    // The new session's is the only one that may have gone out, and then it took effect.
    CHECK(acked.size() == bob.effectCount("new"));
    CHECK(stats.pending + stats.sending == kSessions * 40 + 1 - acked.size());
    CHECK(stats.failed == 0);
  }
}

TEST_CASE(
    "P3 P4 P5: a receiver deleted, or put back, under load is sent all that it forgot, in order, before the rest") {
  for (std::uint64_t run = 0; run < 2 * scaled(1); ++run) {
    const bool isDeleted = run % 2 == 0;
    CAPTURE(run);
    TwoAgents agents;
    Agent& alice = agents.alice;
    Agent& bob = agents.bob;
    alice.options.peerReset = PeerResetPolicy::resend;
    alice.options.peerHealth.probeDelays = {std::chrono::milliseconds(1)};
    alice.close();
    alice.start();
    sayAll(alice, 1, 40);
    alice.untilSettled();
    bob.backUp();
    sayAll(alice, 41, 80);
    alice.untilSettled();
    // From here on it speaks without a pause, also while nobody is there.
    std::atomic<int> said = 80;
    std::atomic<bool> isOver = false;
    std::thread speaker([&] {
      while (!isOver || said < 140) {
        const int next = said + 1;
        sayAll(alice, next, next);
        said = next;
        std::this_thread::yield();
      }
    });
    until([&] { return said > 90; });
    bob.close();
    if (isDeleted) {
      bob.lose();
    } else {
      bob.restore();
    }
    until([&] { return said > 110; });
    bob.open();
    until([&] { return !alice.resets().empty(); });
    isOver = true;
    speaker.join();
    // Whatever session had nothing more to say.
    sayAll(alice, said + 1, said + 1);
    alice.untilSettled();
    for (int session = 0; session < kSessions; ++session) {
      CHECK(bob.effects(sessionOf(session)) == numbers(1, said + 1));
    }
    for (const PeerResetEvent& reset : alice.resets()) {
      CHECK(reset.kind == (isDeleted ? PeerResetKind::peerLost : PeerResetKind::peerRestored));
    }
    CHECK(alice.manager->getStats().failed == 0);
    CHECK(alice.findings().empty());
    CHECK(bob.findings().empty());
  }
}

}  // namespace ackbox::testing::file_accidents_test
