// Goal: deferred ACKs end to end, both directions over real servers: the ACK event settles, early, late, repeated, for
// unknown ids and from the wrong peer (defect 8); without it the sender's question settles. Effects happen once, in
// order. Method: agents in one process on loopback, with real files; conditions are waited for, never slept for.

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "integration/deferring_agents.hpp"

namespace ackbox::deferred_test {
namespace {

using testing::Agent;
using testing::Pair;
using testing::until;

std::string ackEvent(const std::string& source, const std::string& id, const std::string& message,
                     const std::string& outcome = "ack") {
  return R"({"specversion":"1.0","type":"ackbox.ack.v1","source":")" + source + R"(","id":")" + id +
         R"(","data":{"results":[{"id":")" + message + R"(","outcome":")" + outcome +
         R"(","code":"no-order","result":{"n":1}}]}})";
}

TEST_CASE("row 9: ACK events settle deferred messages both ways, in order, once, and carry results to onAcked") {
  Pair pair;
  pair.introduce();
  pair.open();
  constexpr int kFrames = 60;
  std::string first;
  for (int number = 0; number < kFrames; ++number) {
    const std::string type = number % 3 == 0 ? "slow" : "quick";
    for (const std::string session : {"s", "t"}) {
      const std::string id = pair.alice.say("bob", session, type, std::to_string(number));
      first = first.empty() ? id : first;
      pair.bob.say("alice", session, type, std::to_string(number));
    }
  }
  until([&] { return pair.alice.live() == 0 && pair.bob.live() == 0; });
  // Reported after the commit that shows.
  until([&] { return pair.alice.acks(first) > 0; });
  for (Agent* agent : {&pair.alice, &pair.bob}) {
    CHECK(agent->effects("s") == testing::numbers(0, kFrames - 1));
    CHECK(agent->effects("t") == testing::numbers(0, kFrames - 1));
    const Stats stats = agent->manager->getStats();
    CHECK(stats.received == 2 * kFrames);
    CHECK(stats.inbox == 0);
    CHECK(stats.deferred >= 2 * kFrames / 3);
    CHECK(stats.totalRetries == 0);
    CHECK(stats.refusedAcks == 0);
    CHECK(OutboxReader(*agent->manager).verify().clean());
    CHECK(agent->acks() == agent->acked().size());
  }
  CHECK(pair.alice.resultOf(first) == "{\"by\":\"urn:agent:bob\"}");
}

TEST_CASE("row 9: a deferred handler's reject reaches the sender as a dead letter with its code") {
  Pair pair;
  pair.introduce();
  pair.open();
  const std::string id = pair.alice.say("bob", "s", "slow", "\"reject\"");
  pair.alice.say("bob", "s", "slow", "2");
  until([&] { return pair.alice.live() == 0; });
  CHECK(pair.alice.manager->find(id)->reason == "no-order");
  CHECK(pair.alice.manager->find(id)->lastError == "no such order");
  CHECK(pair.bob.effects("s") == "2");
}

TEST_CASE("row 9: where the receiver knows no such peer, the sender's question at its ACK deadline settles") {
  Pair pair(std::chrono::milliseconds(20));
  pair.alice.knows("bob", pair.bob, "urn:agent:bob");
  pair.open();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  const std::string rejected = pair.alice.say("bob", "s", "slow", "\"reject\"");
  until([&] { return pair.alice.live() == 0 && pair.alice.acks(id) > 0; });
  CHECK(pair.bob.effects("s") == "1");
  CHECK(pair.alice.resultOf(id) == "{\"by\":\"urn:agent:bob\"}");
  CHECK(pair.alice.manager->find(rejected)->reason == "no-order");
  CHECK(pair.bob.manager->getStats().enqueued == 0);
}

