#pragma once

#include <chrono>

namespace ackbox {

/// The processor time of this thread since it began. Waiting for a disk or a lock does not count.
[[nodiscard]] std::chrono::nanoseconds processorTime() noexcept;

}  // namespace ackbox
