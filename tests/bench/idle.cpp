// What an outbox costs while nothing is said, alone with its file and beside another process that has it open, and how
// soon it then sends what that process has committed. The share of a core is worth quoting from `--seconds 60` on.

#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/sender.hpp"
#include "bench/neighbour.hpp"
#include "bench/operation.hpp"
#include "bench/pace.hpp"
#include "bench/rest.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSettling{200};

/// Acknowledges at once, and knows when each frame was first given to it.
class InstantSender final : public Sender {
public:
  void asyncSend(SendRequest request, SendHandler handler) override {
    const auto now = steady_clock::now();
    SendReport report;
    report.outcome = RequestOutcome::answered;
    {
      const std::scoped_lock lock(mutex_);
      sends_.insert(sends_.end(), request.frames.size(), now);
      came_.notify_all();
    }
    for (std::size_t frame = 0; frame < request.frames.size(); ++frame) {
      report.results.emplace_back().outcome = Outcome::ack;
    }
    handler(std::move(report));
  }

  [[nodiscard]] steady_clock::time_point await(std::size_t place) {
    constexpr std::chrono::seconds kPatience{30};
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, kPatience, [&] { return sends_.size() > place; })) {
      throw std::runtime_error("what another process committed was not sent");
    }
    return sends_[place];
  }

  [[nodiscard]] std::size_t sends() {
    const std::scoped_lock lock(mutex_);
    return sends_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<steady_clock::time_point> sends_;
};

std::chrono::milliseconds shortened(const Settings& settings) {
  return settings.count != 0 ? kSettling : settings.duration;
}

/// Of one core, by this whole process, whose main thread rests meanwhile.
double cpuPercent(const Settings& settings) {
  rest(kSettling);
  const double before = ownCpuMicroseconds();
  const auto start = steady_clock::now();
  rest(shortened(settings));
  const double elapsed = std::chrono::duration<double, std::micro>(steady_clock::now() - start).count();
  return 100 * (ownCpuMicroseconds() - before) / elapsed;
}

struct Wakes {
  Latencies fromCommit;
  Latencies fromCall;
  Latencies throughPipe;
};

Wakes wakesBy(const Settings& settings, Neighbour& neighbour, InstantSender& sender) {
  // Not in step with any poll.
  constexpr std::array kRestsMilliseconds{23, 31, 37, 29, 41};
  Wakes wakes;
  std::size_t place = sender.sends();
  const auto end = steady_clock::now() + shortened(settings);
  for (std::size_t turn = 0; turn < kRestsMilliseconds.size() || steady_clock::now() < end; ++turn) {
    rest(std::chrono::milliseconds(kRestsMilliseconds[turn % kRestsMilliseconds.size()]));
    wakes.throughPipe.add(neighbour.pipeWake());
    rest(std::chrono::milliseconds(1));
    const Neighbour::Enqueued enqueued = neighbour.enqueue();
    const steady_clock::time_point sent = sender.await(place++);
    wakes.fromCall.add(sent - enqueued.called);
    // Sent before the other process had come back from its own commit is at once.
    wakes.fromCommit.add(std::max(sent - enqueued.returned, steady_clock::duration(0)));
  }
  if (sender.sends() != place) {
    throw std::runtime_error("a frame was sent more than once");
  }
  return wakes;
}

}  // namespace

Measurement idle(const Settings& settings) {
  const std::filesystem::path file = freshDatabase(settings.folder, "idle");
  Measurement measurement;
  {
    const auto sender = std::make_shared<InstantSender>();
    OutboxManager manager = OutboxManager::open(file, outboxOptions(Durability::powerCut));
    manager.setSender(sender);
    manager.start();
    (void)manager.enqueue(frameOf(0));
    (void)sender->await(0);
    measurement.figure("alone_cpu_percent", cpuPercent(settings));
    Neighbour neighbour(file);
    measurement.figure("shared_cpu_percent", cpuPercent(settings));
    Wakes wakes = wakesBy(settings, neighbour, *sender);
    addLatencies(measurement.figures, "commit_to_send", wakes.fromCommit);
    addLatencies(measurement.figures, "enqueue_to_send", wakes.fromCall);
    addLatencies(measurement.baselines, "pipe_wake", wakes.throughPipe);
    measurement.ratio("commit_to_send_p50_over_pipe_wake", wakes.fromCommit.percentile(0.5),
                      wakes.throughPipe.percentile(0.5));
    neighbour.finish();
    manager.stop();
  }
  removeDatabase(file);
  return measurement;
}

}  // namespace ackbox::bench