TEST_CASE("defect 8: an ACK event settles only messages to its source, in any live state, once; others are counted") {
  Pair pair;
  pair.introduce();
  pair.alice.knows("eve", pair.bob, "urn:agent:eve");
  pair.alice.open();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  const std::string second = pair.alice.say("bob", "s", "slow", "2");
  const std::string third = pair.alice.say("bob", "s", "slow", "3");
  const Subscription acked =
      pair.alice.manager->onAcked([&](const AckedEvent& event) { CHECK(event.result == "{\"n\":1}"); });
  const auto post = [&](const std::string& body) { return pair.alice.post(body).status; };
  // From a peer that it was not addressed to, and from one that is none: nothing settles, and nothing is learned.
  CHECK(post(ackEvent("urn:agent:eve", "e1", id)) == 200);
  CHECK(post(ackEvent("urn:agent:nobody", "e2", id)) == 200);
  CHECK(pair.alice.manager->find(id)->state == MessageState::pending);
  CHECK(pair.alice.manager->getStats().refusedAcks == 2);
  // Unknown ids are benign.
  CHECK(post(ackEvent("urn:agent:bob", "e3", "never-heard-of")) == 200);
  // Before anything was sent at all; then once more, as another event and as a repetition of this one.
  CHECK(post(ackEvent("urn:agent:bob", "e4", id)) == 200);
  CHECK_FALSE(pair.alice.manager->find(id));
  CHECK(post(ackEvent("urn:agent:bob", "e5", id)) == 200);
  CHECK(post(ackEvent("urn:agent:bob", "e4", id)) == 200);
  CHECK(pair.alice.manager->getStats().acked == 1);
  CHECK(post(ackEvent("urn:agent:bob", "e6", second, "term")) == 200);
  CHECK(pair.alice.manager->find(second)->reason == "no-order");
  CHECK(post(ackEvent("urn:agent:bob", "e7", second)) == 200);
  CHECK(pair.alice.manager->find(second)->state == MessageState::failed);
  // What is no list of results is refused for good, and none of it counts.
  CHECK(post(R"({"specversion":"1.0","type":"ackbox.ack.v1","source":"urn:agent:bob","id":"e8","data":{"results":[)"
             R"({"id":")" +
             third + R"(","outcome":"ack"},{"id":7}]}})") == 422);
  CHECK(pair.alice.manager->find(third)->state == MessageState::pending);
  CHECK(pair.alice.manager->getStats().received == 0);
  CHECK(OutboxReader(*pair.alice.manager).verify().clean());
}

TEST_CASE("defect 8: an ACK event that comes before the answer to its own request is kept, and settles once") {
  // The sender's own inbox is told in the middle of its request, before it has the answer.
  class EarlySender final : public Sender {
  public:
    explicit EarlySender(Agent& agent) : agent_(agent) {}
    void asyncSend(SendRequest request, SendHandler handler) override {
      CHECK(agent_.manager->find(request.frames.front().messageId)->state == MessageState::sending);
      // Not from this strand, which the event's settlement crosses.
      threads_.emplace_back([this, sent = std::move(request), done = std::move(handler)] {
        SendReport report;
        report.outcome = RequestOutcome::answered;
        for (const OutboundFrame& frame : sent.frames) {
          agent_.post(ackEvent("urn:agent:bob", "early-" + frame.messageId, frame.messageId));
          report.results.emplace_back().outcome = Outcome::defer;
        }
        done(report);
      });
    }

  private:
    Agent& agent_;
    std::vector<std::jthread> threads_;
  };
  Pair pair;
  pair.introduce();
  pair.alice.open();
  pair.alice.speak();
  pair.alice.manager->stop();
  pair.alice.manager->setSender(std::make_shared<EarlySender>(pair.alice));
  pair.alice.manager->start();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  const std::string next = pair.alice.say("bob", "s", "slow", "2");
  until([&] { return pair.alice.acks(id) > 0 && pair.alice.acks(next) > 0; });
  pair.alice.manager->stop();
  CHECK(pair.alice.acks(id) == 1);
  CHECK(pair.alice.resultOf(id) == "{\"n\":1}");
  CHECK(pair.alice.live() == 0);
  CHECK(pair.alice.manager->getStats().acked == 2);
  CHECK(OutboxReader(*pair.alice.manager).verify().clean());
}

