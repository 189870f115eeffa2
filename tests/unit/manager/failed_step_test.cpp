// Goal: what was decided in a step that could not be committed stays decided, all of it, and is committed by a later
// step: settles, releases and what is known of peers (P3, P4, P8).
// Method: a disk in memory that is full when told; a run that the test turns by hand, and claims by hand; afterwards
// the file is asked, through the next claim and through another manager.

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/async.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/log.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/pull.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_disk.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox::failed_step_test {
namespace {

using testing::DiskCall;
using testing::ScriptedSender;
using testing::testFrame;

struct FullDisk {
  FullDisk() {
    disk.onCall = [this](DiskCall call, const std::string& path) {
      if (!isFull || call != DiskCall::write || !path.ends_with("-wal")) {
        return SQLITE_OK;
      }
      ++refusals;
      return SQLITE_FULL;
    };
    options.vfs = disk.name();
    options.clock = clock;
    options.random = seededRandom(1);
    options.pollInterval = std::chrono::hours(1);
    options.sharedPollInterval = std::chrono::hours(1);
    options.peerHealth.probeDelays = {std::chrono::hours(1)};
    options.log = [this](const LogRecord& record) { failures += record.event == "unwell" ? 1 : 0; };
    manager = std::make_unique<OutboxManager>(open());
    sender->setScript([this](const SendRequest& request) {
      isFull = fullAtNextAnswer.exchange(false);
      return answer(request);
    });
    manager->setSender(sender);
  }
  OutboxManager open() const { return OutboxManager::open(dir.file("agent.db"), options); }
  [[nodiscard]] bool isDown() const { return OutboxReader(*manager).peers().front().state == PeerState::down; }

  testing::TempDir dir;
  testing::MemoryDisk disk;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  std::function<SendReport(const SendRequest&)> answer = [](const SendRequest& request) {
    return ScriptedSender::all(request, Outcome::ack);
  };
  OutboxOptions options;
  std::atomic<bool> isFull{false};
  std::atomic<bool> fullAtNextAnswer{false};
  std::atomic<int> refusals{0};
  // Commits that were given up, as the log says.
  std::atomic<int> failures{0};
  std::unique_ptr<OutboxManager> manager;
};

/// A run on an executor that the test turns.
struct TurnedRun : FullDisk {
  TurnedRun() {
    manager->asyncRun(context.get_executor(),
                      boost::asio::bind_executor(context, [this](boost::system::error_code) { hasEnded = true; }));
  }
  ~TurnedRun() {
    manager->stop();
    turnUntil([this] { return hasEnded; });
  }
  TurnedRun(const TurnedRun&) = delete;
  TurnedRun& operator=(const TurnedRun&) = delete;

  void turnUntil(const std::function<bool()>& isReached, std::chrono::milliseconds step = {}) {
    while (!isReached()) {
      if (step.count() > 0) {
        clock->advance(step);
      }
      context.poll();
      std::this_thread::yield();
    }
  }
  /// Sends one message, whose answer the full disk keeps from being committed; then there is room again.
  void sendInVain() {
    REQUIRE(manager->enqueue(testFrame("s")).isNew());
    const int before = failures;
    fullAtNextAnswer = true;
    // Not the first refused write alone: the writer makes room, and tries once more.
    turnUntil([&] { return failures > before; });
    isFull = false;
  }

  boost::asio::io_context context;
  bool hasEnded = false;
};

std::error_code errorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

TEST_CASE("P3 P4: a run's settle and release that a full disk refused are committed when there is room") {
  TurnedRun run;
  run.sendInVain();
  CHECK(run.manager->getStats().acked == 0);
  run.turnUntil([&] { return run.manager->getStats().acked == 1; }, std::chrono::milliseconds(50));
  CHECK(run.manager->getStats().sending == 0);
  REQUIRE(run.manager->enqueue(testFrame("s")).isNew());
  run.turnUntil([&] { return run.manager->getStats().acked == 2; });
  const std::vector<OutboundFrame> sent = run.sender->frames();
  REQUIRE(sent.size() == 2);
  // Only the release says what the session stands by.
  CHECK(sent[1].previousSequence == 1);
  CHECK(OutboxReader(*run.manager).verify().clean());
}

TEST_CASE("P8: that a peer is down is written though the disk was full when it was found out") {
  TurnedRun run;
  run.answer = [](const SendRequest&) { return ScriptedSender::failed(RequestOutcome::peerUnavailable, "refused"); };
  run.sendInVain();
  CHECK_FALSE(run.isDown());
  run.turnUntil([&] { return run.isDown(); }, std::chrono::milliseconds(50));
  CHECK(run.manager->getStats().sending == 0);
  CHECK(run.manager->getStats().pending == 1);
  CHECK(run.manager->getStats().totalRetries == 0);
  CHECK(run.sender->requests() == 1);
}

TEST_CASE("P4: a claim that a full disk refused is made again, and everything goes in order") {
  TurnedRun run;
  run.turnUntil([&] { return run.manager->getStats().sending == 0; });
  for (int message = 0; message < 3; ++message) {
    REQUIRE(run.manager->enqueue(testFrame("s")).isNew());
  }
  run.isFull = true;
  run.turnUntil([&] { return run.refusals > 0; });
  run.isFull = false;
  run.turnUntil([&] { return run.manager->getStats().acked == 3; }, std::chrono::milliseconds(50));
  const std::vector<OutboundFrame> sent = run.sender->frames();
  REQUIRE(sent.size() == 3);
  for (std::size_t index = 0; index < 3; ++index) {
    CHECK(sent[index].sequence == index + 1);
    CHECK(sent[index].previousSequence == index);
  }
}

TEST_CASE("P3 P4: a claim's settle and release that a full disk refused go with the next call") {
  FullDisk box;
  REQUIRE(box.manager->enqueue(testFrame("s")).isNew());
  const std::vector<Claim> first = PullConsumer(*box.manager).claim(10);
  REQUIRE(first.size() == 1);
  box.isFull = true;
  CHECK(errorOf([&] { PullConsumer(*box.manager).settle(first.front(), Outcome::ack); }) == Errc::diskFull);
  CHECK(errorOf([&] { PullConsumer(*box.manager).settle(first.front(), Outcome::ack); }) == Errc::diskFull);
  box.isFull = false;
  CHECK(PullConsumer(*box.manager).settle(first.front(), Outcome::ack) == SettleStatus::settled);
  CHECK(box.manager->getStats().acked == 1);
  REQUIRE(box.manager->enqueue(testFrame("s")).isNew());
  const std::vector<Claim> second = PullConsumer(*box.manager).claim(10);
  REQUIRE(second.size() == 1);
  CHECK(second.front().frame.previousSequence == 1);
  CHECK(PullConsumer(*box.manager).settle(second.front(), Outcome::ack) == SettleStatus::settled);
  CHECK(OutboxReader(*box.manager).verify().clean());
}

TEST_CASE(
    "P8: what a full disk refused of a release by hand is committed later: the session is anybody's, the peer down") {
  FullDisk box;
  REQUIRE(box.manager->enqueue(testFrame("s")).isNew());
  const std::vector<Claim> claims = PullConsumer(*box.manager).claim(10);
  REQUIRE(claims.size() == 1);
  box.isFull = true;
  CHECK(errorOf([&] { PullConsumer(*box.manager).release(claims.front(), "refused"); }) == Errc::diskFull);
  box.isFull = false;
  CHECK_FALSE(box.isDown());
  CHECK(PullConsumer(*box.manager).release(claims.front(), "refused") == SettleStatus::settled);
  CHECK(box.isDown());
  OutboxManager other = box.open();
  box.clock->advance(std::chrono::hours(2));
  const std::vector<Claim> others = PullConsumer(other).claim(10);
  REQUIRE(others.size() == 1);
  CHECK(others.front().frame.retryCount == 0);
  CHECK(PullConsumer(other).settle(others.front(), Outcome::ack) == SettleStatus::settled);
}

TEST_CASE("P4: what a full disk refused to claim by hand is claimed by the next call, one of a session at a time") {
  FullDisk box;
  for (int message = 0; message < 2; ++message) {
    REQUIRE(box.manager->enqueue(testFrame("s")).isNew());
  }
  CHECK(PullConsumer(*box.manager).claim(0).empty());
  box.isFull = true;
  CHECK(errorOf([&] { PullConsumer(*box.manager).claim(10); }) == Errc::diskFull);
  box.isFull = false;
  const std::vector<Claim> claims = PullConsumer(*box.manager).claim(10);
  REQUIRE(claims.size() == 1);
  CHECK(claims.front().frame.sequence == 1);
  CHECK(PullConsumer(*box.manager).settle(claims.front(), Outcome::ack) == SettleStatus::settled);
  CHECK(PullConsumer(*box.manager).claim(10).size() == 1);
}

}  // namespace ackbox::failed_step_test
