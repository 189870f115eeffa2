// Goal: what a reader says of queues, sessions and peers is what is stored, at any instant and after a restart.
// Method: a handle and its reader; time by hand.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "store_conformance/world.hpp"

namespace figures_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("P10: row 24: the time from enqueue to ACK and the last ACK are told, and survive a restart") {
  World world;
  {
    const auto store = world.open();
    CHECK_FALSE(world.stats().lastAckedAt);
    CHECK(world.stats().enqueueToAck.count == 0);
    for (const int wait : {10, 10, 10, 10, 10, 10, 10, 10, 10, 1'000}) {
      enqueueOne(*store, frameOf("s"));
      world.clock->advance(milliseconds(wait));
      settleAll(*store, Transition::ack);
    }
    enqueueOne(*store, frameOf("s"));
    settleAll(*store, Transition::fail);
  }
  const WallTime last = world.clock->wallNow();
  world.clock->advance(seconds(60));
  const auto store = world.open();
  const Stats stats = world.stats();
  CHECK(stats.enqueueToAck.count == 10);
  CHECK(stats.enqueueToAck.average == milliseconds(109));
  // Quantiles are of the process that measured them.
  CHECK(stats.enqueueToAck.recent == 0);
  CHECK(stats.lastAckedAt == last);
}

TEST_CASE("P13: row 13: the age of the oldest message is told, and stands still for none") {
  World world;
  const auto store = world.open();
  CHECK_FALSE(world.stats().oldestPendingAge);
  enqueueOne(*store, frameOf("s"));
  world.clock->advance(seconds(90));
  CHECK(world.stats().oldestPendingAge == seconds(90));
  world.clock->step(seconds(-200));
  CHECK(world.stats().oldestPendingAge == seconds(0));
  settleAll(*store, Transition::fail);
  CHECK_FALSE(world.stats().oldestPendingAge);
}

TEST_CASE("P10: row 24: each peer has its own gauges and totals, also the one that was alone before") {
  World world;
  setPeers(world.options, {"alice"});
  {
    const auto store = world.open();
    enqueueOne(*store, frameTo("alice", "s"));
    settleAll(*store, Transition::ack);
    enqueueOne(*store, frameTo("alice", "s"));
    const std::vector<PeerStats> alone = world.reader()->peerStats();
    REQUIRE(alone.size() == 1);
    CHECK(alone[0].peer == "alice");
    CHECK(alone[0].pending == 1);
    CHECK(alone[0].acked == 1);
  }
  setPeers(world.options, {"alice", "bob"});
  const auto store = world.open();
  // The same name of a session is another session with another peer.
  enqueueOne(*store, frameTo("bob", "s"));
  enqueueOne(*store, frameTo("bob", "s"));
  settleAll(*store, Transition::fail);
  enqueueOne(*store, frameTo("bob", "t"));
  delivery::PeerRecord down;
  down.peer = store->peers().rows()[1].key;
  down.down = true;
  down.failures = 3;
  down.downSince = world.clock->wallNow();
  down.nextProbeAt = world.clock->wallNow() + seconds(12);
  down.error = "refused";
  inTransaction(*store, [&] { store->peers().record(down); });
  const std::vector<PeerStats> peers = world.reader()->peerStats();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].peer == "alice");
  CHECK(peers[0].enqueued == 2);
  CHECK(peers[0].acked == 1);
  CHECK(peers[0].failed == 1);
  CHECK_FALSE(peers[0].down);
  CHECK(peers[1].peer == "bob");
  CHECK(peers[1].enqueued == 3);
  CHECK(peers[1].failed == 2);
  CHECK(peers[1].failedTotal == 2);
  CHECK(peers[1].pending == 1);
  CHECK(peers[1].pendingBytes == 2);
  CHECK(peers[1].down);
  CHECK(peers[1].failures == 3);
  CHECK(peers[1].nextProbeAt == world.clock->wallNow() + seconds(12));
  CHECK(peers[1].lastError == "refused");
  CHECK(world.problems() == "");
}

