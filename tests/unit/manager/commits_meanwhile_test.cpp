// Goal: whatever is committed or changed while a run is at a step, the run loses none of it.
// Method: a disk in memory that holds up a commit, an executor that the test turns by hand; and sends that enqueue.

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/memory_disk.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::commits_meanwhile_test {
namespace {

using testing::DiskCall;
using testing::ScriptedSender;
using testing::testFrame;

// For a run that has stalled.
constexpr std::chrono::seconds kPatience{5};

}  // namespace

TEST_CASE("a session that is resumed while a claim of it comes back refused goes on") {
  std::atomic<bool> holdsUp{false};
  std::binary_semaphore inCommit{0};
  std::binary_semaphore goOn{0};
  testing::MemoryDisk disk;
  disk.onCall = [&](DiskCall call, const std::string& path) {
    if (call == DiskCall::write && path.ends_with("-wal") && holdsUp.exchange(false)) {
      inCommit.release();
      goOn.acquire();
    }
    return SQLITE_OK;
  };
  const testing::TempDir dir;
  OutboxOptions options;
  options.vfs = disk.name();
  options.pollInterval = std::chrono::hours(1);
  auto manager = std::make_unique<OutboxManager>(OutboxManager::open(dir.file("agent.db"), options));
  manager->setSender(ScriptedSender::always(Outcome::ack));
  int acked = 0;
  const Subscription subscription = manager->onAcked([&acked](const AckedEvent&) { ++acked; });
  boost::asio::io_context context;
  bool hasEnded = false;
  manager->asyncRun(context.get_executor(),
                    boost::asio::bind_executor(context, [&](boost::system::error_code) { hasEnded = true; }));
  const auto runUntil = [&](const auto& isReached) {
    while (!isReached() && context.run_one_for(kPatience) != 0) {
    }
    return isReached();
  };
  manager->enqueue(testFrame("first"));
  REQUIRE(runUntil([&] { return acked == 1; }));

  OutboxOperator(*manager).pause("default", "halted");
  context.poll();
  manager->enqueue(testFrame("halted"));
  holdsUp = true;
  std::thread other([&] { manager->enqueue(testFrame("other")); });
  inCommit.acquire();
  // The run asks for a claim of the halted session, which waits for that commit.
  context.poll_one();
  goOn.release();
  other.join();
  // And this one follows the claim.
  OutboxOperator(*manager).resume("default", "halted");
  CHECK(runUntil([&] { return acked == 3; }));

  manager->stop();
  CHECK(runUntil([&] { return hasEnded; }));
}

TEST_CASE("processAll also sends what was enqueued while the last message was being sent") {
  constexpr int kLinks = 200;
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"));
  int sent = 0;
  manager.setSendFunction([&](const std::string&, const OutboundFrame&) {
    if (++sent < kLinks) {
      manager.enqueue(testFrame("chain"));
    }
    return SendFunctionResult{true, {}, true};
  });
  manager.enqueue(testFrame("chain"));
  CHECK(manager.processAll().acked == kLinks);
  CHECK(manager.getStats().pending == 0);
}

TEST_CASE("processAll also sends what a subscriber enqueued when it was told of the last message") {
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"));
  manager.setSender(ScriptedSender::always(Outcome::ack));
  int told = 0;
  const Subscription subscription = manager.onAcked([&](const AckedEvent&) {
    if (++told < 10) {
      manager.enqueue(testFrame("chain"));
    }
  });
  manager.enqueue(testFrame("chain"));
  CHECK(manager.processAll().acked == 10);
  CHECK(manager.getStats().pending == 0);
}

TEST_CASE("a pass that fails while there is more to read ends when nothing of it is under way, and loses nothing") {
  // More than are read at a time.
  constexpr int kRows = 5'000;
  std::atomic<bool> isFull{false};
  testing::MemoryDisk disk;
  disk.onCall = [&](DiskCall call, const std::string& path) {
    return isFull && call == DiskCall::write && path.ends_with("-wal") ? SQLITE_FULL : SQLITE_OK;
  };
  const testing::TempDir dir;
  OutboxOptions options;
  options.vfs = disk.name();
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  manager.setSender(ScriptedSender::always(Outcome::ack));
  std::vector<Frame> frames;
  for (int row = 0; row < kRows; ++row) {
    frames.push_back(testFrame("s" + std::to_string(row % 100)));
  }
  manager.enqueueBatch(frames);
  isFull = true;
  for (int pass = 0; pass < 10; ++pass) {
    CHECK_THROWS_AS(manager.processAll(), Error);
  }
  isFull = false;
  CHECK(manager.processAll().acked == kRows);
  CHECK(OutboxReader(manager).verify().findings.empty());
}

}  // namespace ackbox::commits_meanwhile_test
