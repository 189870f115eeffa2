#pragma once

#include <sys/types.h>

namespace ackbox::bench::peers {

/// The processor time, user and system, of a process, of those that descend from it, and of those of them that have
/// ended; in microseconds, in steps of the kernel's tick.
[[nodiscard]] double cpuMicrosecondsOfTree(pid_t root);

}  // namespace ackbox::bench::peers
