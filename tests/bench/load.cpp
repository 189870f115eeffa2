// How long a message takes from its enqueue to its ACK while others come at a given rate, whatever becomes of them (an
// open loop): shares of what the same two processes deliver at most, measured in the same run. The clock of a message
// begins when it was due, so that an enqueue which comes late because of the load counts as the load's.

#include <array>
#include <charconv>
#include <stdexcept>
#include <string>

#include "bench/ack_counter.hpp"
#include "bench/delivery.hpp"
#include "bench/effects.hpp"
#include "bench/measured_disk.hpp"
#include "bench/operation.hpp"
#include "bench/rest.hpp"
#include "bench/scratch.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::array kPercents{5U, 10U, 20U, 30U, 40U, 50U, 60U, 70U, 80U, 90U, 95U};

/// Messages that are due each millisecond, as many as the rate asks for. The first 200 ms are not counted, unless the
/// number of messages is given.
class OpenLoop {
public:
  explicit OpenLoop(double perSecond) : perTick_(perSecond / kTicksPerSecond) {}

  /// Returns how many messages there were, when all of them are acknowledged.
  std::uint64_t run(OutboxManager& manager, const Settings& settings) {
    warmUpTicks_ = settings.count != 0 ? 0 : kWarmUpTicks;
    const Subscription subscription = manager.onAcked([this](const AckedEvent& event) { acked(event.messageId); });
    const std::uint64_t ticks =
        warmUpTicks_ + static_cast<std::uint64_t>(settings.duration.count()) * kTicksPerSecond / 1'000;
    std::uint64_t sent = 0;
    start_ = steady_clock::now();
    for (std::uint64_t tick = 0; settings.count != 0 ? sent < settings.count : tick < ticks; ++tick) {
      restUntil(start_ + tick * kTick);
      for (; static_cast<double>(sent) < perTick_ * static_cast<double>(tick + 1); ++sent) {
        enqueue(manager, sent);
      }
    }
    acks_.await(sent);
    manager.stop();
    if (refused_ != 0) {
      throw std::runtime_error("enqueues were refused");
    }
    return sent;
  }

  [[nodiscard]] Latencies& latencies() noexcept { return latencies_; }

private:
  static constexpr std::uint64_t kTicksPerSecond = 1'000;
  static constexpr std::chrono::milliseconds kTick{1};
  static constexpr std::uint64_t kWarmUpTicks = 200;

  [[nodiscard]] std::uint64_t tickOf(std::uint64_t number) const {
    return static_cast<std::uint64_t>(static_cast<double>(number) / perTick_);
  }

  void enqueue(OutboxManager& manager, std::uint64_t number) {
    Frame frame = frameOf(number);
    frame.id = orderedId(number);
    manager.enqueueThen(std::move(frame), [this](const std::error_code& error, const EnqueueReceipt& receipt) {
      refused_ += error || !receipt.isNew() ? 1U : 0U;
    });
  }

  void acked(std::string_view id) {
    const auto now = steady_clock::now();
    std::uint64_t number = 0;
    const std::string_view digits = id.substr(id.rfind('-') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (const std::uint64_t tick = tickOf(number); tick >= warmUpTicks_) {
      latencies_.add(now - (start_ + tick * kTick));
    }
    acks_.add();
  }

  const double perTick_;
  std::uint64_t warmUpTicks_ = 0;
  steady_clock::time_point start_;
  std::atomic<std::uint64_t> refused_{0};
  // Of the run's thread, until it has stopped.
  Latencies latencies_;
  AckCounter acks_;
};

Latencies latenciesAt(const Settings& settings, double perSecond) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  OpenLoop loop(perSecond);
  std::uint64_t sent = 0;
  {
    Receiver receiver(receiverFile, Durability::powerCut);
    const std::unique_ptr<OutboxManager> manager = startSender(senderFile, Durability::powerCut, receiver);
    diskCounts().reset();
    sent = loop.run(*manager, settings);
    if (diskCounts().logSyncs == 0 || receiver.usage().syncs == 0) {
      throw std::runtime_error("a durable delivery was not synced");
    }
    receiver.finish();
  }
  verifyEffects(receiverFile, sent);
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return loop.latencies();
}

}  // namespace

Measurement load(const Settings& settings) {
  Measurement measurement;
  const double capacity = deliver(settings, Durability::powerCut).perSecond;
  measurement.baseline("capacity_per_s", capacity);
  double lightest = 0;
  for (const unsigned percent : kPercents) {
    const double rate = capacity * percent / 100;
    Latencies latencies = latenciesAt(settings, rate);
    const std::string name = "load_" + std::to_string(percent) + "_percent";
    measurement.figure(name + "_per_s", rate);
    addLatencies(measurement.figures, name, latencies);
    lightest = lightest == 0 ? latencies.percentile(0.5) : lightest;
    measurement.ratio(name + "_p50_over_lightest", latencies.percentile(0.5), lightest);
  }
  return measurement;
}

}  // namespace ackbox::bench
