#pragma once

#include <cstddef>
#include <utility>

#include "transport/stream.hpp"

namespace ackbox::transport {

/// Completions carry no executor of their own, so they run on the socket's, the strand.
template <typename Handler>
auto onStrand(Handler handler) {
  return [handler = std::move(handler)](const Stream::Error& error, std::size_t size) mutable {
    std::move(handler)(error, size);
  };
}

}  // namespace ackbox::transport
