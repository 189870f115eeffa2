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
  explicit Conversation(PeerResetPolicy policy) {
    alice.close();
    alice.options.peerReset = policy;
    alice.open();
    alice.speak();
    alice.count("s", 1, 3);
    alice.count("t", 1, 1);
    alice.count("", 1, 1);
    alice.untilSettled();
    bob.backUp();
    alice.count("s", 4, 6);
    alice.count("t", 2, 2);
    alice.count("", 2, 2);
    alice.untilSettled();
    REQUIRE(bob.heard("s") == "1 2 3 4 5 6");
    REQUIRE(alice.resets().empty());
    storeBefore = bob.manager->origin();
    bob.close();
  }
  void goOn() {
    bob.open();
    alice.count("s", 7, 7);
    until([&] { return bob.heard("s").ends_with("7"); });
    alice.untilSettled();
    CHECK(alice.findings().empty());
    CHECK(bob.findings().empty());
    CHECK(alice.manager->getStats().failed == 0);
  }

  std::string storeBefore;
};

}  // namespace

TEST_CASE("P3 P4 P5: a receiver's lost database is noticed, and sessions go on from nothing") {
  Conversation conversation(PeerResetPolicy::proceed);
  Agent& bob = conversation.bob;
  Agent& alice = conversation.alice;
  bob.lose();
  conversation.goOn();
  // Took effect again: nothing. What the new database never saw is a gap that it sees.
  CHECK(bob.heard("s") == "7");
  CHECK(bob.heard("t").empty());
  CHECK(bob.heard("").empty());
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:1-6"});
  until([&] { return alice.acks() == 11; });
  const auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerLost);
  CHECK(resets[0].peer == "bob");
  CHECK(resets[0].storeBefore == conversation.storeBefore);
  CHECK(resets[0].store == bob.manager->origin());
  CHECK(resets[0].resent == 0);
  CHECK(alice.peer().resets == 1);
  CHECK(alice.peer().resent == 0);
  CHECK(alice.peer().lastResetAt);
  CHECK(alice.peer().store == bob.manager->origin());
  // Told once for all sessions, also for those that speak later.
  alice.count("t", 3, 3);
  alice.untilSettled();
  CHECK(bob.heard("t") == "3");
  CHECK(alice.resets(1).size() == 1);
}

TEST_CASE("P3 P4 P5: a receiver's lost database is filled again with what is kept, in order, idle sessions as well") {
  Conversation conversation(PeerResetPolicy::resend);
  Agent& bob = conversation.bob;
  Agent& alice = conversation.alice;
  bob.lose();
  conversation.goOn();
  CHECK(bob.heard("s") == "1 2 3 4 5 6 7");
  CHECK(bob.heard("t") == "1 2");
  until([&] { return bob.heard("").size() == 3; });
  CHECK(bob.gaps().empty());
  CHECK(bob.manager->getStats().duplicates == 0);
  until([&] { return alice.acks() == 10 + 11; });
  const auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerLost);
  CHECK(resets[0].resent == 10);
  CHECK(alice.peer().resent == 10);
}

TEST_CASE("P3 P4 P5: a receiver put back to a backup is noticed, and sessions go on from what it has") {
  Conversation conversation(PeerResetPolicy::proceed);
  Agent& bob = conversation.bob;
  Agent& alice = conversation.alice;
  bob.restore();
  conversation.goOn();
  CHECK(bob.heard("s") == "1 2 3 7");
  CHECK(bob.heard("t") == "1");
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:4-6"});
  auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerRestored);
  CHECK(resets[0].session == "s");
  CHECK(resets[0].expected == 6);
  CHECK(resets[0].accepted == 3);
  CHECK(resets[0].resent == 0);
  // The other session is found when it speaks, and then said as well.
  alice.count("t", 3, 3);
  alice.untilSettled();
  CHECK(bob.heard("t") == "1 3");
  resets = alice.resets(2);
  REQUIRE(resets.size() == 2);
  CHECK(resets[1].session == "t");
  CHECK(alice.peer().resets == 2);
}

TEST_CASE("P3 P4 P5: a receiver put back to a backup is sent again what it forgot, idle sessions as well") {
  Conversation conversation(PeerResetPolicy::resend);
  Agent& bob = conversation.bob;
  Agent& alice = conversation.alice;
  bob.restore();
  conversation.goOn();
  CHECK(bob.heard("s") == "1 2 3 4 5 6 7");
  CHECK(bob.heard("t") == "1 2");
  CHECK(bob.heard("").size() == 3);
  CHECK(bob.gaps().empty());
  // What it still knew came as duplicates: nothing took effect twice.
  CHECK(bob.manager->getStats().duplicates == 5);
  const auto resets = alice.resets(1);
  REQUIRE(resets.size() == 1);
  CHECK(resets[0].kind == PeerResetKind::peerRestored);
  CHECK(resets[0].accepted == 3);
  CHECK(resets[0].resent == 10);
  // All that is kept went out for this backup: a session that speaks later finds nothing missing.
  alice.count("t", 3, 3);
  alice.untilSettled();
  CHECK(bob.heard("t") == "1 2 3");
  CHECK(alice.resets(1).size() == 1);
}

