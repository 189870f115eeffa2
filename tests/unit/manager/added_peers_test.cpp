// Goal: a peer that is added to the file at run time is a peer of every process on it, at once and after a restart, and
// one that is removed leaves no message waiting in silence.
// Method: real files, a sender that answers as scripted, definitions of the form `URL AGENT`.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/pull.hpp"
#include "support/comes_to.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::added_peers_test {
namespace {

using testing::comesTo;
using testing::ScriptedSender;

/// A sender that notes which peers it is told of, and cannot serve those in `refused`.
class NotingSender final : public Sender {
public:
  void changePeer(const PeerOptions& peer) override {
    const std::scoped_lock lock(mutex_);
    if (refused == peer.name) {
      throw OptionError("secrets", "cannot be read");
    }
    if (peer.url == "at-odd") {
      throw 1;  // NOLINT(hicpp-exception-baseclass)
    }
    told_.push_back(peer.name + " at " + peer.url);
  }
  void removePeer(std::string_view name) override {
    const std::scoped_lock lock(mutex_);
    told_.push_back("not " + std::string(name));
  }
  void asyncSend(SendRequest request, SendHandler handler) override {
    {
      const std::scoped_lock lock(mutex_);
      for (const OutboundFrame& frame : request.frames) {
        sent_.push_back(frame.messageId + " to " + request.url);
      }
    }
    handler(ScriptedSender::all(request, Outcome::ack));
  }
  [[nodiscard]] std::vector<std::string> told() const {
    const std::scoped_lock lock(mutex_);
    return told_;
  }
  [[nodiscard]] std::vector<std::string> sent() const {
    const std::scoped_lock lock(mutex_);
    return sent_;
  }
  void refuse(const std::string& peer) {
    const std::scoped_lock lock(mutex_);
    refused = peer;
  }

private:
  mutable std::mutex mutex_;
  std::string refused;
  std::vector<std::string> told_;
  std::vector<std::string> sent_;
};

PeerOptions peerAt(const std::string& name, const std::string& url) {
  PeerOptions peer;
  peer.name = name;
  peer.url = url;
  return peer;
}

struct Stage : testing::OutboxStage {
  Stage() { options.peers = {peerAt("bob", "at-bob")}; }

  [[nodiscard]] OutboxManager open() const {
    OutboxOptions used = options;
    used.addedPeer = [](const std::string& name, const std::string& definition) {
      if (definition == "unreadable") {
        throw OptionError("definition", "is not one of this program's");
      }
      if (definition == "odd") {
        throw 1;  // NOLINT(hicpp-exception-baseclass)
      }
      PeerOptions peer = peerAt(name, definition);
      peer.retry = RetryPolicy{};
      peer.retry->horizon = std::chrono::hours(1);
      return peer;
    };
    OutboxManager manager = OutboxStage::open(std::move(used));
    manager.setSender(notes);
    return manager;
  }
  static EnqueueReceipt send(OutboxManager& manager, const std::string& peer, const std::string& id) {
    Frame made = frame("s", id);
    made.peer = peer;
    return manager.enqueue(made);
  }

  OutboxOptions options;
  std::shared_ptr<NotingSender> notes = std::make_shared<NotingSender>();
};

using Texts = std::vector<std::string>;

TEST_CASE("P12: a peer that is added is sent to by the run under way, and after a restart") {
  Stage stage;
  {
    OutboxManager manager = stage.open();
    manager.start();
    CHECK(Stage::send(manager, "acme", "early").status == EnqueueStatus::unknownPeer);
    // With its first request, the run has read the peers.
    Stage::send(manager, "bob", "first");
    CHECK(comesTo([&] { return stage.notes->sent() == Texts{"first to at-bob"}; }));
    CHECK(OutboxOperator(manager).addPeer(peerAt("acme", "at-acme"), "at-acme"));
    CHECK(Stage::send(manager, "acme", "a").accepted());
    CHECK(comesTo([&] { return stage.notes->sent() == Texts{"first to at-bob", "a to at-acme"}; }));
    CHECK(stage.notes->told() == Texts{"acme at at-acme"});
  }
  OutboxManager manager = stage.open();
  CHECK(Stage::send(manager, "acme", "b").accepted());
  CHECK(manager.drainOnce().acked == 1);
  CHECK(stage.notes->sent() == Texts{"first to at-bob", "a to at-acme", "b to at-acme"});
  const std::vector<PeerStatus> peers = OutboxReader(manager).peers();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].name == "acme");
  CHECK(peers[0].isConfigured);
  CHECK(peers[0].definition == "at-acme");
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("P12: a peer that is changed is sent to by its new options from the next request on") {
  Stage stage;
  OutboxManager manager = stage.open();
  CHECK(OutboxOperator(manager).addPeer(peerAt("acme", "old"), "old"));
  Stage::send(manager, "acme", "a");
  manager.drainOnce();
  manager.start();
  CHECK_FALSE(OutboxOperator(manager).addPeer(peerAt("acme", "new"), "new"));
  Stage::send(manager, "acme", "b");
  CHECK(comesTo([&] { return stage.notes->sent() == Texts{"a to old", "b to new"}; }));
}

