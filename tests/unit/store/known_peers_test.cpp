// Goal: what a process is told of the peers that are added to its store is what was committed, and each is told once.
// Method: the peers as the store reads them, one reading after the other.

#include "store/decisions/known_peers.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ackbox::store::known_peers_test {
namespace {

using Texts = std::vector<std::string>;

struct Stage {
  /// The changes since the last call: `+` stands before a peer that was added or changed.
  Texts told() {
    Texts texts;
    for (const PeerChange& change : known.takeChanges()) {
      texts.push_back((change.options ? "+" : "-") + change.row.name + " " + change.row.definition);
    }
    return texts;
  }
  static AddedPeer added(const std::string& name, const std::string& definition) {
    return {.row = {.name = name, .url = name, .definition = definition}};
  }

  OutboxOptions options{.adoptPeers = true};
  std::vector<PeerOptions> peers;
  KnownPeers known{options, peers};
};

}  // namespace

TEST_CASE("P13: a peer whose addition, change or removal is undone is not told as added or removed") {
  Stage stage;
  stage.known.refresh({Stage::added("carol", "1")});
  stage.known.refresh({});
  CHECK(stage.told().empty());
  stage.known.refresh({Stage::added("carol", "1")});
  CHECK(stage.told() == Texts{"+carol 1"});
  CHECK(stage.told().empty());
  stage.known.refresh({Stage::added("carol", "2"), Stage::added("dora", "1")});
  stage.known.refresh({Stage::added("carol", "1")});
  CHECK(stage.told().empty());
  stage.known.refresh({});
  stage.known.refresh({Stage::added("carol", "1")});
  CHECK(stage.told().empty());
  stage.known.refresh({Stage::added("carol", "3"), Stage::added("dora", "1")});
  CHECK(stage.told() == Texts{"+carol 3", "+dora 1"});
  stage.known.refresh({});
  CHECK(stage.told() == Texts{"-carol 3", "-dora 1"});
}

TEST_CASE("P13: an adopted peer that is removed is told as removed") {
  Stage stage;
  stage.known.adopt({.name = "bob", .url = "bob"});
  AddedPeer removed = Stage::added("bob", "");
  removed.isRemoved = true;
  stage.known.refresh({removed});
  CHECK(stage.told() == Texts{"-bob "});
}

}  // namespace ackbox::store::known_peers_test
