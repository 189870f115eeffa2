// Goal: starting and draining wait for no thread that waits for them (row 5).
// Method: a sender that leaves a call behind on the run's executor, which is made on the thread of the ended run while
// another thread's stop joins it.

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <semaphore>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "support/asleep.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::run_threads_test {
namespace {

/// Calls `late` once, behind the end of the run that stops it.
struct LateCaller final : Sender {
  void start(const boost::asio::any_io_executor& given) override { executor = given; }
  void asyncSend(SendRequest request, SendHandler handler) override {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    FrameResult acknowledged;
    acknowledged.outcome = Outcome::ack;
    report.results.assign(request.frames.size(), acknowledged);
    handler(std::move(report));
  }
  void stop() override {
    if (const auto call = std::exchange(late, nullptr)) {
      // The run's end is posted after the first.
      boost::asio::post(executor, [target = executor, call] { boost::asio::post(target, call); });
    }
  }

  boost::asio::any_io_executor executor;
  std::function<void()> late;
};

}  // namespace

TEST_CASE("row 5: what is called on the thread of an ended run may start and drain, though a stop joins that thread") {
  const testing::TempDir dir;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    OutboxManager manager = OutboxManager::open(dir.file("agent.db"), {});
    const auto sender = std::make_shared<LateCaller>();
    const pid_t stopper = gettid();
    std::binary_semaphore hasReturned{0};
    sender->late = [&, isDrain = round % 2 == 0] {
      testing::untilAsleep(stopper);
      if (isDrain) {
        manager.drainOnce();
      } else {
        manager.start();
      }
      hasReturned.release();
    };
    manager.setSender(sender);
    manager.start();
    manager.stop();
    hasReturned.acquire();
    manager.enqueue(testing::testFrame("s"));
    manager.stop();
    if (round % 2 != 0) {
      manager.drainOnce();
    }
  }
}

TEST_CASE("row 5: what is called on the thread of a run that ended itself may start the next run") {
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), {});
  const auto sender = std::make_shared<LateCaller>();
  std::binary_semaphore hasRestarted{0};
  sender->late = [&] {
    manager.start();
    hasRestarted.release();
  };
  manager.setSender(sender);
  std::binary_semaphore isAcked{0};
  bool isFirst = true;
  const Subscription acked = manager.onAcked([&](const AckedEvent&) {
    if (std::exchange(isFirst, false)) {
      manager.stop();
    } else {
      isAcked.release();
    }
  });
  manager.start();
  manager.enqueue(testing::testFrame("s"));
  hasRestarted.acquire();
  manager.enqueue(testing::testFrame("s"));
  isAcked.acquire();
  manager.stop();
}

}  // namespace ackbox::run_threads_test
