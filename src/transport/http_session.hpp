#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "transport/request_sink.hpp"

namespace ackbox::transport {

class Stream;

/// What the sessions of one server share.
struct HttpSessionOptions {
  /// The only path that is served.
  std::string path;
  std::size_t headerBytesMax = 0;
  std::chrono::milliseconds handshakeTimeout{0};
  /// From a request's first byte to its last; again for its handling, and again for writing the answer.
  std::chrono::milliseconds requestTimeout{0};
  std::chrono::milliseconds idleTimeout{0};
  std::shared_ptr<Clock> clock;
  RequestSink sink;
};

/// One accepted connection: reads a request, has it handled, writes the answer, and so on until it ends. Requests that
/// the peer sends ahead wait in the socket.
///
/// Thread-safety: `start` and `stop` may be called from any thread.
/// Lifetime: keeps itself alive from `start` to its end.
class HttpSession {
public:
  virtual ~HttpSession() = default;

  virtual void start() = 0;

  /// Closes the connection when it is idle, else after the answer to the request under way.
  virtual void stop() = 0;
};

/// `stream` must have a strand of its own as its executor. `ended` is called once, there, when the connection is
/// closed.
[[nodiscard]] std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                                           std::shared_ptr<const HttpSessionOptions> options,
                                                           std::function<void()> ended);

}  // namespace ackbox::transport
