// Goal: a lone message costs three commits, its own, its claim and its settling, and no changes of threads for them,
// where the run's thread is the manager's own, or the caller claims it by hand; a crowd shares its commits; an executor
// that is the caller's never waits for one. Method: a disk in memory that notes which thread writes to the log. A
// commit is one write.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"
#include "support/memory_disk.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::lone_message_test {
namespace {

using testing::DiskCall;
using testing::ScriptedSender;
using testing::testFrame;

struct Agent {
  Agent() {
    disk.onCall = [this](DiskCall call, const std::string& path) {
      if (call == DiskCall::write && path.ends_with("-wal")) {
        const std::scoped_lock lock(mutex);
        writers.push_back(std::this_thread::get_id());
      }
      return SQLITE_OK;
    };
    options.vfs = disk.name();
    // Nothing is written but what the messages need; nor room for what is synced.
    options.durability = Durability::processCrash;
    options.pollInterval = std::chrono::hours(1);
    options.batchFrames = 1;
    options.peers.emplace_back().maxRequests = 16;
    manager = std::make_unique<OutboxManager>(OutboxManager::open(dir.file("agent.db"), options));
    manager->setSender(sender);
    subscription = manager->onAcked([this](const AckedEvent&) {
      runsIn = std::this_thread::get_id();
      acked.release();
    });
  }

  void deliver(int messages) {
    for (int message = 0; message < messages; ++message) {
      REQUIRE(manager->enqueue(testFrame("s")).isNew());
      acked.acquire();
    }
  }

  std::vector<std::thread::id> takeWriters() {
    const std::scoped_lock lock(mutex);
    return std::exchange(writers, {});
  }

  testing::TempDir dir;
  testing::MemoryDisk disk;
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<std::thread::id> writers;
  OutboxOptions options;
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  std::unique_ptr<OutboxManager> manager;
  Subscription subscription;
  // Written before `acked` is released, read after.
  std::thread::id runsIn;
  std::counting_semaphore<> acked{0};
};

}  // namespace

TEST_CASE(
    "lone messages are stored by one commit of the caller's thread, and claimed and settled by two of the run's") {
  Agent agent;
  agent.manager->start();
  agent.deliver(5);
  agent.takeWriters();
  agent.deliver(5);
  const std::vector<std::thread::id> writers = agent.takeWriters();
  const auto here = std::ranges::count(writers, std::this_thread::get_id());
  const auto inTheRun = std::ranges::count(writers, agent.runsIn);
  CHECK(here == 5);
  CHECK(inTheRun == 10);
  CHECK(writers.size() == 15);
}

TEST_CASE(
    "P4 P7: what settles a lone message frees its session: the next message names it, and any process may have it") {
  Agent agent;
  agent.manager->start();
  agent.deliver(2);
  const std::vector<OutboundFrame> sent = agent.sender->frames();
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].previousSequence == 1);
  OutboxManager other = OutboxManager::open(agent.dir.file("agent.db"), agent.options);
  REQUIRE(other.enqueue(testFrame("s")).isNew());
  const std::vector<Claim> claims = PullConsumer(other).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims.front().frame.previousSequence == 2);
  CHECK(PullConsumer(other).settle(claims.front(), Outcome::ack) == SettleStatus::settled);
}

TEST_CASE("a crowd is claimed and settled by few commits, however few frames a request takes") {
  Agent agent;
  std::vector<Frame> frames;
  for (int session = 0; session < 320; ++session) {
    frames.push_back(testFrame(std::to_string(session)));
  }
  agent.manager->enqueueBatch(frames);
  agent.takeWriters();
  agent.manager->start();
  for (std::size_t count = 0; count < frames.size(); ++count) {
    agent.acked.acquire();
  }
  // One by one they would take 640.
  CHECK(agent.takeWriters().size() < 120);
}

TEST_CASE("what is claimed and settled by hand is committed by the caller's thread") {
  Agent agent;
  agent.manager->enqueue(testFrame("s"));
  for (const Claim& claim : PullConsumer(*agent.manager).claim(10)) {
    PullConsumer(*agent.manager).release(claim);
  }
  agent.takeWriters();
  const std::vector<Claim> claims = PullConsumer(*agent.manager).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(PullConsumer(*agent.manager).settle(claims.front(), Outcome::ack) == SettleStatus::settled);
  const std::vector<std::thread::id> writers = agent.takeWriters();
  CHECK(writers.size() >= 2);
  CHECK(std::ranges::count(writers, std::this_thread::get_id()) == std::ssize(writers));
}

TEST_CASE("an executor of the caller's commits nothing") {
  Agent agent;
  boost::asio::io_context context;
  std::optional guard(boost::asio::make_work_guard(context));
  agent.manager->asyncRun(context.get_executor(),
                          boost::asio::bind_executor(context, [&guard](boost::system::error_code) { guard.reset(); }));
  std::thread runner([&context] { context.run(); });
  agent.deliver(10);
  agent.manager->stop();
  runner.join();
  CHECK(std::ranges::count(agent.takeWriters(), agent.runsIn) == 0);
}

}  // namespace ackbox::lone_message_test
