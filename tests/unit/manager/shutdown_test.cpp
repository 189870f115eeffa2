// Goal: the contract of `stop` and of destruction: no further claims, a bounded wait, what is claimed goes back without
// a charge, counts, a second call at once, and safe from wherever user code runs.
// Method: a real file and real threads; every wait is for a condition.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::shutdown_test {
namespace {

using std::chrono::milliseconds;
using testing::ScriptedSender;
using testing::TempDir;
using testing::testFrame;

struct Outbox {
  explicit Outbox(milliseconds stopTimeout = milliseconds(5000)) {
    OutboxOptions options;
    options.stopTimeout = stopTimeout;
    manager = std::make_unique<OutboxManager>(OutboxManager::open(dir.file("agent.db"), options));
    manager->setSender(sender);
  }

  TempDir dir;
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  std::unique_ptr<OutboxManager> manager;
};

/// Called from user code of some kind: stops once, and says so. A stop that waited for its own caller would never
/// return.
class StopOnce {
public:
  explicit StopOnce(Outbox& box) : box_(box) {}

  void operator()() {
    if (!called_.exchange(true)) {
      const StopReport report = box_.manager->stop();
      CHECK(report.released + report.settled + report.abandonedRequests == 0);
      returned_.release();
    }
  }
  void await() { returned_.acquire(); }

private:
  Outbox& box_;
  std::atomic<bool> called_ = false;
  std::binary_semaphore returned_{0};
};

}  // namespace

TEST_CASE("row 5: a stop from any callback returns at once, and the run ends behind it") {
  Outbox box;
  StopOnce stop(box);
  Subscription subscription;
  SUBCASE("onSent") {
    subscription = box.manager->onSent([&](const SentEvent&) { stop(); });
  }
  SUBCASE("onAcked") {
    subscription = box.manager->onAcked([&](const AckedEvent&) { stop(); });
  }
  SUBCASE("onFailed") {
    box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::term); });
    subscription = box.manager->onFailed([&](const FailedEvent&) { stop(); });
  }
  SUBCASE("onRetry") {
    box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::nack); });
    subscription = box.manager->onRetry([&](const RetryEvent&) { stop(); });
  }
  SUBCASE("a sender") {
    box.sender->setScript([&](const SendRequest& request) {
      stop();
      return ScriptedSender::all(request, Outcome::ack);
    });
  }
  SUBCASE("a send function") {
    box.manager->setSendFunction([&](const std::string&, const OutboundFrame&) {
      stop();
      return SendFunctionResult{true, {}, true};
    });
  }
  SUBCASE("the callback of enqueueThen, on the store's thread") {
    box.manager->start();
    box.manager->enqueueThen(testFrame("t"), [&](const std::error_code&, const EnqueueReceipt&) { stop(); });
  }
  box.manager->enqueue(testFrame("s"));
  box.manager->start();
  stop.await();
  box.manager->stop();
  // Nothing runs any more, so a pass may.
  box.manager->setSender(ScriptedSender::always(Outcome::ack));
  CHECK_NOTHROW(box.manager->drainOnce());
  CHECK(box.manager->getStats().sending == 0);
}

