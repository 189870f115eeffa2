// Goal: a sender whose file was put back to a backup, or is a copy of one in use, reuses numbers for other messages. It
// is noticed however often either file was opened, before any message is taken for a duplicate of another; it is said
// on both sides; and a sender that only forgot (a power cut) is not suspected. P3: nothing is acknowledged that took no
// effect.
// Method: two agents with real files on loopback; the sender's file is replaced by an earlier copy while it is closed.

#include <doctest/doctest.h>

#include <atomic>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "memory_world.hpp"

namespace ackbox::testing::restored_sender_test {
namespace {

// What is to be seen wherever the sender went back: `id` waits, the peer is held, and says why.
void checkHeld(Agent& alice, const std::string& id) {
  until(
      [&] { return OutboxReader(*alice.manager).peers().front().state == PeerState::held && !alice.resets().empty(); });
  const PeerResetEvent event = alice.resets().back();
  CHECK(event.kind == PeerResetKind::selfRestored);
  CHECK(event.peer == "bob");
  // While it is probed with, it says that it is being sent.
  until([&] {
    const auto explanation = alice.manager->explain(id);
    return explanation && std::any_of(explanation->reasons.begin(), explanation->reasons.end(), [](const Reason& one) {
             return one.blockReason == BlockReason::peerHeld && one.detail.find("stale-epoch") != std::string::npos;
           });
  });
  CHECK(alice.peer().down);
  CHECK(alice.peer().lastError.find("stale-epoch") != std::string::npos);
  CHECK(alice.acks(id) == 0);
  CHECK(alice.manager->getStats().failed == 0);
  // Reported once, however often the peer is asked again.
  const auto failures = alice.peer().failures;
  until([&] { return alice.peer().failures > failures + 2; });
  CHECK(alice.resets().size() == 1);
  CHECK(alice.findings().empty());
}

}  // namespace

TEST_CASE_FIXTURE(TwoAgents, "P3: a sender's file with an older epoch is refused, and both sides say so") {
  alice.settle("s", 1, 3);
  alice.backUp();
  for (int life = 0; life < 3; ++life) {
    alice.close();
    alice.open();
  }
  alice.speak();
  alice.settle("s", 4, 6);
  alice.goBack();
  alice.start();
  const std::string inOld = alice.say("s", "40");
  checkHeld(alice, inOld);
  // Refused by its epoch, whatever the session: a new one is no better.
  const std::string inNew = alice.say("u", "1");
  until([&] { return bob.manager->getStats().staleEpochs > 0; });
  CHECK(bob.effects("s") == "1 2 3 4 5 6");
  CHECK(bob.effects("u").empty());
  CHECK(alice.acks(inNew) == 0);
}

TEST_CASE_FIXTURE(
    TwoAgents,
    "P3: a backup made while the sender ran is recognised by what it does not know, though its epoch is newer") {
  alice.settle("s", 1, 3);
  alice.backUp();
  alice.settle("s", 4, 6);
  alice.goBack();
  alice.start();
  // Its number is 4, which is another message's at the peer, and 3 the last that the peer is known to have.
  const std::string id = alice.say("s", "40");
  checkHeld(alice, id);
  CHECK(alice.resets().back().session == "s");
  CHECK(alice.resets().back().expected == 3);
  CHECK(alice.resets().back().accepted == 6);
  CHECK(bob.effects("s") == "1 2 3 4 5 6");
}

TEST_CASE_FIXTURE(
    TwoAgents, "P3: a copy that was opened as often as the original is recognised by the number that both have used") {
  alice.settle("s", 1, 3);
  alice.close();
  alice.backUp();
  // Both are opened once from here on, and each says three things of its own.
  alice.start();
  alice.settle("s", 4, 6);
  alice.goBack();
  alice.start();
  alice.count("s", 40, 41);
  const std::string sixth = alice.say("s", "42");
  checkHeld(alice, sixth);
  CHECK(bob.effects("s") == "1 2 3 4 5 6");
}

TEST_CASE_FIXTURE(TwoAgents,
                  "P3: a copy with a backlog beyond one request is recognised before any of it counts as delivered") {
  alice.settle("s", 1, 3);
  alice.backUp();
  alice.settle("s", 4, 250);
  alice.goBack();
  alice.open();
  // The peer has accepted 250, which is a number of this file by now, too, but beyond the first request.
  alice.count("s", 1004, 1300);
  const std::string id = alice.say("s", "1301");
  const std::size_t acked = alice.acks();
  alice.speak();
  checkHeld(alice, id);
  CHECK(alice.acks() == acked);
  // It may be probed with one of them.
  const Stats stats = alice.manager->getStats();
  CHECK(stats.pending + stats.sending == 298);
  CHECK(bob.manager->getStats().received == 250);
}

TEST_CASE_FIXTURE(TwoAgents, "P3: a sender that only forgot what it had sent goes on") {
  alice.settle("s", 1, 3);
  alice.close();
  alice.open();
  // As after a power cut, which takes back claims and settles but no enqueue: the copy knows all messages, and of none
  // that it was sent.
  alice.count("s", 4, 250);
  alice.backUp();
  alice.speak();
  alice.untilSettled();
  alice.goBack();
  alice.start();
  alice.untilSettled();
  CHECK(alice.resets().empty());
  CHECK(OutboxReader(*alice.manager).peers().front().state == PeerState::up);
  CHECK(bob.manager->getStats().received == 250);
  CHECK(bob.manager->getStats().duplicates >= 247);
  alice.settle("s", 251, 251);
  CHECK(bob.effects("s").ends_with("250 251"));
  CHECK(bob.manager->getStats().staleEpochs == 0);
}

TEST_CASE_FIXTURE(TwoAgents, "P3: a held sender is let go on by its true file") {
  alice.settle("s", 1, 3);
  alice.backUp();
  alice.settle("s", 4, 6);
  alice.close();
  // Swapped: the copy speaks, is held, and the original comes back.
  const auto file = dir.file("alice.db");
  const auto original = dir.file("original.db");
  std::filesystem::copy_file(file, original);
  alice.restore();
  alice.start();
  checkHeld(alice, alice.say("s", "40"));
  alice.close();
  alice.lose();
  std::filesystem::copy_file(original, file);
  // The copy was opened once, and so is the original now: their epochs are the same.
  alice.start();
  alice.settle("s", 7, 7);
  CHECK(bob.effects("s") == "1 2 3 4 5 6 7");
}

TEST_CASE_FIXTURE(
    TwoAgents, "row 3: processes that open and close a shared file while others send are not taken for copies of it") {
  OutboxManager second = OutboxManager::open(dir.file("alice.db"), alice.options);
  std::atomic<int> resets = 0;
  const Subscription subscription = second.onPeerReset([&](const PeerResetEvent&) { ++resets; });
  second.setSender(std::make_shared<HttpSender>());
  second.start();
  constexpr int kOpens = 30;
  constexpr int kSessions = 8;
  for (int open = 1; open <= kOpens; ++open) {
    // Each counts the epoch up, under the requests that are on their way.
    for (int session = 0; session < kSessions; ++session) {
      alice.count("s" + std::to_string(session), open, open);
    }
    const OutboxManager third = OutboxManager::open(dir.file("alice.db"), alice.options);
  }
  alice.untilSettled();
  second.stop();
  CHECK(bob.manager->getStats().received == kOpens * kSessions);
  CHECK(alice.manager->getStats().failed == 0);
  CHECK(alice.resets().empty());
  CHECK(resets == 0);
  CHECK(OutboxReader(*alice.manager).peers().front().state == PeerState::up);
}

}  // namespace ackbox::testing::restored_sender_test
