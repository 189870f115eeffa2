#pragma once

#include <atomic>
#include <cstdint>

namespace ackbox::serve {

/// What became of the spans of this process.
struct SpanCounts {
  std::atomic<std::uint64_t> exported = 0;
  std::atomic<std::uint64_t> dropped = 0;
};

}  // namespace ackbox::serve
