// Goal: `stop` and every other member may be called from any callback: it returns at once, the run ends behind it, and
// another start goes on where it left off.
// Method: callbacks of every kind, a failure function and a send function that stop, read, subscribe and unsubscribe,
// over frames of which some are refused, given up and superseded; started again until all is settled.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ackbox/outbox_manager.hpp"
#include "race/check.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

int main() {
  using namespace ackbox;
  testing::TempDir dir;
  std::atomic<OutboxManager*> known{nullptr};
  std::atomic<std::uint64_t> stops{0};
  const auto stopNow = [&] {
    if (OutboxManager* const manager = known) {
      const StopReport report = manager->stop();
      race::check(report.abandonedRequests + report.released + report.settled == 0, "stop waits for nothing here");
      (void)manager->getStats();
      (void)manager->find("unknown");
      ++stops;
    }
  };
  OutboxOptions options;
  options.retry.maxRetries = 2;
  options.retry.delays = {std::chrono::milliseconds(1)};
  options.onFailure = [&](const FailureContext& failure) {
    if (failure.retryCount == 1) {
      stopNow();
    }
    return FailureDecision::byPolicy();
  };
  OutboxManager manager = OutboxManager::open(dir.file("race.db"), options);
  std::atomic<std::uint64_t> sent{0};
  manager.setSender(std::make_shared<testing::ScriptedSender>([&](const SendRequest& request) {
    if (++sent % 7 == 0) {
      stopNow();
    }
    SendReport report = testing::ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      const std::string& type = request.frames[index].type;
      report.results[index].outcome =
          type == "refused" ? Outcome::term : (type == "later" ? Outcome::nack : Outcome::ack);
    }
    return report;
  }));

  std::atomic<std::uint64_t> ended{0};
  Subscription passing;
  std::mutex passingMutex;
  const Subscription acked = manager.onAcked([&](const AckedEvent&) {
    if (++ended % 5 == 0) {
      stopNow();
    }
    const std::scoped_lock lock(passingMutex);
    passing = manager.onSent([](const SentEvent&) {});
  });
  const Subscription failed = manager.onFailed([&](const FailedEvent&) {
    ++ended;
    stopNow();
  });
  const Subscription retried = manager.onRetry([&](const RetryEvent&) { stopNow(); });
  const Subscription superseded = manager.onSuperseded([&](const SupersededEvent&) {
    ++ended;
    stopNow();
  });
  known = &manager;

  constexpr std::uint64_t kFrames = 200;
  std::thread feeder([&] {
    for (std::uint64_t number = 0; number < kFrames; ++number) {
      Frame frame;
      frame.session = std::to_string(number % 7);
      frame.type = number % 11 == 3 ? "refused" : (number % 13 == 5 ? "later" : "taken");
      frame.supersedeKey = number % 3 == 0 ? "position" : "";
      race::check(manager.enqueue(frame).isNew(), "an enqueue stores");
    }
  });
  while (ended < kFrames) {
    try {
      manager.start();
    } catch (const Error& error) {
      race::check(error.code() == Errc::alreadyRunning, "only a run that is ending refuses a start");
    }
    std::this_thread::yield();
  }
  feeder.join();
  known = nullptr;
  manager.stop();
  const Stats stats = manager.getStats();
  race::check(stats.pending + stats.sending + stats.sent == 0, "everything is settled");
  race::check(stats.acked + stats.failedTotal + stats.superseded == kFrames, "each frame ends once");
  race::check(stops > 0, "callbacks have stopped the run");
}
