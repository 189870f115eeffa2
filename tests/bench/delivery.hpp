#pragma once

#include "bench/receiver.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// What it took to deliver many messages to another process.
struct Delivery {
  double perSecond = 0;
  double senderCpuMicroseconds = 0;
  double receiverCpuMicroseconds = 0;

  [[nodiscard]] double cpuMicroseconds() const { return senderCpuMicroseconds + receiverCpuMicroseconds; }
};

/// Enqueues asynchronously and delivers over loopback. Throws `std::runtime_error` unless every message was
/// acknowledged and every effect is there once and in order.
[[nodiscard]] Delivery deliver(const Settings& settings, Durability durability, const Link& link = {});

}  // namespace ackbox::bench
