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

/// What became of the sessions of one server, since it began.
struct HttpSessionTotals {
  /// Requests that were refused before their handler had them.
  std::atomic<std::uint64_t> refused = 0;
  /// Connections that were closed to make room for others.
  std::atomic<std::uint64_t> evicted = 0;
  /// Connections that ended by an exception.
  std::atomic<std::uint64_t> broken = 0;
};

/// What the sessions of one server share.
struct HttpSessionOptions {
  /// The path of the inbox, and that of frames in AGENIUM's form; empty: none. No other is served, unless the sink
  /// admits requests by their heads: then it alone says which.
  std::string path;
  std::string compatibilityPath;
  std::size_t headerBytesMax = 0;
  /// Whether it listens on a loopback address.
  bool onLoopback = false;
  std::chrono::milliseconds handshakeTimeout{0};
  /// From a request's first byte to its last; again for its handling, and again for writing the answer.
  std::chrono::milliseconds requestTimeout{0};
  /// From one piece of an answer that was taken to the next.
  std::chrono::milliseconds writeTimeout{0};
  std::chrono::milliseconds idleTimeout{0};
  /// After this a connection is closed behind the answer under way.
  std::chrono::milliseconds connectionAge{0};
  std::shared_ptr<RequestBudget> budget;
  std::shared_ptr<HttpSessionTotals> totals;
  std::shared_ptr<Clock> clock;
  RequestSink sink;
};

/// One accepted connection: reads a request, has it handled, writes the answer, and so on until it ends. Requests that
/// the peer sends ahead wait in the socket. Whatever is thrown by what it calls is the end of this connection, and
/// reaches nobody else.
///
/// Thread-safety: its members may be called from any thread.
/// Lifetime: keeps itself alive from `start` to its end.
class HttpSession {
public:
  virtual ~HttpSession() = default;

  virtual void start() = 0;

  /// Closes the connection when it is idle, else after the answer to the request under way.
  virtual void stop() = 0;

  /// Whether it may be closed for the sake of another: no request of it ever proved an identity, and none is being
  /// handled.
  [[nodiscard]] virtual bool isIdler() const noexcept = 0;

  /// Whether it may be closed where there is no idler: no request is under way, though one has proved an identity. Its
  /// client expects that, as HTTP lets a server close a connection between two requests.
  [[nodiscard]] virtual bool isAtRest() const noexcept = 0;

  /// Closes the connection if it is still an idler or at rest, else calls the watcher's `changed`.
  virtual void evict() = 0;

  /// Bytes of a request that is being read.
  [[nodiscard]] virtual std::size_t bytesHeld() const noexcept = 0;
};

/// What a session calls, on its strand, when its state changes. It must not call the session back meanwhile.
struct HttpSessionWatcher {
  /// Once, when the connection is closed.
  std::function<void()> ended;
  /// It has become an idler or is at rest, or was to be evicted and is neither.
  std::function<void()> changed;
  /// The budget is overdrawn. Whether an idler was found, maybe this one, to be evicted.
  std::function<bool()> overdrawn;
};

/// `stream`'s executor must run one thing at a time.
[[nodiscard]] std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                                           std::shared_ptr<const HttpSessionOptions> options,
                                                           HttpSessionWatcher watcher);

}  // namespace ackbox::transport
