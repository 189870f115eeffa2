// Two processes, two files, loopback HTTP: messages are enqueued asynchronously, delivered, take effect in the
// receiver's transaction and are acknowledged, durably on both sides. The clock stops at the last acknowledgement,
// and no figure is given unless every effect is there once and in order.
//
// Beside it, in the same run: all of it in one session; with one frame a request on 16 connections; naive inserts; and
// the relay that an engineer writes by hand.

#include <stdexcept>

#include "bench/delivery.hpp"
#include "bench/measured_disk.hpp"
#include "bench/naive_baseline.hpp"
#include "bench/operation.hpp"
#include "bench/relay.hpp"

namespace ackbox::bench {
namespace {

// One frame a request is so much slower than an enqueue that time would have to be given to the rest of the queue.
constexpr std::uint64_t kSingly = 15'000;
constexpr std::uint32_t kConnections = 16;

Delivery deliverSingly(Settings settings) {
  settings.count = settings.count != 0 ? settings.count : kSingly;
  Link link;
  link.batchFrames = 1;
  link.maxRequests = kConnections;
  return deliver(settings, Durability::powerCut, link);
}

void addFull(Measurement& measurement, const Delivery& full) {
  measurement.figure("full_per_s", full.perSecond);
  measurement.figure("full_cpu_us_per_message", full.cpuMicroseconds());
  measurement.figure("full_sender_cpu_us_per_message", full.senderCpuMicroseconds);
  measurement.figure("full_receiver_cpu_us_per_message", full.receiverCpuMicroseconds);
  measurement.figure("full_sender_messages_per_sync", full.senderMessagesPerSync);
  measurement.figure("full_receiver_messages_per_sync", full.receiverMessagesPerSync);
}

}  // namespace

Measurement endToEnd(const Settings& settings) {
  Measurement measurement;
  const Delivery full = deliver(settings, Durability::powerCut);
  const Delivery hot = deliver(settings, Durability::powerCut, {}, 1);
  const Delivery single = deliverSingly(settings);
  const Delivery normal = deliver(settings, Durability::processCrash);
  const double naive = naiveInserts(settings, 1).perSecond;
  const RelayPace relay = relayed(settings);
  addFull(measurement, full);
  measurement.figure("hot_session_per_s", hot.perSecond);
  measurement.figure("single_16_connections_per_s", single.perSecond);
  measurement.figure("single_16_connections_cpu_us_per_message", single.cpuMicroseconds());
  measurement.figure("normal_per_s", normal.perSecond);
  measurement.baseline("naive_inserts_per_s", naive);
  measurement.baseline("relay_per_s", relay.perSecond);
  measurement.baseline("relay_sender_syncs_per_message", relay.senderSyncsPerMessage);
  measurement.ratio("full_over_naive", full.perSecond, naive);
  measurement.ratio("full_over_relay", full.perSecond, relay.perSecond);
  measurement.ratio("hot_session_over_full", hot.perSecond, full.perSecond);
  measurement.ratio("single_16_connections_over_relay", single.perSecond, relay.perSecond);
  return measurement;
}

Measurement endToEndSlowDisk(const Settings& settings) {
  const SlowDisk slow(kSlowSync);
  Measurement measurement;
  const Delivery full = deliver(settings, Durability::powerCut);
  const RelayPace relay = relayed(settings);
  // Of the relay's syncs, one in each process, none overlaps with another.
  if (relay.perSecond > 1'000.0 / (2 * kSlowSync.count())) {
    throw std::runtime_error("the disk was not as slow as it was meant to be");
  }
  addFull(measurement, full);
  measurement.baseline("relay_per_s", relay.perSecond);
  measurement.baseline("relay_sender_syncs_per_message", relay.senderSyncsPerMessage);
  measurement.ratio("full_over_relay", full.perSecond, relay.perSecond);
  return measurement;
}

}  // namespace ackbox::bench