TEST_CASE("P10: what is enqueued before and after a change of peers or a repair, in one transaction, is counted once") {
  World world;
  setPeers(world.options, {"alice"});
  world.options.addedPeer = [](const std::string& name, const std::string&) {
    PeerOptions peer;
    peer.name = name;
    return peer;
  };
  const auto store = world.open();
  PeerOptions bob;
  bob.name = "bob";
  int step = 0;
  for (const std::function<void()>& change : std::vector<std::function<void()>>{
           [&] { CHECK(store->addPeer(bob, "first") == true); }, [&] { CHECK(store->addPeer(bob, "other") == false); },
           [&] { CHECK(store->removePeer("bob", WaitingMessages::refuse).isRemoved); },
           [&] { static_cast<void>(store->repair()); }}) {
    const std::string session = "s" + std::to_string(++step);
    inTransaction(*store, [&] {
      CHECK(store->outbox().enqueue(frameTo("alice", session)).accepted());
      change();
      CHECK(store->outbox().enqueue(frameTo("alice", session)).accepted());
    });
    enqueueOne(*store, frameTo("alice", session));
    CHECK(world.problems() == "");
    CHECK(world.reader()->sessionStats("alice", session)->live == 3);
  }
  settleAll(*store, Transition::ack);
  CHECK(world.problems() == "");
}

TEST_CASE("P10: row 24: a session tells what waits in it, and sessions come in pages") {
  World world;
  setPeers(world.options, {"alice", "bob"});
  const auto store = world.open();
  for (const char* peer : {"alice", "bob"}) {
    for (const char* session : {"s", "t"}) {
      enqueueOne(*store, frameTo(peer, session));
      enqueueOne(*store, frameTo(peer, session));
    }
  }
  const auto reader = world.reader();
  CHECK_FALSE(reader->sessionStats("alice", "nobody"));
  CHECK_FALSE(reader->sessionStats("nobody", "s"));
  SessionStats stats = reader->sessionStats("alice", "s").value();
  CHECK(stats.live == 2);
  CHECK(stats.lastSequence == 2);
  CHECK_FALSE(stats.inFlight);
  const store::ClaimReply reply = claimNew(*store);
  CHECK(reader->sessionStats("alice", "s")->inFlight);
  delivery::Settlement failed = settlementOf(reply, Transition::fail);
  failed.reason = "rejected";
  settleOne(*store, failed);
  stats = reader->sessionStats("alice", "s").value();
  CHECK(stats.live == 1);
  CHECK(stats.failed == 1);

  SessionFilter filter;
  filter.peer = "bob";
  SessionPage page = reader->sessions(filter, 1, 0);
  REQUIRE(page.sessions.size() == 1);
  CHECK(page.sessions[0].peer == "bob");
  CHECK(page.sessions[0].session == "s");
  page = reader->sessions(filter, 1, page.next);
  REQUIRE(page.sessions.size() == 1);
  CHECK(page.sessions[0].session == "t");
  CHECK(reader->sessions(filter, 1, page.next).next == 0);
  CHECK(reader->sessions({}, 100, 0).sessions.size() == 4);
  for (int sequence = 1; sequence <= 2; ++sequence) {
    delivery::Settlement acked = settlementOf(reply, Transition::ack, 3, static_cast<std::size_t>(sequence - 1));
    settleOne(*store, acked);
  }
  CHECK(reader->sessions({.peer = {}, .occupied = true}, 100, 0).sessions.size() == 3);
  // A session that is paused is shown, though nothing waits in it.
  REQUIRE(inTransaction(*store, [&] { return store->holds().pauseSession("bob", "t"); }));
  CHECK(reader->sessions({.peer = {}, .occupied = true}, 100, 0).sessions.size() == 4);
  CHECK_THROWS_AS(static_cast<void>(reader->sessions({}, 0, 0)), Error);
  CHECK(world.problems() == "");
}

TEST_CASE("P9: a reader waits for no transaction, and sees what is committed, all of it or nothing") {
  const World world;
  const auto store = world.open();
  const auto reader = world.reader();
  store->begin(false);
  const std::string id = store->outbox().enqueue(frameOf("s")).messageId;
  static_cast<void>(store->outbox().enqueue(frameOf("t")));
  CHECK_FALSE(reader->find(id));
  CHECK(reader->stats().pending == 0);
  store->commit();
  CHECK(reader->find(id));
  CHECK(reader->stats().pending == 2);
}

TEST_CASE("P13: what was refused is counted by what it was refused for") {
  const World world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    store::InboundMarks& marks = store->inboundMarks();
    marks.countRefusals(2, 3);
    for (const auto admission :
         {store::Admission::staleEpoch, store::Admission::numberTaken, store::Admission::idConflict}) {
      marks.countRefused(admission);
    }
  });
  const Stats stats = world.stats();
  CHECK(stats.refusedUnauthenticated == 2);
  CHECK(stats.refusedForbidden == 3);
  // A number that another frame has is a sign of an older copy, too.
  CHECK(stats.staleEpochs == 2);
  CHECK(stats.idConflicts == 1);
}

}  // namespace figures_test
