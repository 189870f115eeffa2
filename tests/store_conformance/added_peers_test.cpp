// Goal: a handle's peers are those that the file has: also after a transaction that was rolled back, and after changes
// by others. Method: one or two handles on a file; definitions that say what they are.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "store_conformance/world.hpp"

namespace added_peers_test {

using namespace ackbox;
using namespace ackbox::testing;

struct Added : World {
  Added() {
    setPeers(options, {"alice"});
    options.addedPeer = [](const std::string& name, const std::string& definition) {
      PeerOptions peer;
      peer.name = name;
      peer.gap = definition == "block" ? GapPolicy::block : GapPolicy::skip;
      return peer;
    };
  }
  static PeerOptions peer(const std::string& name) {
    PeerOptions made;
    made.name = name;
    return made;
  }
  /// The changes since the last call: names, and `-` before one that is gone.
  static std::string changes(store::Store& store) {
    std::string told;
    for (const store::PeerChange& change : store.peers().takeChanges()) {
      told += (told.empty() ? "" : " ") + std::string(change.options ? "" : "-") + change.row.name;
    }
    return told;
  }
  static EnqueueStatus enqueued(store::Store& store, const std::string& peer) {
    return inTransaction(store, [&] { return store.outbox().enqueue(frameTo(peer, "s")).status; });
  }
};

TEST_CASE("P1: a peer of a transaction that is rolled back is no peer, and the next one finds the file's peers") {
  Added world;
  const auto store = world.open();
  inTransaction(*store, [&] { CHECK(store->addPeer(Added::peer("bob"), "first") == true); });
  CHECK(Added::changes(*store) == "bob");
  store->begin(true);
  CHECK(store->addPeer(Added::peer("carol"), "first") == true);
  CHECK(store->addPeer(Added::peer("bob"), "second") == false);
  store->rollback();
  CHECK(Added::enqueued(*store, "carol") == EnqueueStatus::unknownPeer);
  CHECK(Added::enqueued(*store, "bob") == EnqueueStatus::stored);
  store->begin(true);
  CHECK_THROWS_AS(static_cast<void>(store->removePeer("nobody", WaitingMessages::fail)), Error);
  CHECK(store->removePeer("bob", WaitingMessages::fail).left == 1);
  store->rollback();
  CHECK(Added::enqueued(*store, "bob") == EnqueueStatus::stored);
  std::vector<std::string> names;
  for (const store::PeerRow& row : store->peers().rows()) {
    names.push_back(row.name + (row.definition.empty() ? "" : "=" + row.definition));
  }
  CHECK(names == std::vector<std::string>{"alice", "bob=first"});
  CHECK(world.problems() == "");
}

TEST_CASE("P12: another handle's peers are taken with the next transaction, also by a handle that adopts them") {
  Added world;
  const auto one = world.open();
  const auto two = world.open();
  world.options.addedPeer = {};
  world.options.adoptPeers = true;
  const auto tool = world.open();
  world.options.adoptPeers = false;
  const auto stranger = world.open();
  inTransaction(*one, [&] { CHECK(one->addPeer(Added::peer("bob"), "first") == true); });
  for (const auto* const handle : {&two, &tool}) {
    CHECK(Added::enqueued(**handle, "bob") == EnqueueStatus::stored);
    CHECK(Added::changes(**handle) == "bob");
  }
  CHECK(Added::enqueued(*stranger, "bob") == EnqueueStatus::unknownPeer);
  inTransaction(*two, [&] { CHECK(two->removePeer("bob", WaitingMessages::refuse).left == 2); });
  inTransaction(*two, [&] { CHECK(two->removePeer("bob", WaitingMessages::fail).isRemoved); });
  for (const auto* const handle : {&one, &tool}) {
    CHECK(Added::enqueued(**handle, "bob") == EnqueueStatus::unknownPeer);
  }
  CHECK(Added::changes(*tool) == "-bob");
  inTransaction(*tool, [&] { CHECK(tool->addPeer(Added::peer("bob"), "again") == true); });
  CHECK(Added::enqueued(*one, "bob") == EnqueueStatus::stored);
  CHECK(world.problems() == "");
}

}  // namespace added_peers_test
