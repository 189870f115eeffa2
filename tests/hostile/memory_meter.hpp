#pragma once

#include <cstddef>

namespace ackbox::testing {

/// What C++ code of this program allocates: whoever links memory_meter.cpp has its `operator new` counted.
///
/// Thread-safety: as an `int`; it counts all threads.
class MemoryMeter {
public:
  /// Begins to measure. One at a time.
  MemoryMeter();

  /// Bytes in use at the worst moment since then, beyond those that were in use when it began.
  [[nodiscard]] std::size_t peakGrowth() const;

private:
  std::size_t before_;
};

}  // namespace ackbox::testing
