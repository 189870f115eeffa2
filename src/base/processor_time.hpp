#pragma once

#include <chrono>

namespace ackbox {

/// What this thread has computed for since it began. What waits for a disk or a lock does not count.
[[nodiscard]] std::chrono::nanoseconds processorTime() noexcept;

}  // namespace ackbox
