#pragma once

#include <atomic>
#include <cstdint>

namespace ackbox::serve {

/// The outcomes of this process's spans.
struct SpanCounts {
  std::atomic<std::uint64_t> exported = 0;
  std::atomic<std::uint64_t> dropped = 0;
};

}  // namespace ackbox::serve
