// Goal: a receiver that has lost its database, or was put back to a backup of it, is noticed by the sender, said, and
// by policy caught up or gone on with; nothing stalls, and order and effects stay right (P3, P4, P5).
// Method: two agents with real files on loopback; the receiver's file is deleted, or replaced by an earlier copy, while
// it is closed. Each policy's outcome is written out.

#include <doctest/doctest.h>

#include "ackbox/outbox_operator.hpp"
#include "memory_world.hpp"

namespace ackbox::testing::peer_reset_test {
namespace {

// s: three messages before the backup and three after it; t and unordered: one and one.
struct Conversation : TwoAgents {
  void begin(PeerResetPolicy policy) {
    alice.close();
    alice.options.peerReset = policy;
    alice.start();
    alice.count("s", 1, 3);
    alice.count("t", 1, 1);
    alice.settle("", 1, 1);
    bob.backUp();
    alice.count("s", 4, 6);
    alice.count("t", 2, 2);
    alice.settle("", 2, 2);
    REQUIRE(bob.effects("s") == "1 2 3 4 5 6");
    REQUIRE(alice.resets().empty());
    storeBefore = bob.manager->origin();
    bob.close();
  }
  void goOn() {
    bob.open();
    alice.count("s", 7, 7);
    until([&] { return bob.effects("s").ends_with("7"); });
    alice.untilSettled();
    CHECK(alice.findings().empty());
    CHECK(bob.findings().empty());
    CHECK(alice.manager->getStats().failed == 0);
  }

  std::string storeBefore;
};

}  // namespace

TEST_CASE_FIXTURE(Conversation, "P3 P4 P5: a receiver's lost database is noticed, and sessions go on from nothing") {
  begin(PeerResetPolicy::proceed);
  bob.lose();
  goOn();
  // Took effect again: nothing. What the new database never saw is a gap that it sees.
  CHECK(bob.effects("s") == "7");
  CHECK(bob.effects("t").empty());
  CHECK(bob.effects("").empty());
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:1-6"});
  until([&] { return alice.acks() == 11; });
  const auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerLost);
  CHECK(resets[0].peer == "bob");
  CHECK(resets[0].storeBefore == storeBefore);
  CHECK(resets[0].store == bob.manager->origin());
  CHECK(resets[0].resent == 0);
  CHECK(alice.peer().resets == 1);
  CHECK(alice.peer().resent == 0);
  CHECK(alice.peer().lastResetAt);
  CHECK(alice.peer().store == bob.manager->origin());
  // Told once for all sessions, also for those that speak later.
  alice.settle("t", 3, 3);
  CHECK(bob.effects("t") == "3");
  CHECK(alice.resets(1).size() == 1);
}

TEST_CASE_FIXTURE(
    Conversation,
    "P3 P4 P5: a receiver's lost database is filled again with what is kept, in order, idle sessions as well") {
  begin(PeerResetPolicy::resend);
  bob.lose();
  goOn();
  CHECK(bob.effects("s") == "1 2 3 4 5 6 7");
  CHECK(bob.effects("t") == "1 2");
  until([&] { return bob.effectCount("") == 2; });
  CHECK(bob.gaps().empty());
  CHECK(bob.manager->getStats().duplicates == 0);
  until([&] { return alice.acks() == 10 + 11; });
  const auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerLost);
  CHECK(resets[0].resent == 10);
  CHECK(alice.peer().resent == 10);
}

TEST_CASE_FIXTURE(Conversation,
                  "P3 P4 P5: a receiver put back to a backup is noticed, and sessions go on from what it has") {
  begin(PeerResetPolicy::proceed);
  bob.restore();
  goOn();
  CHECK(bob.effects("s") == "1 2 3 7");
  CHECK(bob.effects("t") == "1");
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:4-6"});
  auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerRestored);
  CHECK(resets[0].session == "s");
  CHECK(resets[0].expected == 6);
  CHECK(resets[0].accepted == 3);
  CHECK(resets[0].resent == 0);
  // The other session is found when it speaks, and then said as well.
  alice.settle("t", 3, 3);
  CHECK(bob.effects("t") == "1 3");
  resets = alice.resets(2);
  REQUIRE(resets.size() == 2);
  CHECK(resets[1].session == "t");
  CHECK(alice.peer().resets == 2);
}

