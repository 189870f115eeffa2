// One message at a time on an idle system: the time from the call of enqueue to that of the onAcked callback, back to
// back and after 20 ms of rest (when processor and disk have gone to sleep), in sessions that go on, and back to back
// where each message is the first of a session. The floor, which has no sessions, does the same two synced inserts
// and the same round trip, and nothing else.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <semaphore>
#include <stdexcept>
#include <string>

#include "bench/floor_link.hpp"
#include "bench/naive_baseline.hpp"
#include "bench/operation.hpp"
#include "bench/receiver.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

constexpr std::chrono::seconds kPatience{30};

using Instant = std::chrono::steady_clock::time_point;

struct Pace {
  std::string name;
  std::chrono::milliseconds rest{0};
  /// The messages are theirs in turn.
  std::uint64_t sessions = 0;
};

// Few enough that both sides know them after the warm-up.
constexpr std::uint64_t kKnownSessions = 8;
// More than there are messages.
constexpr std::uint64_t kNewSessions = 1'000'000;

// `deliver(number)` carries one message, and says when it had been acknowledged. The first ones, which open files,
// connections and sessions, are not counted.
Latencies oneByOne(const Settings& settings, std::chrono::milliseconds rest,
                   const std::function<Instant(std::uint64_t number)>& deliver) {
  Latencies latencies;
  boost::asio::io_context context;
  boost::asio::steady_timer spacing(context);
  std::uint64_t number = 0;
  while (number < kKnownSessions) {
    deliver(number++);
  }
  for (Budget budget(settings); budget.take();) {
    spacing.expires_after(rest);
    spacing.wait();
    const Instant start = std::chrono::steady_clock::now();
    latencies.add(deliver(number++) - start);
  }
  return latencies;
}

Latencies ackboxLatencies(const Settings& settings, const Pace& pace) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  Latencies latencies;
  {
    Receiver receiver(receiverFile, Durability::powerCut);
    std::binary_semaphore acked{0};
    Instant ackedAt;
    const std::unique_ptr<OutboxManager> manager = startSender(senderFile, Durability::powerCut, receiver);
    const Subscription subscription = manager->onAcked([&](const AckedEvent&) {
      ackedAt = std::chrono::steady_clock::now();
      acked.release();
    });
    latencies = oneByOne(settings, pace.rest, [&](std::uint64_t number) {
      if (!manager->enqueue(frameOf(number, pace.sessions)).isNew()) {
        throw std::runtime_error("an enqueue was refused");
      }
      if (!acked.try_acquire_for(kPatience)) {
        throw std::runtime_error("a message was not acknowledged");
      }
      return ackedAt;
    });
    manager->stop();
    receiver.finish();
  }
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return latencies;
}

Latencies floorLatencies(const Settings& settings, const Pace& pace) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  Latencies latencies;
  {
    ChildProcess receiver({"--role", "floor", "--file", receiverFile.string()});
    {
      FloorLink link(senderFile, receiver.readLine());
      latencies = oneByOne(settings, pace.rest, [&](std::uint64_t number) {
        const Frame frame = frameOf(number, pace.sessions);
        link.deliver(orderedId(number), frame.session, frame.data);
        return std::chrono::steady_clock::now();
      });
    }
    receiver.finish();
  }
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return latencies;
}

void compare(Measurement& measurement, const Settings& settings, const Pace& pace) {
  Latencies ours = ackboxLatencies(settings, pace);
  Latencies floor = floorLatencies(settings, pace);
  addLatencies(measurement.figures, pace.name, ours);
  addLatencies(measurement.baselines, "floor_" + pace.name, floor);
  measurement.ratio(pace.name + "_p50_over_floor", ours.percentile(0.5), floor.percentile(0.5));
  measurement.ratio(pace.name + "_p99_over_floor", ours.percentile(0.99), floor.percentile(0.99));
}

}  // namespace

Measurement loneMessageLatency(const Settings& settings) {
  constexpr std::chrono::milliseconds kRest{20};
  Measurement measurement;
  compare(measurement, settings, {.name = "back_to_back", .sessions = kKnownSessions});
  compare(measurement, settings, {.name = "after_20_ms", .rest = kRest, .sessions = kKnownSessions});
  compare(measurement, settings, {.name = "first_of_session", .sessions = kNewSessions});
  return measurement;
}

}  // namespace ackbox::bench
