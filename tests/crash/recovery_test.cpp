// Goal: P7: the messages that a dead process had in flight are available at once, at a restart and in another process,
// while a live slow sender never loses its claims. Method: real processes hold claims against a peer that never answers
// and are killed with SIGKILL; the time to the next send is measured and printed, with a generous bound only: 100 ms
// needs a quiet machine.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "child.hpp"
#include "silent_peer.hpp"
#include "support/temp_dir.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
// Far above the delays of a busy machine, and below the timeout of the requests, after which the frames would also be
// sent again.
constexpr milliseconds kGenerous{15'000};
constexpr std::size_t kFrames = 20;

double millisecondsBetween(steady_clock::time_point from, steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// Acknowledges everything, and remembers the time of the first request and the ids of the frames.
class NotingSender final : public ackbox::Sender {
public:
  void asyncSend(ackbox::SendRequest request, ackbox::SendHandler handler) override {
    ackbox::SendReport report;
    report.outcome = ackbox::RequestOutcome::answered;
    report.results.resize(request.frames.size());
    {
      const std::scoped_lock lock(mutex_);
      firstAt_ = firstAt_.value_or(steady_clock::now());
      for (ackbox::FrameResult& result : report.results) {
        result.outcome = ackbox::Outcome::ack;
      }
      for (const ackbox::OutboundFrame& frame : request.frames) {
        sent_.insert(frame.data);
      }
    }
    changed_.notify_all();
    handler(std::move(report));
  }

  // The time of the first request, once `frames` different frames have come.
  std::optional<steady_clock::time_point> awaitFrames(std::size_t frames) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return sent_.size() >= frames; })) {
      return std::nullopt;
    }
    return firstAt_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<steady_clock::time_point> firstAt_;
  std::set<std::string> sent_;
};

main_job::Child startAgent(const ackbox::testing::TempDir& directory, const crash::SilentPeer& peer, std::size_t frames,
                           int passes) {
  return main_job::Child(AGENT_PROGRAM, {directory.file("outbox.db").string(), peer.url(), std::to_string(frames),
                                         std::to_string(passes)});
}

}  // namespace

TEST_CASE("defect 2, P7: a restart sends at once what a killed process had in flight") {
  const ackbox::testing::TempDir directory;
  crash::SilentPeer peer;
  main_job::Child first = startAgent(directory, peer, kFrames, 0);
  REQUIRE(first.readLine(kPatience) == "0");
  REQUIRE(peer.awaitRequest(kPatience));
  first.kill();

  const auto sender = std::make_shared<NotingSender>();
  const auto openedAt = steady_clock::now();
  ackbox::OutboxManager manager = ackbox::OutboxManager::open(directory.file("outbox.db"));
  manager.setSender(sender);
  manager.start();
  const auto sentAt = sender->awaitFrames(kFrames);
  REQUIRE(sentAt);
  const double delayMilliseconds = millisecondsBetween(openedAt, *sentAt);
  MESSAGE("from open to the first send: " << delayMilliseconds << " ms");
  CHECK(delayMilliseconds < static_cast<double>(kGenerous.count()));
  manager.stop();
  const ackbox::Stats stats = manager.getStats();
  CHECK(stats.acked == kFrames);
  CHECK(stats.totalRetries == 0);
}

TEST_CASE("row 2, P7: another process leaves a live slow sender its frames, and takes them over when it dies") {
  const ackbox::testing::TempDir directory;
  crash::SilentPeer peerOfFirst;
  crash::SilentPeer peerOfSecond;
  main_job::Child first = startAgent(directory, peerOfFirst, kFrames, 0);
  REQUIRE(first.readLine(kPatience) == "0");
  REQUIRE(peerOfFirst.awaitRequest(kPatience));

  constexpr int kPasses = 20;
  main_job::Child second = startAgent(directory, peerOfSecond, 0, kPasses);
  // Twenty passes over what is due claim nothing.
  REQUIRE(second.readLine(kPatience) == "0");
  REQUIRE(first.alive());
  CHECK_FALSE(peerOfSecond.awaitRequest(milliseconds(0)));

  const auto killedAt = steady_clock::now();
  first.kill();
  const auto sentAt = peerOfSecond.awaitRequest(kPatience);
  REQUIRE(sentAt);
  const double delayMilliseconds = millisecondsBetween(killedAt, *sentAt);
  MESSAGE("from SIGKILL to the second process's first send: " << delayMilliseconds << " ms");
  CHECK(delayMilliseconds < static_cast<double>(kGenerous.count()));
}

TEST_CASE("P7: a process that never stops writing takes over from a neighbour that dies") {
  const ackbox::testing::TempDir directory;
  crash::SilentPeer peer;
  main_job::Child first = startAgent(directory, peer, kFrames, 0);
  REQUIRE(first.readLine(kPatience) == "0");
  REQUIRE(peer.awaitRequest(kPatience));

  const auto sender = std::make_shared<NotingSender>();
  ackbox::OutboxManager busy = ackbox::OutboxManager::open(directory.file("outbox.db"));
  busy.setSender(sender);
  busy.start();
  std::array<std::jthread, 4> writers;
  for (std::jthread& writer : writers) {
    writer = std::jthread([&busy](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        busy.enqueue("busy", "com.example.event", R"("busy")");
      }
    });
  }
  REQUIRE(sender->awaitFrames(1));
  const auto killedAt = steady_clock::now();
  first.kill();
  REQUIRE(sender->awaitFrames(1 + kFrames));
  const double delayMilliseconds = millisecondsBetween(killedAt, steady_clock::now());
  MESSAGE("from SIGKILL to the last of what was in flight: " << delayMilliseconds << " ms");
  CHECK(delayMilliseconds < static_cast<double>(kGenerous.count()));
}
