#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ackbox/tls.hpp"

namespace ackbox {

class InboundHandler;

/// Where an `InboundServer` listens, and its limits.
struct InboundServerOptions {
  /// Address to bind, numeric. Default loopback.
  std::string address = "127.0.0.1";
  /// 0: any free port, see `InboundServer::port`.
  std::uint16_t port = 0;
  /// The path of the inbox.
  std::string path = "/inbox";
  /// A second path, on which frames in AGENIUM's form are taken, such as `/message`. From the same peers, with the same
  /// proof; without `outbox-agent` a peer is known by its key or certificate. Empty (default): none.
  std::string compatibilityPath = {};
  /// TLS, once it names a certificate. Default: plain HTTP.
  TlsServerOptions tls = {};
  /// Whether to listen without TLS on an address that is not loopback, where anybody on the way reads along. Default:
  /// no.
  bool allowPlainHttp = false;
  /// Connections at once, each with at most one request, which takes up to `InboundOptions::bodyBytesMax`. A further
  /// one takes the place of the oldest that has never had a request answered with a success and has none under way;
  /// while there is none such, it waits in the kernel's backlog. Default 1,024.
  std::size_t connectionsMax = 1024;
  /// Bytes of a request's headers. Default 8 KiB.
  std::size_t headerBytesMax = 8 * 1024;
  /// The TLS handshake of a new connection, which has its place among `connectionsMax` from the start. Default 10 s.
  std::chrono::milliseconds handshakeTimeout = std::chrono::seconds(10);
  /// From the first byte of a request to its last. Default 30 s.
  std::chrono::milliseconds requestTimeout = std::chrono::seconds(30);
  /// Between requests on one connection. Default 60 s.
  std::chrono::milliseconds idleTimeout = std::chrono::seconds(60);
};

/// An HTTP/1.1 server, with or without TLS, that feeds an `InboundHandler`.
///
/// Thread-safety: members may be called from any thread.
/// Lifetime: the handler and the executor's context must outlive it. Destruction stops it without waiting: a request
/// that the handler has not ended is answered with 503, and may still take effect once. Only a frame that is taking
/// effect on the server's own thread is waited for, so a handler, and who is called with it, must not destroy the
/// server.
class InboundServer {
public:
  /// Listens at once; connections are served on a thread of its own. A frame that comes alone takes effect there, see
  /// `HandlerThread::caller`, and while it does, nothing else happens there: no answer, no timeout, no end by `stop`.
  /// What comes together goes to the store's thread and shares its commits.
  ///
  /// Throws `Error`: `cannotListen` (the address is taken or not ours), `invalidOption`.
  explicit InboundServer(InboundHandler& handler, const InboundServerOptions& options = {});

  /// The same on `executor`, which never waits for the disk. Any number of threads may run it.
  InboundServer(const boost::asio::any_io_executor& executor, InboundHandler& handler,
                const InboundServerOptions& options = {});
  InboundServer(InboundServer&&) noexcept;
  InboundServer& operator=(InboundServer&&) noexcept;
  ~InboundServer();

  /// The port that it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// `http://address:port/path`, or `https://`.
  [[nodiscard]] std::string url() const;

  /// Reads the certificates of `InboundServerOptions::tls` now; changed files are noticed without it. Connections that
  /// are open stay as they began.
  /// Throws `Error` with `invalidOption`, and goes on with those from before.
  void reloadCertificates();

  /// Stops accepting, lets requests under way finish and closes idle connections. Idempotent; does not wait.
  void stop();

private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace ackbox
