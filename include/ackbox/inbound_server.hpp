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
  /// Address to bind, numeric; or `unix:PATH`, a socket in the file system that only this user can connect to (0600).
  /// One that nobody listens on any more is replaced, and removed by `InboundServer::stop`. Default loopback.
  std::string address = "127.0.0.1";
  /// 0: any free port, see `InboundServer::port`; and for a socket file.
  std::uint16_t port = 0;
  /// The path of the inbox.
  std::string path = "/inbox";
  /// A second path, on which frames in AGENIUM's form are taken, such as `/message`: the JSON messages of AGENIUM
  /// agents, which are no CloudEvents (proto/README.md, "AGENIUM's form"). From the same peers, with the same proof;
  /// without `outbox-agent` a peer is known by its key or certificate. Empty (default): none.
  std::string compatibilityPath = {};
  /// TLS, once it names a certificate. Default: plain HTTP.
  TlsServerOptions tls = {};
  /// Whether to listen without TLS on an address that is not loopback, unencrypted and readable on the way. Default:
  /// no.
  bool allowPlainHttp = false;
  /// Connections at once, each with at most one request. Fewer where the process may not open as many descriptors: a
  /// quarter of its soft limit when the server begins, and at most 256, is left to the sender, the database and the
  /// application; `InboundServer::stats` has the number that holds. A further connection takes the place of the oldest
  /// that has never brought a proof of its sender and has no request under way, or else of the oldest that is between
  /// two requests; while all have requests under way, it waits in the kernel's backlog. The same happens at once when
  /// descriptors run out before. A connection is closed behind its tenth answer to a request without proof. More than
  /// 0. Default 1,024.
  std::size_t connectionsMax = 1024;
  /// Bytes of a request's headers; trailers and the extensions of chunks have 48 KiB more. 1 KiB to 16 KiB. Default 8
  /// KiB.
  std::size_t headerBytesMax = 8 * 1024;
  /// Bytes of requests that are read or handled, over all connections together; 4 KiB of each connection do not count.
  /// When there are more, the connection with the largest request is closed, of those that have never brought a proof
  /// of their sender; if all have, 503. At least twice `InboundOptions::bodyBytesMax`. Default 64 MiB:
  /// more than 60 of the largest requests, and little beside what an agent has.
  std::size_t requestBytesMax = 64 * 1024 * 1024;
  /// The TLS handshake of a new connection, which has its place among `connectionsMax` from the start. Default 10 s.
  std::chrono::milliseconds handshakeTimeout = std::chrono::seconds(10);
  /// From the first byte of a request to its last. Default 30 s.
  std::chrono::milliseconds requestTimeout = std::chrono::seconds(30);
  /// From one piece of an answer that the peer's side takes to the next; the whole has `requestTimeout`. Default 10 s.
  std::chrono::milliseconds writeTimeout = std::chrono::seconds(10);
  /// Between requests on one connection. Default 60 s.
  std::chrono::milliseconds idleTimeout = std::chrono::seconds(60);
  /// After this a connection is closed behind the answer to its next request, and the peer makes another: then its
  /// certificate is verified again, against the files as they are. Default 10 minutes.
  std::chrono::milliseconds connectionAge = std::chrono::minutes(10);
};

/// How an `InboundServer` is doing. Totals count since it began.
struct InboundServerStats {
  /// Gauge: connections, and how many there may be, see `InboundServerOptions::connectionsMax`.
  std::size_t connections = 0;
  std::size_t connectionsMax = 0;
  /// Gauge: bytes of requests under way, see `InboundServerOptions::requestBytesMax`.
  std::size_t requestBytes = 0;
  /// Total: requests that were refused before their handler had them: no HTTP, beyond a limit, for another path.
  std::uint64_t refused = 0;
  /// Total: connections that were closed to make room for others. Many are an attack, or too low a limit.
  std::uint64_t evicted = 0;
  /// Total: connections that were ended by an exception, mostly for want of memory. The other connections go on.
  std::uint64_t broken = 0;
};

/// An HTTP/1.1 server, with or without TLS, that feeds an `InboundHandler`.
///
/// Thread-safety: members may be called from any thread.
/// Lifetime: the executor's context must outlive it. The handler may be moved while it serves, and may go first: then
/// each request is answered with 503 and `Retry-After`, so that its sender keeps it. Destruction stops it without
/// waiting: a request that the handler has not ended is answered with 503, and may still take effect once. Only a frame
/// that is taking effect on the server's own thread is waited for, so a handler, and what it calls, must not destroy
/// the server.
class InboundServer {
public:
  /// Listens at once; connections are served on a thread of its own. A frame that comes alone takes effect there,
  /// which spares it two changes of threads; while it does, nothing else happens there: no answer, no timeout, no end
  /// by `stop`. Requests that come together go to the store's thread and share its commits.
  ///
  /// Throws `Error`: `cannotListen` (the address is taken or not ours), `outOfDescriptors`, `invalidOption`.
  explicit InboundServer(InboundHandler& handler, const InboundServerOptions& options = {});

  /// The same on `executor`, which never waits for the disk. Any number of threads may run it.
  InboundServer(const boost::asio::any_io_executor& executor, InboundHandler& handler,
                const InboundServerOptions& options = {});
  InboundServer(InboundServer&&) noexcept;
  InboundServer& operator=(InboundServer&&) noexcept;
  ~InboundServer();

  /// The port that it listens on; 0 for a socket file.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// `http://address:port/path`, or `https://`, or `unix:PATH`.
  [[nodiscard]] std::string url() const;

  /// How it is doing now.
  [[nodiscard]] InboundServerStats stats() const;

  /// Reads the certificates of `InboundServerOptions::tls` now; changed files are noticed without it. Connections that
  /// are open stay as they began.
  /// Throws `Error` with `invalidOption`, and goes on with those from before.
  void reloadCertificates();

  /// Stops accepting, lets requests under way finish and closes idle connections. Idempotent; does not wait.
  void stop();

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