TEST_CASE("P3 P4: what is not kept any more is not sent again, and stalls nothing") {
  Conversation conversation(PeerResetPolicy::resend);
  Agent& bob = conversation.bob;
  Agent& alice = conversation.alice;
  OutboxOperator(*alice.manager).cleanupDone(std::chrono::milliseconds(0));
  bob.lose();
  conversation.goOn();
  CHECK(bob.heard("s") == "7");
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:1-6"});
  REQUIRE(alice.resets(1).size() == 1);
  CHECK(alice.resets()[0].resent == 0);
}

TEST_CASE("P4 P7: what was put back for a forgetful receiver goes first, also through a sender that dies meanwhile") {
  Conversation conversation(PeerResetPolicy::resend);
  Agent& bob = conversation.bob;
  Agent& alice = conversation.alice;
  bob.lose();
  bob.open();
  alice.count("s", 7, 7);
  until([&] { return !alice.resets().empty(); });
  alice.close();
  alice.open();
  alice.speak();
  alice.count("s", 8, 8);
  alice.untilSettled();
  CHECK(bob.heard("s") == "1 2 3 4 5 6 7 8");
  CHECK(bob.heard("t") == "1 2");
  CHECK(alice.resets(1).size() == 1);
  CHECK(alice.findings().empty());
}

TEST_CASE("P4: what a receiver had deferred and forgot goes again before what follows it") {
  TwoAgents agents;
  Agent& alice = agents.alice;
  Agent& bob = agents.bob;
  alice.count("s", 1, 1);
  alice.untilSettled();
  bob.defers = true;
  alice.count("s", 2, 2);
  until([&] { return alice.manager->getStats().sent == 1; });
  bob.close();
  bob.lose();
  bob.defers = false;
  bob.open();
  // Its own deadline is a minute away.
  alice.count("s", 3, 3);
  alice.untilSettled();
  CHECK(bob.heard("s") == "2 3");
  REQUIRE(alice.resets(1).size() == 1);
  // A second loss is another one.
  bob.close();
  bob.lose();
  bob.open();
  alice.count("s", 4, 4);
  alice.untilSettled();
  CHECK(bob.heard("s") == "4");
  CHECK(alice.resets(2).size() == 2);
  CHECK(alice.peer().resets == 2);
}

TEST_CASE("P3 P4 P5: a sender put back and made a new store is held by nobody, and its new messages take effect") {
  TwoAgents agents;
  Agent& alice = agents.alice;
  Agent& bob = agents.bob;
  alice.count("s", 1, 3);
  alice.untilSettled();
  alice.backUp();
  alice.count("s", 4, 6);
  alice.untilSettled();
  alice.close();
  alice.restore();
  OutboxOperator::makeNewStore(agents.dir.file("alice.db"));
  alice.open();
  // As many as were lost: under the old identity Bob would take them for those.
  alice.count("s", 7, 9);
  alice.speak();
  alice.untilSettled();
  CHECK(bob.heard("s") == "1 2 3 4 5 6 7 8 9");
  CHECK(alice.resets().empty());
  CHECK(bob.gaps().empty());
  CHECK(alice.findings().empty());
  CHECK(bob.findings().empty());
}

TEST_CASE("P3 P4 P5: a receiver put back and made a new store still knows its senders' messages") {
  TwoAgents agents;
  Agent& alice = agents.alice;
  Agent& bob = agents.bob;
  alice.count("s", 1, 3);
  alice.untilSettled();
  bob.backUp();
  alice.count("s", 4, 6);
  alice.untilSettled();
  bob.close();
  bob.restore();
  OutboxOperator::makeNewStore(agents.dir.file("bob.db"));
  bob.open();
  alice.count("s", 7, 7);
  until([&] { return bob.heard("s").ends_with("7"); });
  alice.untilSettled();
  CHECK(bob.heard("s") == "1 2 3 7");
  CHECK(bob.gaps(1) == std::vector<std::string>{"s:4-6"});
  CHECK(alice.resets(1).size() == 1);
  CHECK(alice.findings().empty());
  CHECK(bob.findings().empty());
}

}  // namespace ackbox::testing::peer_reset_test
