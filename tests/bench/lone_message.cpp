// One message at a time on an idle system: the time from the call of enqueue to onAcked, back to back and after 20 ms
// of rest (when processor and disk have gone to sleep). The floor does the same two synced inserts and the same round
// trip, and nothing else.

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

constexpr std::chrono::milliseconds kRest{20};
constexpr std::chrono::seconds kPatience{30};

// `deliver(number)` carries one message. The first ones, which open files and connections, are not counted.
Latencies oneByOne(const Settings& settings, std::chrono::milliseconds rest,
                   const std::function<void(std::uint64_t number)>& deliver) {
  constexpr std::uint64_t kWarmUp = 3;
  Latencies latencies;
  boost::asio::io_context context;
  boost::asio::steady_timer spacing(context);
  std::uint64_t number = 0;
  while (number < kWarmUp) {
    deliver(number++);
  }
  for (Budget budget(settings); budget.take();) {
    spacing.expires_after(rest);
    spacing.wait();
    const auto start = std::chrono::steady_clock::now();
    deliver(number++);
    latencies.add(std::chrono::steady_clock::now() - start);
  }
  return latencies;
}

Latencies ackboxLatencies(const Settings& settings, std::chrono::milliseconds rest) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  Latencies latencies;
  {
    Receiver receiver(receiverFile, Durability::powerCut);
    std::binary_semaphore acked{0};
    const std::unique_ptr<OutboxManager> manager = startSender(senderFile, Durability::powerCut, receiver);
    const Subscription subscription = manager->onAcked([&](const AckedEvent&) { acked.release(); });
    latencies = oneByOne(settings, rest, [&](std::uint64_t number) {
      if (!manager->enqueue(frameOf(number)).isNew()) {
        throw std::runtime_error("an enqueue was refused");
      }
      if (!acked.try_acquire_for(kPatience)) {
        throw std::runtime_error("a message was not acknowledged");
      }
    });
    manager->stop();
    receiver.finish();
  }
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return latencies;
}

Latencies floorLatencies(const Settings& settings, std::chrono::milliseconds rest) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  Latencies latencies;
  {
    ChildProcess receiver({"--role", "floor", "--file", receiverFile.string()});
    {
      FloorLink link(senderFile, receiver.readLine());
      latencies = oneByOne(settings, rest, [&](std::uint64_t number) {
        const Frame frame = frameOf(number);
        link.deliver(orderedId(number), frame.session, frame.data);
      });
    }
    receiver.finish();
  }
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return latencies;
}

void compare(Measurement& measurement, const Settings& settings, const std::string& name,
             std::chrono::milliseconds rest) {
  Latencies ours = ackboxLatencies(settings, rest);
  Latencies floor = floorLatencies(settings, rest);
  addLatencies(measurement.figures, name, ours);
  addLatencies(measurement.baselines, "floor_" + name, floor);
  measurement.ratio(name + "_p50_over_floor", ours.percentile(0.5), floor.percentile(0.5));
  measurement.ratio(name + "_p99_over_floor", ours.percentile(0.99), floor.percentile(0.99));
}

}  // namespace

Measurement loneMessageLatency(const Settings& settings) {
  Measurement measurement;
  compare(measurement, settings, "back_to_back", std::chrono::milliseconds(0));
  compare(measurement, settings, "after_20_ms", kRest);
  return measurement;
}

}  // namespace ackbox::bench