TEST_CASE_FIXTURE(Conversation,
                  "P3 P4 P5: a receiver put back to a backup is sent again what it forgot, idle sessions as well") {
  begin(PeerResetPolicy::resend);
  bob.restore();
  goOn();
  CHECK(bob.effects("s") == "1 2 3 4 5 6 7");
  CHECK(bob.effects("t") == "1 2");
  CHECK(bob.effectCount("") == 2);
  CHECK(bob.gaps().empty());
  // What it still knew came as duplicates: nothing took effect twice.
  CHECK(bob.manager->getStats().duplicates == 5);
  const auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerRestored);
  CHECK(resets[0].accepted == 3);
  CHECK(resets[0].resent == 10);
  // All that is kept went out for this backup: a session that speaks later finds nothing missing.
  alice.settle("t", 3, 3);
  CHECK(bob.effects("t") == "1 2 3");
  CHECK(alice.resets(1).size() == 1);
}

TEST_CASE_FIXTURE(Conversation, "P3 P4: what is not kept any more is not sent again, and stalls nothing") {
  begin(PeerResetPolicy::resend);
  OutboxOperator(*alice.manager).cleanupDone(std::chrono::milliseconds(0));
  bob.lose();
  goOn();
  CHECK(bob.effects("s") == "7");
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:1-6"});
  REQUIRE(alice.resets(1).size() == 1);
  CHECK(alice.resets()[0].resent == 0);
}

TEST_CASE_FIXTURE(
    Conversation,
    "P4 P7: what was put back for a forgetful receiver goes first, also through a sender that dies meanwhile") {
  begin(PeerResetPolicy::resend);
  bob.lose();
  bob.open();
  alice.count("s", 7, 7);
  until([&] { return !alice.resets().empty(); });
  alice.close();
  alice.start();
  alice.settle("s", 8, 8);
  CHECK(bob.effects("s") == "1 2 3 4 5 6 7 8");
  CHECK(bob.effects("t") == "1 2");
  CHECK(alice.resets(1).size() == 1);
  CHECK(alice.findings().empty());
}

TEST_CASE_FIXTURE(TwoAgents, "P4: what a receiver had deferred and forgot goes again before what follows it") {
  alice.settle("s", 1, 1);
  bob.defers = true;
  alice.count("s", 2, 2);
  until([&] { return alice.manager->getStats().sent == 1; });
  bob.close();
  bob.lose();
  bob.defers = false;
  bob.open();
  // Its own deadline is a minute away.
  alice.settle("s", 3, 3);
  CHECK(bob.effects("s") == "2 3");
  REQUIRE(alice.resets(1).size() == 1);
  // A second loss is another one.
  bob.close();
  bob.lose();
  bob.open();
  alice.settle("s", 4, 4);
  CHECK(bob.effects("s") == "4");
  CHECK(alice.resets(2).size() == 2);
  CHECK(alice.peer().resets == 2);
}

TEST_CASE_FIXTURE(
    TwoAgents, "P3 P4 P5: a sender put back and made a new store is held by nobody, and its new messages take effect") {
  alice.settle("s", 1, 3);
  alice.backUp();
  alice.settle("s", 4, 6);
  alice.goBack();
  OutboxOperator::makeNewStore(dir.file("alice.db"));
  alice.open();
  // As many as were lost: under the old identity Bob would take them for those.
  alice.count("s", 7, 9);
  alice.speak();
  alice.untilSettled();
  CHECK(bob.effects("s") == "1 2 3 4 5 6 7 8 9");
  CHECK(alice.resets().empty());
  CHECK(bob.gaps().empty());
  CHECK(alice.findings().empty());
  CHECK(bob.findings().empty());
}

TEST_CASE_FIXTURE(TwoAgents, "P3 P4 P5: a receiver put back and made a new store still knows its senders' messages") {
  alice.settle("s", 1, 3);
  bob.backUp();
  alice.settle("s", 4, 6);
  bob.goBack();
  OutboxOperator::makeNewStore(dir.file("bob.db"));
  bob.open();
  alice.count("s", 7, 7);
  until([&] { return bob.effects("s").ends_with("7"); });
  alice.untilSettled();
  CHECK(bob.effects("s") == "1 2 3 7");
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:4-6"});
  CHECK(alice.resets(1).size() == 1);
  CHECK(alice.findings().empty());
  CHECK(bob.findings().empty());
}

}  // namespace ackbox::testing::peer_reset_test
