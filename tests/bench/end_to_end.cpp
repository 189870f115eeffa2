// Two processes, two files, loopback HTTP: messages are enqueued asynchronously, delivered, take effect in the
// receiver's transaction and are acknowledged, durably on both sides. The clock stops at the last acknowledgement,
// and no figure is given unless every effect is there once and in order.

#include "bench/delivery.hpp"
#include "bench/naive_baseline.hpp"
#include "bench/operation.hpp"

namespace ackbox::bench {

Measurement endToEnd(const Settings& settings) {
  Measurement measurement;
  const Delivery full = deliver(settings, Durability::powerCut);
  const Delivery normal = deliver(settings, Durability::processCrash);
  const double naive = naiveInserts(settings, 1).perSecond;
  measurement.figure("full_per_s", full.perSecond);
  measurement.figure("full_cpu_us_per_message", full.cpuMicroseconds());
  measurement.figure("full_sender_cpu_us_per_message", full.senderCpuMicroseconds);
  measurement.figure("full_receiver_cpu_us_per_message", full.receiverCpuMicroseconds);
  measurement.figure("normal_per_s", normal.perSecond);
  measurement.baseline("naive_inserts_per_s", naive);
  measurement.ratio("full_over_naive", full.perSecond, naive);
  return measurement;
}

}  // namespace ackbox::bench