TEST_CASE("row 9: the ACK event that asks for a message again gets it sent again") {
  Pair pair;
  pair.alice.knows("bob", pair.bob, "urn:agent:bob");
  pair.alice.open();
  pair.alice.speak();
  // Bob's file is lost after it deferred, and somebody says so for it.
  pair.bob.router.onDeferred("slow", [](const DeferredFrame& frame) { until([&] { return frame.stopRequested(); }); });
  pair.bob.open();
  pair.bob.listen();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  until([&] { return pair.alice.manager->getStats().sent == 1; });
  const std::uint64_t duplicates = pair.bob.manager->getStats().duplicates;
  CHECK(pair.alice.post(ackEvent("urn:agent:bob", "again", id, "nack")).status == 200);
  until([&] { return pair.bob.manager->getStats().duplicates > duplicates; });
  CHECK(pair.alice.manager->getStats().totalRetries == 1);
}

TEST_CASE("defect 1: P5: whatever step an agent ends at, effect and mark are together, and each effect happens once") {
  Pair pair(std::chrono::milliseconds(50));
  pair.introduce();
  constexpr int kFrames = 40;
  pair.alice.open();
  for (int number = 0; number < kFrames; ++number) {
    pair.alice.say("bob", "s", number % 2 == 0 ? "slow" : "quick", std::to_string(number));
  }
  pair.alice.listen();
  pair.alice.speak();
  // Each life of Bob ends at another step of the work.
  for (std::size_t life = 0; life < 12; ++life) {
    pair.bob.start();
    until([&] { return pair.bob.effectCount("s") >= life * 3; });
    pair.bob.close();
  }
  pair.bob.start();
  until([&] { return pair.alice.live() == 0; });
  CHECK(pair.bob.effects("s") == testing::numbers(0, kFrames - 1));
  CHECK(pair.alice.manager->getStats().failed == 0);
  CHECK(pair.alice.manager->getStats().acked == kFrames);
  CHECK(OutboxReader(*pair.bob.manager).verify().clean());
}

TEST_CASE("an operator's retry and discard beside a running deferred handler reach the sender") {
  Pair pair;
  pair.introduce();
  std::atomic<int> failures = 0;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<bool> isBusy = false;
  pair.bob.router.onDeferred("stuck", [&](DeferredFrame frame) {
    if (frame.frame().data == "\"busy\"") {
      isBusy = true;
      released.wait();
    } else if (frame.frame().data == "\"never\"" || frame.startCount() == 1) {
      ++failures;
      throw std::runtime_error("not yet");
    }
    frame.finish(HandlerResult::ack());
  });
  pair.bob.retry.delays = {std::chrono::hours(1)};
  pair.bob.retry.jitter = false;
  pair.open();
  const std::string never = pair.alice.say("bob", "s", "stuck", "\"never\"");
  const std::string behind = pair.alice.say("bob", "s", "quick", "2");
  const std::string once = pair.alice.say("bob", "t", "stuck", "\"once\"");
  const std::string busy = pair.alice.say("bob", "u", "stuck", "\"busy\"");
  until([&] { return failures == 2 && isBusy; });
  OutboxManager tool = OutboxManager::open(pair.dir.file("bob.db"), pair.bob.options);
  OutboxOperator outbox(tool);
  const std::string alice = "urn:agent:alice";
  until([&] { return OutboxReader(tool).inbox({.state = InboxState::backoff}).frames.size() == 2; });
  CHECK(outbox.discardInbox(alice, busy).state == InboxState::running);
  CHECK(outbox.discardInbox(alice, never, "by-hand").done());
  CHECK(outbox.retryInbox(alice, once).done());
  until([&] { return pair.alice.live() == 1; });
  CHECK(pair.alice.manager->find(never)->state == MessageState::failed);
  CHECK(pair.alice.manager->find(never)->reason == "by-hand");
  CHECK(pair.bob.effects("s") == "2");
  until([&] { return pair.alice.acks(behind) > 0 && pair.alice.acks(once) > 0; });
  release.set_value();
  until([&] { return pair.alice.live() == 0; });
  CHECK(pair.alice.manager->getStats().failed == 1);
  CHECK(OutboxReader(tool).verify().clean());
}

}  // namespace
}  // namespace ackbox::deferred_test
