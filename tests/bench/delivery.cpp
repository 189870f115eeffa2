#include "bench/delivery.hpp"

#include <stdexcept>
#include <string>

#include "bench/ack_counter.hpp"
#include "bench/effects.hpp"
#include "bench/measured_disk.hpp"
#include "bench/pace.hpp"
#include "bench/scratch.hpp"
#include "bench/window.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {
namespace {

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
  // A database syncs in its server.
  if (durability == Durability::powerCut &&
      ((delivery.senderMessagesPerSync == 0 && link.database.empty()) || delivery.receiverMessagesPerSync == 0)) {
    throw std::runtime_error("a durable delivery was not synced");
  }
  verifyEffects(receiverFile, sent);
  removeDatabase(senderFile);
  removeDatabase(receiverFile);
  return delivery;
}

}  // namespace ackbox::bench
