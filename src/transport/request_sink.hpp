#pragma once

#include <cstddef>
#include <functional>

#include "ackbox/inbound_request.hpp"

namespace ackbox::transport {

/// What an HTTP session needs of the handler of its requests.
struct RequestSink {
  using Respond = std::function<void(InboundResponse)>;

  /// Takes one request and calls `respond` once, on any thread, now or later. An exception is answered with 500.
  std::function<void(InboundRequest request, Respond respond)> handle;
  /// Bytes of a body above which a request is refused unread.
  std::size_t bodyBytesMax = 0;
  /// Bytes of a body that are worth reading, by the headers alone; a request with a larger one is handled without it,
  /// and its connection closed behind the answer. Empty: `bodyBytesMax` for all.
  std::function<std::size_t(const InboundRequest& head)> worthReading = {};
};

}  // namespace ackbox::transport