TEST_CASE("P12: a run learns each peer once, and a consumer learns those that are added after its first claim") {
  Stage stage;
  {
    OutboxManager manager = stage.open();
    OutboxOperator(manager).addPeer(peerAt("acme", "at-acme"), "at-acme");
  }
  OutboxManager manager = stage.open();
  static_cast<void>(manager.drainOnce());
  CHECK(stage.notes->told() == Texts{"acme at at-acme"});
  PullConsumer consumer(manager);
  CHECK(consumer.claim(10).empty());
  OutboxOperator(manager).addPeer(peerAt("late", "at-late"), "at-late");
  CHECK(Stage::send(manager, "late", "to-late").accepted());
  const std::vector<Claim> claims = consumer.claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims.front().peer == "late");
}

TEST_CASE("P12: another process on the file takes the peers that one adds, changes and removes") {
  Stage stage;
  OutboxManager one = stage.open();
  OutboxManager two = stage.open();
  OutboxOperator(one).addPeer(peerAt("acme", "at-acme"), "at-acme");
  CHECK(Stage::send(two, "acme", "a").accepted());
  CHECK(two.drainOnce().acked == 1);
  OutboxOperator(one).addPeer(peerAt("acme", "new"), "new");
  CHECK(Stage::send(two, "acme", "b").accepted());
  CHECK(two.drainOnce().acked == 1);
  CHECK(stage.notes->sent() == Texts{"a to at-acme", "b to new"});
  CHECK(OutboxOperator(one).removePeer("acme").isRemoved);
  CHECK(Stage::send(two, "acme", "c").status == EnqueueStatus::unknownPeer);
}

TEST_CASE("P8: a peer that is removed leaves no message that waits in silence") {
  Stage stage;
  OutboxManager manager = stage.open();
  OutboxOperator operate(manager);
  operate.addPeer(peerAt("acme", "at-acme"), "at-acme");
  Stage::send(manager, "acme", "a");
  Stage::send(manager, "acme", "b");
  const PeerRemoval refused = operate.removePeer("acme");
  CHECK_FALSE(refused.isRemoved);
  CHECK(refused.left == 2);
  CHECK(Stage::send(manager, "acme", "c").accepted());
  std::vector<std::string> failed;
  const Subscription subscription =
      manager.onFailed([&](const FailedEvent& event) { failed.push_back(event.messageId + " " + event.reason); });
  const PeerRemoval removed = operate.removePeer("acme", WaitingMessages::fail);
  CHECK(removed.isRemoved);
  CHECK(removed.failed == 3);
  CHECK(removed.left == 0);
  CHECK(failed == Texts{"a peer-removed", "b peer-removed", "c peer-removed"});
  CHECK(manager.find("a")->state == MessageState::failed);
  CHECK(Stage::send(manager, "acme", "d").status == EnqueueStatus::unknownPeer);
  CHECK(operate.removePeer("acme").isRemoved);
  CHECK_THROWS_AS(operate.removePeer("bob"), Error);
  CHECK(manager.drainOnce().acked == 0);
  const std::vector<PeerStatus> peers = OutboxReader(manager).peers();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].isRemoved);
  operate.discardFailed({});
  CHECK(OutboxReader(manager).peers().size() == 1);
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("P4: the policies of an added peer are those of its definition, in the run under way and after a restart") {
  Stage stage;
  const auto open = [&] {
    OutboxOptions options = stage.options;
    options.addedPeer = [](const std::string& name, const std::string& definition) {
      PeerOptions peer = peerAt(name, definition);
      peer.gap = GapPolicy::block;
      return peer;
    };
    return stage.OutboxStage::open(options);
  };
  stage.answerAll(Outcome::term, "no");
  {
    OutboxManager manager = open();
    OutboxOperator(manager).addPeer(peerAt("acme", "at-acme"), "at-acme");
    Stage::send(manager, "acme", "a");
    CHECK(manager.drainOnce().failed == 1);
    CHECK(OutboxReader(manager).blockedSessions().size() == 1);
    OutboxOperator(manager).unblock("acme", "s");
  }
  OutboxManager manager = open();
  for (const char* const id : {"b", "c"}) {
    Stage::send(manager, "acme", id);
    manager.drainOnce();
  }
  CHECK(OutboxReader(manager).blockedSessions().size() == 1);
  CHECK(stage.sentIds() == Texts{"a", "b"});
}

