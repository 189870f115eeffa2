#pragma once

#include "transport/http_exchange.hpp"

namespace ackbox::transport {

/// Sends POST requests. `HttpClient` uses connections; a simulation has none.
///
/// Thread-safety: all members may be called from any thread.
class HttpPoster {
public:
  virtual ~HttpPoster() = default;

  /// Calls `handler` once, on any thread, never inside this call.
  virtual void asyncPost(HttpPost post, HttpHandler handler) = 0;

  /// Ends all posts, and those that are started later, with `HttpEnd::cancelled`.
  virtual void close() = 0;
};

}  // namespace ackbox::transport
