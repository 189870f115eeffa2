// Goal: a callback may wait for the store, whatever thread reports to the same callback meanwhile.
// Method: without a run, a message is retired by hand in the caller's thread; within the callback an ACK event comes
// in, which the store's thread commits and reports, and an enqueue is waited for. Waits have an end, so that a deadlock
// fails.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "protocol/signature.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::callbacks_test {
namespace {

using testing::testFrame;

constexpr std::chrono::seconds kDeadlock{10};

/// An agent that delivers nothing by itself, and takes signed ACK events of its only peer.
struct Agent {
  Agent() {
    OutboxOptions options;
    options.agent = "urn:agent:alice";
    options.clock = clock;
    options.peers = {{.name = "default", .agent = "urn:agent:bob"}};
    manager = std::make_unique<OutboxManager>(OutboxManager::open(dir.file("agent.db"), options));
    InboundOptions inbound;
    inbound.peers = {{.agents = {"urn:agent:bob"}, .secrets = SecretSource::fixed({Secret(kKey)})}};
    handler = std::make_unique<InboundHandler>(
        *manager,
        [](const InboundFrame& frame, InboundTransaction& transaction) {
          if (frame.type == "ends") {
            transaction.database().exec("ROLLBACK");
          }
          return HandlerResult::ack();
        },
        std::move(inbound));
  }

  static std::string eventOf(const std::string& message) {
    return R"({"specversion":"1.0","type":"ackbox.ack.v1","source":"urn:agent:bob","id":"event",)"
           R"("data":{"results":[{"id":")" +
           message + R"(","outcome":"ack"}]}})";
  }
  /// The answer's status.
  std::future<int> ackEvent(const std::string& message) {
    return post("application/cloudevents+json", eventOf(message));
  }
  std::future<int> post(const std::string& type, const std::string& body) {
    InboundRequest request{type, body, "event"};
    const protocol::SignatureHeaders headers =
        protocol::KeyRing(std::vector{Secret(kKey)}).sign(request.webhookId, request.body, clock->wallNow());
    request.webhookTimestamp = headers.timestamp;
    request.webhookSignature = headers.signature;
    const auto answer = std::make_shared<std::promise<int>>();
    handler->asyncHandle(std::move(request),
                         [answer](const InboundResponse& response) { answer->set_value(response.status); });
    return answer->get_future();
  }

  /// Whether an enqueue, which is queued behind what the store has to do, is committed in time.
  bool enqueues() const {
    const auto stored = std::make_shared<std::promise<std::error_code>>();
    manager->enqueueThen(testFrame("s"),
                         [stored](const std::error_code& error, const EnqueueReceipt&) { stored->set_value(error); });
    std::future<std::error_code> result = stored->get_future();
    return result.wait_for(kDeadlock) == std::future_status::ready && !result.get();
  }

  static constexpr const char* kKey = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2U=";
  testing::TempDir dir;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::unique_ptr<OutboxManager> manager;
  std::unique_ptr<InboundHandler> handler;
};

TEST_CASE("a callback may wait for the store while the store's thread reports to the same callback") {
  Agent agent;
  const std::string first = agent.manager->enqueue(testFrame("s")).messageId;
  const std::string second = agent.manager->enqueue(testFrame("t")).messageId;
  std::vector<std::string> acked;
  std::atomic<int> inside = 0;
  bool overlapped = false;
  std::future<int> answer;
  bool enqueued = false;
  const Subscription subscription = agent.manager->onAcked([&](const AckedEvent& event) {
    overlapped = overlapped || ++inside > 1;
    acked.push_back(event.messageId);
    if (event.messageId == first) {
      answer = agent.ackEvent(second);
      enqueued = agent.enqueues();
    }
    --inside;
  });
  CHECK(agent.manager->ack(first));
  CHECK(enqueued);
  CHECK(answer.get() == 200);
  // Committed behind the events before.
  CHECK(agent.enqueues());
  CHECK(acked == std::vector<std::string>{first, second});
  CHECK_FALSE(overlapped);
}

TEST_CASE("an ACK event is reported once, also where another frame of the request makes its transaction begin anew") {
  Agent agent;
  const std::string message = agent.manager->enqueue(testFrame("s")).messageId;
  int acked = 0;
  const Subscription subscription = agent.manager->onAcked([&acked](const AckedEvent&) { ++acked; });
  agent
      .post("application/cloudevents-batch+json",
            "[" + Agent::eventOf(message) +
                R"(,{"specversion":"1.0","type":"ends","source":"urn:agent:bob","id":"ends"}])")
      .wait();
  // Behind the reports of the request's commit.
  CHECK(agent.enqueues());
  CHECK(acked == 1);
}

}  // namespace
}  // namespace ackbox::callbacks_test
