#pragma once

#include "bench/receiver.hpp"
#include "bench/settings.hpp"
#include "bench/workload.hpp"

namespace ackbox::bench {

/// What it took to deliver many messages to another process.
struct Delivery {
  double perSecond = 0;
  double senderCpuMicroseconds = 0;
  double receiverCpuMicroseconds = 0;
  /// How many messages shared a sync of the log, on average; 0: none was synced.
  double senderMessagesPerSync = 0;
  double receiverMessagesPerSync = 0;

  [[nodiscard]] double cpuMicroseconds() const { return senderCpuMicroseconds + receiverCpuMicroseconds; }
};

/// Enqueues asynchronously and delivers over loopback. Throws `std::runtime_error` unless every message was
/// acknowledged and every effect is there once and in order, or when a durable side did not sync.
[[nodiscard]] Delivery deliver(const Settings& settings, Durability durability, const Link& link = {},
                               std::uint64_t sessions = kSessions);

}  // namespace ackbox::bench