TEST_CASE("P4: a peer that is added again goes on with its numbers") {
  Stage stage;
  OutboxManager manager = stage.open();
  OutboxOperator operate(manager);
  operate.addPeer(peerAt("acme", "at-acme"), "at-acme");
  CHECK(Stage::send(manager, "acme", "a").sequence == 1);
  manager.drainOnce();
  CHECK(operate.removePeer("acme").isRemoved);
  CHECK(operate.addPeer(peerAt("acme", "at-acme"), "at-acme"));
  CHECK(Stage::send(manager, "acme", "b").sequence == 2);
  CHECK(manager.drainOnce().acked == 1);
}

TEST_CASE("P13: what is in flight to a peer that is removed is told as left, and ends by its answer") {
  Stage stage;
  stage.options.stopTimeout = std::chrono::milliseconds(0);
  const auto silent = std::make_shared<testing::SilentSender>();
  OutboxManager manager = stage.open();
  manager.setSender(silent);
  OutboxOperator operate(manager);
  operate.addPeer(peerAt("acme", "at-acme"), "at-acme");
  manager.start();
  Stage::send(manager, "acme", "a");
  silent->waitForFrames(1);
  const PeerRemoval removed = operate.removePeer("acme", WaitingMessages::fail);
  CHECK(removed.isRemoved);
  CHECK(removed.failed == 0);
  CHECK(removed.left == 1);
  manager.stop();
  const std::optional<Explanation> explained = manager.explain("a");
  REQUIRE(explained);
  CHECK(explained->sentence.find("the peer was removed at") != std::string::npos);
  const PeerRemoval again = operate.removePeer("acme", WaitingMessages::fail);
  CHECK(again.failed == 1);
  CHECK(again.left == 0);
}

TEST_CASE("P13: a definition that cannot be used delays its own peer only, and the cause is told") {
  Stage stage;
  OutboxManager manager = stage.open();
  OutboxOperator operate(manager);
  operate.addPeer(peerAt("acme", "at-acme"), "unreadable");
  operate.addPeer(peerAt("keyless", "at-keyless"), "at-keyless");
  stage.notes->refuse("keyless");
  for (const char* const peer : {"acme", "keyless", "bob"}) {
    CHECK(Stage::send(manager, peer, std::string("to-") + peer).accepted());
  }
  CHECK(manager.drainOnce().acked == 1);
  CHECK(stage.notes->sent() == Texts{"to-bob to at-bob"});
  const std::vector<PeerStatus> peers = OutboxReader(manager).peers();
  REQUIRE(peers.size() == 3);
  CHECK(peers[0].lastError.find("is not one of this program's") != std::string::npos);
  CHECK(peers[2].lastError.find("cannot be read") != std::string::npos);
  CHECK(manager.explain("to-keyless")->sentence.find("cannot be read") != std::string::npos);
  // Both go on when the cause is gone.
  stage.notes->refuse({});
  operate.addPeer(peerAt("acme", "at-acme"), "at-acme");
  operate.resume("acme");
  operate.resume("keyless");
  CHECK(manager.drainOnce().acked == 2);
}

