#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_server.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "transport/listener.hpp"
#include "transport/request_sink.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {

class HttpSession;
class TlsContext;
struct HttpSessionOptions;
struct HttpSessionWatcher;

/// How many threads run an executor at once. With one thread, work on the executor needs no strand.
enum class Threads : std::uint8_t { one, any };

/// Throws `Error` with `invalidOption` as the constructor of `HttpServer` does, for requests of `bodyBytesMax`, but
/// reads no certificates and binds nothing.
void validate(const InboundServerOptions& options, std::size_t bodyBytesMax);

/// Listens, accepts up to a limit of connections, and keeps their sessions. At the limit it closes, for a new
/// connection, the oldest one that has never proved an identity, so that idle connections do not use up all slots;
/// without such a connection, the oldest that has no request under way. It does the same when descriptors run out
/// before the limit; when memory runs out, it closes the connection with the largest request.
///
/// Thread-safety: all members may be called from any thread.
class HttpServer : public std::enable_shared_from_this<HttpServer> {
public:
  /// Binds and listens. Throws `Error`: `cannotListen`, `invalidOption`.
  HttpServer(const boost::asio::any_io_executor& executor, const InboundServerOptions& options, RequestSink sink,
             std::shared_ptr<Clock> clock = systemClock(), Threads threads = Threads::any);

  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Begins to accept.
  void start();

  /// Stops accepting, closes idle connections, and lets requests under way be answered.
  void stop();

  /// See `InboundServer::reloadCertificates`.
  void reloadCertificates();

  [[nodiscard]] std::uint16_t port() const noexcept { return address_.port(); }
  [[nodiscard]] std::string url() const;
  /// See `InboundServer::stats`.
  [[nodiscard]] InboundServerStats stats() const;

private:
  [[nodiscard]] boost::asio::any_io_executor makeStrand() const;
  void accept() ACKBOX_REQUIRES(mutex_);
  void onAccept(const boost::system::error_code& error, Socket&& socket) ACKBOX_REQUIRES(mutex_);
  void admit() ACKBOX_REQUIRES(mutex_);
  void serve(Socket socket) ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] HttpSessionWatcher makeWatcher(std::uint64_t number);
  [[nodiscard]] std::shared_ptr<HttpSession> oldestToGo() const ACKBOX_REQUIRES(mutex_);
  bool relieve() ACKBOX_EXCLUDES(mutex_);
  void onAcceptError() ACKBOX_REQUIRES(mutex_);
  void pause();

  // Constant after construction.
  const boost::asio::any_io_executor executor_;
  const Threads threads_;
  const std::size_t connectionsMax_;
  const std::shared_ptr<const HttpSessionOptions> sessionOptions_;
  // Null: plain HTTP.
  const std::unique_ptr<TlsContext> tls_;
  ListenAddress address_;

  mutable Mutex mutex_;
  Acceptor acceptor_ ACKBOX_GUARDED_BY(mutex_);
  // The acceptor's descriptor: a child that outlives this process must not keep its port.
  UnsharedDescriptor unshared_;
  // Ordered by age.
  std::map<std::uint64_t, std::shared_ptr<HttpSession>> sessions_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t lastSession_ ACKBOX_GUARDED_BY(mutex_) = 0;
  // An accepted connection that waits for a slot.
  std::optional<Socket> waiting_ ACKBOX_GUARDED_BY(mutex_);
  bool accepting_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool stopped_ ACKBOX_GUARDED_BY(mutex_) = false;

  // Owned by the acceptor's strand.
  const std::unique_ptr<Alarm> alarm_;
};

}  // namespace ackbox::transport
