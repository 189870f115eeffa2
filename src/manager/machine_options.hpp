#pragma once

#include "ackbox/options.hpp"
#include "delivery/machine.hpp"

namespace ackbox::manager {

[[nodiscard]] inline delivery::MachineOptions machineOptions(const OutboxOptions& options) {
  delivery::MachineOptions made;
  made.retry = options.retry;
  made.peerHealth = options.peerHealth;
  made.batchFrames = options.batchFrames;
  made.batchBytes = options.batchBytes;
  made.ackTimeout = options.ackTimeout;
  made.sharedPollInterval = options.sharedPollInterval;
  return made;
}

}  // namespace ackbox::manager
