#include "bench/delivery.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

#include "bench/effects.hpp"
#include "bench/measured_disk.hpp"
#include "bench/pace.hpp"
#include "bench/scratch.hpp"
#include "bench/window.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

// Of no acknowledgement at all.
constexpr std::chrono::seconds kPatience{30};

// Counts acknowledgements and awaits a number of them.
class AckCounter {
public:
  void add() {
    const std::uint64_t now = ++count_;
    if (now >= awaited_) {
      const std::scoped_lock lock(mutex_);
      reached_.notify_all();
    }
  }

  void await(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    awaited_ = number;
    for (std::uint64_t seen = count_; seen < number; seen = count_) {
      if (!reached_.wait_for(lock, kPatience, [&] { return count_ >= number; }) && count_ == seen) {
        throw std::runtime_error("delivery stands still at " + std::to_string(seen) + " of " + std::to_string(number) +
                                 " messages");
      }
    }
  }

private:
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> awaited_{~std::uint64_t{0}};
  std::mutex mutex_;
  std::condition_variable reached_;
};

void requireRetired(const OutboxManager& manager, std::uint64_t sent) {
  const Stats stats = manager.getStats();
  if (stats.acked != sent || stats.pending + stats.sending + stats.sent + stats.failed != 0) {
    throw std::runtime_error("the outbox is not empty after the last acknowledgement");
  }
}

double perSync(double messages, std::uint64_t syncs) {
  return syncs == 0 ? 0 : messages / static_cast<double>(syncs);
}

}  // namespace

Delivery deliver(const Settings& settings, Durability durability, const Link& link, std::uint64_t sessions) {
  const std::filesystem::path senderFile = freshDatabase(settings.folder, "sender");
  const std::filesystem::path receiverFile = freshDatabase(settings.folder, "receiver");
  Delivery delivery;
  std::uint64_t sent = 0;
  {
    Receiver receiver(receiverFile, durability, link);
    AckCounter acks;
    const std::unique_ptr<OutboxManager> manager = startSender(senderFile, durability, receiver, link);
    const Subscription subscription = manager->onAcked([&](const AckedEvent&) { acks.add(); });
    const ReceiverUsage before = receiver.usage();
    diskCounts().reset();
    const PaceMeter meter;
    Budget budget(settings);
    sent = enqueueInWindow(*manager, budget, sessions);
    acks.await(sent);
    const Pace pace = meter.of(sent);
    delivery.perSecond = pace.perSecond;
    delivery.senderCpuMicroseconds = pace.cpuMicroseconds;
    const ReceiverUsage after = receiver.usage();
    const auto messages = static_cast<double>(sent);
    delivery.receiverCpuMicroseconds = (after.cpuMicroseconds - before.cpuMicroseconds) / messages;
    delivery.senderMessagesPerSync = perSync(messages, diskCounts().logSyncs);
    delivery.receiverMessagesPerSync = perSync(messages, after.syncs - before.syncs);
    manager->stop();
    requireRetired(*manager, sent);
    receiver.finish();
  }
  if (durability == Durability::powerCut &&
      (delivery.senderMessagesPerSync == 0 || delivery.receiverMessagesPerSync == 0)) {
    throw std::runtime_error("a durable delivery was not synced");
  }
  verifyEffects(receiverFile, sent);
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return delivery;
}

}  // namespace ackbox::bench
