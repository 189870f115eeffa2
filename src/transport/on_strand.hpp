#pragma once

#include <cstddef>
#include <utility>

#include "transport/stream.hpp"

namespace ackbox::transport {

/// A completion has no executor of its own, so it runs on the socket's executor, the strand.
template <typename Handler>
auto onStrand(Handler handler) {
  return [handler = std::move(handler)](const Stream::Error& error, std::size_t size) mutable {
    std::move(handler)(error, size);
  };
}

}  // namespace ackbox::transport
