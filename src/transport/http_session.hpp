#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "transport/request_sink.hpp"

namespace ackbox::transport {

class RequestBudget;
class Stream;

/// Totals over the sessions of one server, since it began.
struct HttpSessionTotals {
  /// Requests that were refused before their handler received them.
  std::atomic<std::uint64_t> refused = 0;
  /// Connections that were closed to make room for others.
  std::atomic<std::uint64_t> evicted = 0;
  /// Connections that an exception ended.
  std::atomic<std::uint64_t> broken = 0;
};

/// Shared by the sessions of one server.
struct HttpSessionOptions {
  /// The path of the inbox, and that of frames in AGENIUM's form; empty: no such path. No other path is served, unless
  /// the sink admits requests by their heads: then the sink alone decides.
  std::string path;
  std::string compatibilityPath;
  std::size_t headerBytesMax = 0;
  /// Whether the server listens on a loopback address.
  bool onLoopback = false;
  std::chrono::milliseconds handshakeTimeout{0};
  /// The limit from a request's first byte to its last; also for its handling, and for writing the answer.
  std::chrono::milliseconds requestTimeout{0};
  /// The limit from one accepted piece of an answer to the next.
  std::chrono::milliseconds writeTimeout{0};
  std::chrono::milliseconds idleTimeout{0};
  /// After this age a connection is closed when the current answer is written.
  std::chrono::milliseconds connectionAge{0};
  std::shared_ptr<RequestBudget> budget;
  std::shared_ptr<HttpSessionTotals> totals;
  std::shared_ptr<Clock> clock;
  RequestSink sink;
};

/// One accepted connection: reads a request, has it handled, writes the answer, and repeats this until the connection
/// ends. Requests that the peer sends ahead wait in the socket. An exception ends this connection only.
///
/// Thread-safety: its members may be called from any thread.
/// Lifetime: keeps itself alive from `start` to its end.
class HttpSession {
public:
  virtual ~HttpSession() = default;

  virtual void start() = 0;

  /// Closes the connection when it is idle, else after the answer to the request under way.
  virtual void stop() = 0;

  /// Whether the connection may be closed to make room for another: none of its requests has proved an identity, and
  /// none is being handled.
  [[nodiscard]] virtual bool isIdler() const noexcept = 0;

  /// Whether the connection may be closed when there is no idler: no request is under way, although one has proved an
  /// identity. Its client must expect that, as HTTP lets a server close a connection between two requests.
  [[nodiscard]] virtual bool isAtRest() const noexcept = 0;

  /// Closes the connection if it is still an idler or at rest; otherwise calls the watcher's `changed`.
  virtual void evict() = 0;

  /// The bytes of the request that is being read.
  [[nodiscard]] virtual std::size_t bytesHeld() const noexcept = 0;
};

/// Callbacks that a session calls on its strand when its state changes. They must not call the session back.
struct HttpSessionWatcher {
  /// Called once, when the connection is closed.
  std::function<void()> ended;
  /// The session became an idler or is at rest; or it was to be evicted and is neither.
  std::function<void()> changed;
  /// The budget is overdrawn. Returns whether an idler, possibly this session, was found to be evicted.
  std::function<bool()> overdrawn;
};

/// The executor of `stream` must run one thing at a time.
[[nodiscard]] std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                                           std::shared_ptr<const HttpSessionOptions> options,
                                                           HttpSessionWatcher watcher);

}  // namespace ackbox::transport
