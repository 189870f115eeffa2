// Goal: the corners of deferred ACKs with nothing simulated between the agents: an ACK event that overtakes the answer
// to the request, words on unknown ids, and the question at the ACK deadline, each in both directions at once, with the
// handler's result carried to `onAcked`. Method: two agents with real files, senders and servers on loopback.

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "integration/deferring_agents.hpp"

namespace ackbox::deferred_servers_test {
namespace {

using testing::Agent;
using testing::Pair;
using testing::until;

/// A real sender whose answers to ordinary frames are kept back until the test lets them through.
class HoldingSender final : public Sender {
public:
  void usePeers(std::span<const PeerOptions> peers) override { http_.usePeers(peers); }
  void start(const boost::asio::any_io_executor& executor) override { http_.start(executor); }
  [[nodiscard]] std::uint32_t initialCredit() const override { return http_.initialCredit(); }
  void asyncSend(SendRequest request, SendHandler handler) override {
    if (request.frames.front().type == "ackbox.ack.v1") {
      http_.asyncSend(std::move(request), std::move(handler));
      return;
    }
    http_.asyncSend(std::move(request), [this, done = std::move(handler)](SendReport report) {
      const std::scoped_lock lock(mutex_);
      held_.push_back([done, report = std::move(report)] { done(report); });
    });
  }
  void stop() override { http_.stop(); }

  /// How many answers are here.
  std::size_t held() {
    const std::scoped_lock lock(mutex_);
    return held_.size();
  }
  void letThrough() {
    std::vector<std::function<void()>> all;
    {
      const std::scoped_lock lock(mutex_);
      all.swap(held_);
    }
    for (const auto& answer : all) {
      answer();
    }
  }

private:
  HttpSender http_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::function<void()>> held_;
};

std::string resultOf(const std::string& agent) {
  return R"({"by":"urn:agent:)" + agent + "\"}";
}

std::string wordOn(const std::string& id) {
  return R"({"results":[{"id":")" + id + R"(","outcome":"ack","result":{"n":1}}]})";
}

TEST_CASE(
    "row 9: defect 8: ACK events that overtake the answers to their requests settle once, both ways, with results") {
  const auto alices = std::make_shared<HoldingSender>();
  const auto bobs = std::make_shared<HoldingSender>();
  Pair pair;
  pair.introduce();
  for (auto& [agent, sender] : {std::pair(&pair.alice, alices), std::pair(&pair.bob, bobs)}) {
    agent->start(sender);
  }
  const std::string toBob = pair.alice.say("bob", "s", "slow", "1");
  const std::string toAlice = pair.bob.say("alice", "s", "slow", "1");
  // Settled while the sender still waits for the answer, which is here and says `defer`.
  until([&] { return pair.alice.acks(toBob) > 0 && pair.bob.acks(toAlice) > 0; });
  until([&] { return alices->held() == 1 && bobs->held() == 1; });
  CHECK_FALSE(pair.alice.manager->find(toBob));
  CHECK_FALSE(pair.bob.manager->find(toAlice));
  alices->letThrough();
  bobs->letThrough();
  // The sessions go on past them.
  const std::string next = pair.alice.say("bob", "s", "quick", "2");
  until([&] { return alices->held() == 1; });
  alices->letThrough();
  until([&] { return pair.alice.live() == 0 && pair.bob.live() == 0; });
  until([&] { return pair.alice.acks(next) > 0; });
  CHECK(pair.alice.resultOf(toBob) == resultOf("bob"));
  CHECK(pair.bob.resultOf(toAlice) == resultOf("alice"));
  for (Agent* agent : {&pair.alice, &pair.bob}) {
    CHECK(agent->acks() == agent->acked().size());
    const Stats stats = agent->manager->getStats();
    CHECK(stats.totalRetries == 0);
    CHECK(stats.duplicates == 0);
    CHECK(stats.refusedAcks == 0);
    CHECK(OutboxReader(*agent->manager).verify().clean());
  }
  CHECK(pair.bob.effects("s") == "1 2");
  CHECK(pair.alice.effects("s") == "1");
}

TEST_CASE("row 9: ACK events on unknown ids are acknowledged and change nothing, both ways") {
  Pair pair;
  pair.introduce();
  pair.open();
  const std::string event = "ackbox.ack.v1";
  pair.bob.say("alice", event, event, wordOn("never-heard-of"));
  pair.alice.say("bob", event, event, wordOn("never-heard-of"));
  const std::string toBob = pair.alice.say("bob", "s", "slow", "1");
  const std::string toAlice = pair.bob.say("alice", "s", "slow", "1");
  until([&] { return pair.alice.acked().size() == 3 && pair.bob.acked().size() == 3; });
  CHECK(pair.alice.resultOf(toBob) == resultOf("bob"));
  CHECK(pair.bob.resultOf(toAlice) == resultOf("alice"));
  for (Agent* agent : {&pair.alice, &pair.bob}) {
    const Stats stats = agent->manager->getStats();
    // The made-up event, the frame, and the real event on the other's frame.
    CHECK(stats.acked == 3);
    CHECK(stats.failed == 0);
    CHECK(stats.received == 1);
    CHECK(stats.refusedAcks == 0);
    CHECK(agent->acked().size() == 3);
    CHECK_FALSE(agent->acked().contains("never-heard-of"));
  }
}

TEST_CASE("row 9: with no ACK events at all, the question at the ACK deadline brings outcomes and results, both ways") {
  Pair pair(std::chrono::milliseconds(20));
  // Neither knows the other by its agent URI, so there is nobody to send an event to.
  pair.alice.knows("bob", pair.bob, "");
  pair.bob.knows("alice", pair.alice, "");
  pair.open();
  constexpr int kFrames = 5;
  std::vector<std::pair<Agent*, std::string>> said;
  for (int number = 0; number < kFrames; ++number) {
    said.emplace_back(&pair.alice, pair.alice.say("bob", "s", "slow", std::to_string(number)));
    said.emplace_back(&pair.bob, pair.bob.say("alice", "s", "slow", std::to_string(number)));
  }
  until([&] { return pair.alice.acked().size() == kFrames && pair.bob.acked().size() == kFrames; });
  for (const auto& [agent, id] : said) {
    CHECK(agent->resultOf(id) == resultOf(agent == &pair.alice ? "bob" : "alice"));
    CHECK(agent->acks(id) == 1);
  }
  for (Agent* agent : {&pair.alice, &pair.bob}) {
    CHECK(agent->effects("s") == testing::numbers(0, kFrames - 1));
    const Stats stats = agent->manager->getStats();
    CHECK(stats.enqueued == kFrames);
    CHECK(stats.duplicates > 0);
    CHECK(OutboxReader(*agent->manager).verify().clean());
  }
}

}  // namespace
}  // namespace ackbox::deferred_servers_test