TEST_CASE("row 5: a stop from a callback of a claim's settle, or from the store's thread, puts claims back") {
  Outbox box;
  StopReport report;
  box.manager->enqueue(testFrame("s"));
  box.manager->enqueue(testFrame("t"));
  const std::vector<Claim> claims = PullConsumer(*box.manager).claim(2);
  REQUIRE(claims.size() == 2);
  SUBCASE("onAcked") {
    const Subscription acked = box.manager->onAcked([&](const AckedEvent&) { report = box.manager->stop(); });
    CHECK(PullConsumer(*box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
    CHECK(report.released == 1);
    CHECK(PullConsumer(*box.manager).settle(claims[1], Outcome::ack) == SettleStatus::late);
  }
  SUBCASE("the callback of enqueueThen") {
    CHECK(PullConsumer(*box.manager).settle(claims[0], Outcome::ack) == SettleStatus::settled);
    std::promise<void> called;
    box.manager->enqueueThen(testFrame("s"), [&](const std::error_code&, const EnqueueReceipt&) {
      report = box.manager->stop();
      called.set_value();
    });
    called.get_future().wait();
    CHECK(report.released == 0);
    // It completes behind the callback.
    while (box.manager->getStats().sending != 0) {
      std::this_thread::yield();
    }
  }
  CHECK(box.manager->find(claims[1].frame.messageId)->state == MessageState::pending);
  CHECK(box.manager->find(claims[1].frame.messageId)->retryCount == 0);
}

TEST_CASE("row 5: claims by hand go back with the manager's stop and with its end, uncharged and counted") {
  Outbox box;
  const std::string id = box.manager->enqueue(testFrame("s")).messageId;
  REQUIRE(PullConsumer(*box.manager).claim(1).size() == 1);
  CHECK(box.manager->stop().released == 1);
  CHECK(box.manager->stop().released == 0);
  CHECK(box.manager->find(id)->state == MessageState::pending);
  REQUIRE(PullConsumer(*box.manager).claim(1).size() == 1);
  box.manager.reset();
  const OutboxManager again = OutboxManager::open(box.dir.file("agent.db"));
  CHECK(again.find(id)->state == MessageState::pending);
  CHECK(again.find(id)->retryCount == 0);
}

TEST_CASE("row 5: a stop counts what was settled while it waited, and waits no longer than stopTimeout") {
  Outbox box;
  SUBCASE("the answer comes while it waits") {
    std::binary_semaphore sent{0};
    std::promise<void> answer;
    box.manager->setSendFunction([&](const std::string&, const OutboundFrame&) {
      sent.release();
      answer.get_future().wait();
      return SendFunctionResult{true, {}, true};
    });
    box.manager->enqueue(testFrame("s"));
    box.manager->start();
    sent.acquire();
    auto stopping = std::async(std::launch::async, [&] { return box.manager->stop(); });
    answer.set_value();
    const StopReport report = stopping.get();
    CHECK(report.abandonedRequests == 0);
    // The answer may have been quicker than the stop.
    CHECK(report.settled <= 1);
    CHECK(report.released == 0);
    CHECK(box.manager->getStats().acked == 1);
  }
  SUBCASE("the answer comes when nobody waits any more") {
    Outbox impatient(milliseconds(1));
    std::binary_semaphore sent{0};
    std::promise<void> answer;
    impatient.manager->setSendFunction([&](const std::string&, const OutboundFrame&) {
      sent.release();
      answer.get_future().wait();
      return SendFunctionResult{true, {}, true};
    });
    impatient.manager->enqueue(testFrame("s"));
    impatient.manager->start();
    sent.acquire();
    CHECK(impatient.manager->stop().abandonedRequests == 1);
    answer.set_value();
    // It is nobody's: the next run sends the message again.
    std::binary_semaphore acked{0};
    const Subscription subscription = impatient.manager->onAcked([&](const AckedEvent&) { acked.release(); });
    impatient.manager->setSender(ScriptedSender::always(Outcome::ack));
    impatient.manager->start();
    acked.acquire();
    CHECK(impatient.manager->getStats().acked == 1);
  }
  SUBCASE("no answer comes") {
    Outbox impatient(milliseconds(1));
    const auto silent = std::make_shared<testing::SilentSender>();
    impatient.manager->setSender(silent);
    impatient.manager->enqueue(testFrame("s"));
    impatient.manager->start();
    silent->waitForFrames(1);
    const StopReport report = impatient.manager->stop();
    CHECK(report.abandonedRequests == 1);
    CHECK(report.released == 1);
    CHECK(report.settled == 0);
    CHECK(impatient.manager->stop().released == 0);
  }
}

TEST_CASE("row 5: a manager may end inside a callback of its own") {
  Outbox box;
  std::binary_semaphore ended{0};
  std::atomic<bool> done = false;
  const Subscription acked = box.manager->onAcked([&](const AckedEvent&) {
    if (!done.exchange(true)) {
      box.manager.reset();
      ended.release();
    }
  });
  OutboxManager& manager = *box.manager;
  manager.start();
  manager.enqueueThen(testFrame("s"), [](const std::error_code&, const EnqueueReceipt&) {});
  ended.acquire();
  const OutboxManager again = OutboxManager::open(box.dir.file("agent.db"));
  CHECK(again.getStats().sending == 0);
}

}  // namespace ackbox::shutdown_test
