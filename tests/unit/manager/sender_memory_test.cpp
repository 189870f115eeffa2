// Goal: P9: what a sender keeps in memory does not grow with the messages that it has delivered, and grows by a known
// number of bytes with each session that its run has seen. Method: a run delivers to a peer that acknowledges at once;
// the program's own allocations are counted after its caches are warm.

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "hostile/memory_meter.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace ackbox {
namespace {

/// Acknowledges everything and remembers how much it was.
class Counting final : public Sender {
public:
  void asyncSend(SendRequest request, SendHandler handler) override {
    handler(testing::ScriptedSender::all(request, Outcome::ack));
    const std::scoped_lock lock(mutex_);
    frames_ += request.frames.size();
    changed_.notify_all();
  }
  void waitFor(std::size_t frames) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return frames_ >= frames; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t frames_ = 0;
};

/// Bytes in use at the worst moment while `count` messages are delivered, a few at a time, behind as many before.
std::size_t growthOver(std::size_t count, const std::function<std::string(std::size_t)>& sessionOf) {
  constexpr std::size_t kTogether = 64;
  const testing::TempDir dir;
  OutboxOptions options;
  options.durability = Durability::processCrash;
  OutboxManager manager = OutboxManager::open(dir.file("outbox.db"), options);
  const auto sender = std::make_shared<Counting>();
  manager.setSender(sender);
  manager.start();
  std::size_t sent = 0;
  const auto deliver = [&](std::size_t until) {
    while (sent < until) {
      for (std::size_t place = 0; place < kTogether; ++place, ++sent) {
        Frame frame = testing::testFrame(sessionOf(sent));
        manager.enqueueThen(frame, [](const std::error_code&, const EnqueueReceipt&) {});
      }
      sender->waitFor(sent);
    }
  };
  deliver(count);
  const testing::MemoryMeter meter;
  deliver(2 * count);
  const std::size_t growth = meter.peakGrowth();
  manager.stop();
  return growth;
}

// What a transaction and its messages take while they are under way, and caches that are not quite warm.
constexpr std::size_t kUnderWay = std::size_t{512} << 10U;
constexpr std::size_t kMessages = 8'192;

}  // namespace

TEST_CASE("P9: messages that were delivered take no memory, in sessions that go on and outside any") {
  for (const std::size_t sessions : {0U, 1U, 100U}) {
    CAPTURE(sessions);
    const std::size_t growth = growthOver(kMessages, [sessions](std::size_t number) {
      return sessions == 0 ? std::string() : "s" + std::to_string(number % sessions);
    });
    CHECK(growth < kUnderWay);
  }
}

// A run remembers each, and the caches of the file hold up to 100,000: the rest is the run's.
TEST_CASE("P9: a session that is over takes less than 1 KiB until the run ends") {
  const std::size_t growth =
      growthOver(kMessages, [](std::size_t number) { return "session-" + std::to_string(number); });
  MESSAGE("bytes a session: " << growth / kMessages);
  CHECK(growth < kUnderWay + kMessages * 1'024);
}

}  // namespace ackbox
