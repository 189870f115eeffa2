// Goal: an enqueue may wait for room in a full queue: in order, bounded, and never without an answer.
// Method: a queue of one message, a peer that acknowledges, time that moves when told.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <boost/asio/use_future.hpp>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/dead_letters.hpp"
#include "support/manual_clock.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox {
namespace {

using testing::ManualClock;
using testing::ScriptedSender;

struct FullBox {
  FullBox() {
    options.clock = clock;
    options.maxPending = 1;
    options.maxWaiting = 3;
    manager.emplace(open());
    CHECK(manager->enqueue(frame("first")).isNew());
  }
  OutboxManager open() const {
    OutboxManager opened = OutboxManager::open(dir.file("agent.db"), options);
    opened.setSender(sender);
    return opened;
  }
  static Frame frame(const std::string& id) {
    Frame made;
    made.type = "test";
    made.id = id;
    return made;
  }
  std::future<EnqueueReceipt> wait(const std::string& id) {
    auto promise = std::make_shared<std::promise<EnqueueReceipt>>();
    manager->enqueueThen(frame(id), WhenFull::wait,
                         [promise](const std::error_code& error, const EnqueueReceipt& receipt) {
                           if (error) {
                             promise->set_exception(std::make_exception_ptr(std::system_error(error)));
                           } else {
                             promise->set_value(receipt);
                           }
                         });
    return promise->get_future();
  }
  static std::error_code errorOf(std::future<EnqueueReceipt>& future) {
    try {
      (void)future.get();
      return {};
    } catch (const std::system_error& error) {
      return error.code();
    }
  }

  testing::TempDir dir;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<ScriptedSender> sender = std::make_shared<ScriptedSender>(
      [](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  OutboxOptions options;
  std::optional<OutboxManager> manager;
};

TEST_CASE("an enqueue that waits for room is told of a file that cannot be written, as any other is") {
  FullBox box;
  box.manager.reset();
  box.options.busyTimeout = std::chrono::milliseconds(1);
  box.manager.emplace(box.open());
  std::future<EnqueueReceipt> second = box.wait("second");
  // A round trip: its first attempt is over.
  CHECK(box.manager->enqueue(FullBox::frame("impatient")).status == EnqueueStatus::queueFull);
  {
    SQLite::Database other(box.dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    while (second.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      box.clock->advance(std::chrono::seconds(1));
      std::this_thread::yield();
    }
  }
  CHECK(FullBox::errorOf(second) == Errc::databaseBusy);
}

TEST_CASE("row 11: enqueues wait for room and are stored in the order in which they came") {
  FullBox box;
  std::future<EnqueueReceipt> second = box.wait("second");
  std::future<EnqueueReceipt> third = box.wait("third");
  CHECK(box.manager->enqueue(FullBox::frame("impatient")).status == EnqueueStatus::queueFull);
  box.manager->start();
  CHECK(second.get().sequence == 2);
  CHECK(third.get().sequence == 3);
  box.sender->waitForFrames(3);
  box.manager->stop();
  CHECK(box.sender->frames()[1].messageId == "second");
  CHECK(box.sender->frames()[2].messageId == "third");
}

TEST_CASE("row 11: with room there is no waiting, and a waiting enqueue tells other outcomes at once") {
  FullBox box;
  CHECK(box.manager->drainOnce().acked == 1);
  CHECK(box.wait("second").get().isNew());
  CHECK(box.wait("second").get().status == EnqueueStatus::duplicate);
  Frame bad = FullBox::frame("bad");
  bad.type = "";
  box.manager->enqueueThen(bad, WhenFull::wait, [](const std::error_code& error, const EnqueueReceipt& receipt) {
    CHECK_FALSE(error);
    CHECK(receipt.status == EnqueueStatus::invalidFrame);
  });
}

TEST_CASE("row 11: only so many may wait, and one that never fits does not") {
  FullBox box;
  std::vector<std::future<EnqueueReceipt>> waiting;
  for (int count = 0; count < 3; ++count) {
    waiting.push_back(box.wait("w" + std::to_string(count)));
  }
  const EnqueueReceipt refused = box.wait("late").get();
  CHECK(refused.status == EnqueueStatus::queueFull);
  CHECK(refused.detail.find("maxWaiting") != std::string::npos);
  box.manager.reset();
  for (std::future<EnqueueReceipt>& one : waiting) {
    CHECK(FullBox::errorOf(one) == Errc::stopped);
  }
  box.options.maxPendingBytes = 10;
  box.manager.emplace(box.open());
  Frame large = FullBox::frame("large");
  large.data = R"("longer than ten bytes")";
  box.manager->enqueueThen(large, WhenFull::wait, [](const std::error_code& error, const EnqueueReceipt& receipt) {
    CHECK_FALSE(error);
    CHECK(receipt.detail.find("maxPendingBytes") != std::string::npos);
  });
}

TEST_CASE("row 11: stop ends those that wait with an error, and others may wait afterwards") {
  FullBox box;
  std::future<EnqueueReceipt> second = box.wait("second");
  // Behind an answer of the store's thread, so that the first attempt is over.
  CHECK_FALSE(box.manager->ack("nobody"));
  box.manager->stop();
  CHECK(FullBox::errorOf(second) == Errc::stopped);
  CHECK_FALSE(box.manager->find("second"));
  std::future<EnqueueReceipt> third = box.wait("third");
  box.manager->start();
  CHECK(third.get().isNew());
  box.manager->stop();
}

TEST_CASE("row 11: room that another process made is noticed, without a run in this one") {
  FullBox box;
  std::future<EnqueueReceipt> second = box.wait("second");
  OutboxManager other = box.open();
  CHECK(other.drainOnce().acked == 1);
  while (second.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    box.clock->advance(box.options.pollInterval);
  }
  CHECK(second.get().isNew());
}

TEST_CASE("row 11: asyncEnqueue can wait for room") {
  FullBox box;
  std::future<EnqueueReceipt> second =
      box.manager->asyncEnqueue(FullBox::frame("second"), WhenFull::wait, boost::asio::use_future);
  CHECK(box.manager->ack("first"));
  CHECK(second.get().isNew());
}

TEST_CASE("row 11: a redrive is not held up by a full queue") {
  FullBox box;
  CHECK(box.manager->markFailed("first").done());
  CHECK(box.wait("second").get().isNew());
  std::future<EnqueueReceipt> third = box.wait("third");
  CHECK(box.manager->retry("first").done());
  box.manager->start();
  CHECK(third.get().isNew());
  box.sender->waitForFrames(3);
  box.manager->stop();
}

}  // namespace
}  // namespace ackbox
