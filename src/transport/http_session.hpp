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
  /// The path of the inbox, and that of frames in AGENIUM's form; empty: none. No other is served.
  std::string path;
  std::string compatibilityPath;
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
/// Thread-safety: its members may be called from any thread.
/// Lifetime: keeps itself alive from `start` to its end.
class HttpSession {
public:
  virtual ~HttpSession() = default;

  virtual void start() = 0;

  /// Closes the connection when it is idle, else after the answer to the request under way.
  virtual void stop() = 0;

  /// Whether nothing would be lost with it: no request of it was ever answered with a success, and none is being
  /// handled.
  [[nodiscard]] virtual bool isIdler() const noexcept = 0;

  /// Closes the connection if it is still an idler, else tells the watcher.
  virtual void giveWay() = 0;
};

/// Who is told, on a session's strand, what becomes of it. It must not call the session back meanwhile.
struct HttpSessionWatcher {
  /// Once, when the connection is closed.
  std::function<void()> ended;
  /// It has become an idler, or was asked to give way and is none.
  std::function<void()> changed;
};

/// `stream`'s executor must run one thing at a time.
[[nodiscard]] std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                                           std::shared_ptr<const HttpSessionOptions> options,
                                                           HttpSessionWatcher watcher);

}  // namespace ackbox::transport