TEST_CASE("P12: a program's function that throws no std::exception delays the peer that it throws for, and no other") {
  Stage stage;
  OutboxManager manager = stage.open();
  OutboxOperator operate(manager);
  operate.addPeer(peerAt("acme", "at-acme"), "odd");
  operate.addPeer(peerAt("strange", "at-odd"), "at-odd");
  for (const char* const peer : {"acme", "strange", "bob"}) {
    CHECK(Stage::send(manager, peer, std::string("to-") + peer).accepted());
  }
  CHECK(manager.drainOnce().acked == 1);
  CHECK(manager.explain("to-acme")->sentence.find("is no std::exception") != std::string::npos);
  CHECK(manager.explain("to-strange")->sentence.find("is no std::exception") != std::string::npos);
}

TEST_CASE("a name of the configuration is refused, and so are a bad option and a definition of no length") {
  Stage stage;
  OutboxManager manager = stage.open();
  OutboxOperator operate(manager);
  CHECK_THROWS_WITH_AS(operate.addPeer(peerAt("bob", "elsewhere"), "elsewhere"),
                       doctest::Contains("is a peer of a configuration"), OptionError);
  CHECK_THROWS_AS(operate.addPeer(peerAt("", "x"), "x"), OptionError);
  CHECK_THROWS_AS(operate.addPeer(peerAt("acme", "x"), ""), OptionError);
  CHECK_THROWS_AS(operate.addPeer(peerAt("acme", "x"), std::string(16'385, 'x')), OptionError);
  CHECK(OutboxReader(manager).peers().size() == 1);
}

TEST_CASE("P12: a peer of the configuration is sent to, whatever another program adds or removes under its name") {
  Stage stage;
  Stage stranger;
  stranger.options.peers = {peerAt("carol", "at-carol")};
  {
    // Before the configuration had the name.
    OutboxOptions options = stranger.options;
    options.addedPeer = [](const std::string& name, const std::string& text) { return peerAt(name, text); };
    OutboxManager other = stage.OutboxStage::open(options);
    OutboxOperator(other).addPeer(peerAt("bob", "elsewhere"), "elsewhere");
  }
  OutboxManager manager = stage.open();
  CHECK_THROWS_AS(OutboxOperator(manager).removePeer("bob"), Error);
  manager.start();
  Stage::send(manager, "bob", "a");
  CHECK(comesTo([&] { return stage.notes->sent() == Texts{"a to at-bob"}; }));
  {
    OutboxOptions options = stranger.options;
    options.addedPeer = [](const std::string& name, const std::string& text) { return peerAt(name, text); };
    OutboxManager other = stage.OutboxStage::open(options);
    CHECK(OutboxOperator(other).removePeer("bob").isRemoved);
  }
  manager.notify();
  Stage::send(manager, "bob", "b");
  Stage::send(manager, "bob", "c");
  CHECK(comesTo([&] { return stage.notes->sent() == Texts{"a to at-bob", "b to at-bob", "c to at-bob"}; }));
}

TEST_CASE("a program that does not read definitions has no peers of the file") {
  Stage stage;
  {
    OutboxManager manager = stage.open();
    OutboxOperator(manager).addPeer(peerAt("acme", "at-acme"), "at-acme");
  }
  OutboxManager plain = stage.OutboxStage::open(stage.options);
  CHECK(Stage::send(plain, "acme", "a").status == EnqueueStatus::unknownPeer);
  CHECK_FALSE(OutboxReader(plain).peers().front().isConfigured);
}

TEST_CASE("P10: the counts of a peer that was alone stay its own when another is added") {
  Stage stage;
  OutboxManager manager = stage.open();
  Stage::send(manager, "bob", "a");
  Stage::send(manager, "bob", "b");
  manager.drainOnce();
  OutboxOperator(manager).addPeer(peerAt("acme", "at-acme"), "at-acme");
  Stage::send(manager, "acme", "c");
  manager.drainOnce();
  Stage::send(manager, "acme", "d");
  const std::vector<PeerStats> stats = OutboxReader(manager).peerStats();
  REQUIRE(stats.size() == 2);
  CHECK(stats[0].acked == 2);
  CHECK(stats[0].pending == 0);
  CHECK(stats[1].acked == 1);
  CHECK(stats[1].pending == 1);
  CHECK(OutboxReader(manager).verify().clean());
}

}  // namespace
}  // namespace ackbox::added_peers_test
