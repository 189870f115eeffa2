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
  /// Numeric address to bind; or `unix:PATH`, a socket in the file system that only this user can connect to (0600). A
  /// socket file on which no process listens any more is replaced; `InboundServer::stop` removes it. Default loopback.
  std::string address = "127.0.0.1";
  /// 0: any free port, see `InboundServer::port`. Must be 0 for a socket file.
  std::uint16_t port = 0;
  /// The path of the inbox.
  std::string path = "/inbox";
  /// A second path, on which frames in AGENIUM's form are accepted, such as `/message`: the JSON messages of AGENIUM
  /// agents, which are not CloudEvents (proto/README.md, "AGENIUM's form"). Accepted from the same peers, with the same
  /// proof; without `outbox-agent` a peer is recognised by its key or certificate. Empty (default): none.
  std::string compatibilityPath = {};
  /// TLS, if it names a certificate. Default: plain HTTP.
  TlsServerOptions tls = {};
  /// Whether to listen without TLS on an address that is not loopback, unencrypted and readable on the way. Default:
  /// no.
  bool allowPlainHttp = false;
  /// Connections at once, each with at most one request. Fewer if the process may not open as many descriptors: a
  /// quarter of its soft limit when the server begins, and at most 256, is left to the sender, the database and the
  /// application; `InboundServer::stats` has the number in force. A further connection replaces the oldest one that has
  /// never proved its sender and has no request under way, or else the oldest one between two requests; while all have
  /// requests under way, it waits in the kernel's backlog. The same happens at once if descriptors run out earlier. A
  /// connection is closed after its tenth answer to a request without proof. More than 0. Default 1,024.
  std::size_t connectionsMax = 1024;
  /// Bytes of a request's headers; trailers and chunk extensions may have 48 KiB more. 1 KiB to 16 KiB. Default 8 KiB.
  std::size_t headerBytesMax = 8 * 1024;
  /// Bytes of requests being read or handled, over all connections together; 4 KiB of each connection do not count.
  /// Beyond this, the connection with the largest request is closed, among those that have never proved their sender;
  /// if all have, the answer is 503. At least twice `InboundOptions::bodyBytesMax`. Default 64 MiB: more than 60 of the
  /// largest requests, and little compared with an agent's memory.
  std::size_t requestBytesMax = 64 * 1024 * 1024;
  /// The TLS handshake of a new connection, which counts among `connectionsMax` from the start. Default 10 s.
  std::chrono::milliseconds handshakeTimeout = std::chrono::seconds(10);
  /// From the first byte of a request to its last. Default 30 s.
  std::chrono::milliseconds requestTimeout = std::chrono::seconds(30);
  /// The longest pause while the peer receives an answer; the whole answer has `requestTimeout`. Default 10 s.
  std::chrono::milliseconds writeTimeout = std::chrono::seconds(10);
  /// Between requests on one connection. Default 60 s.
  std::chrono::milliseconds idleTimeout = std::chrono::seconds(60);
  /// At this age a connection is closed after the answer to its next request, and the peer opens another; its
  /// certificate is then verified again, against the current files. Default 10 minutes.
  std::chrono::milliseconds connectionAge = std::chrono::minutes(10);
};

/// The figures of an `InboundServer`. Totals count since it began.
struct InboundServerStats {
  /// Gauge: connections, and the limit in force, see `InboundServerOptions::connectionsMax`.
  std::size_t connections = 0;
  std::size_t connectionsMax = 0;
  /// Gauge: bytes of requests under way, see `InboundServerOptions::requestBytesMax`.
  std::size_t requestBytes = 0;
  /// Total: requests refused before they reached the handler: not HTTP, beyond a limit, or for another path.
  std::uint64_t refused = 0;
  /// Total: connections that were closed to make room for others. A high number is an attack, or too low a limit.
  std::uint64_t evicted = 0;
  /// Total: connections that were ended by an exception, mostly for lack of memory. The other connections go on.
  std::uint64_t broken = 0;
};

/// An HTTP/1.1 server, with or without TLS, that feeds an `InboundHandler`.
///
/// Thread-safety: members may be called from any thread.
/// Lifetime: the executor's context must outlive the server. The handler may be moved while the server runs, and may be
/// destroyed first: then each request is answered with 503 and `Retry-After`, so that its sender keeps the messages.
/// Destruction stops the server without waiting: a request that the handler has not finished is answered with 503, and
/// may still take effect once. Only a frame that is taking effect on the server's own thread is waited for, so neither
/// a handler nor anything it calls may destroy the server.
class InboundServer {
public:
  /// Listens at once; connections are served on a thread of the server's own. A frame that comes alone takes effect
  /// there, which avoids two changes of threads; meanwhile that thread does nothing else: no answer, no timeout, no
  /// reaction to `stop`. Requests that come together go to the store's thread and share its commits.
  ///
  /// Throws `Error`: `cannotListen` (the address is in use or not this machine's), `outOfDescriptors`, `invalidOption`.
  explicit InboundServer(InboundHandler& handler, const InboundServerOptions& options = {});

  /// The same on `executor`, which the server never makes wait for the disk. Any number of threads may run it.
  InboundServer(const boost::asio::any_io_executor& executor, InboundHandler& handler,
                const InboundServerOptions& options = {});
  InboundServer(InboundServer&&) noexcept;
  InboundServer& operator=(InboundServer&&) noexcept;
  ~InboundServer();

  /// The port that the server listens on; 0 for a socket file.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// `http://address:port/path`, or `https://`, or `unix:PATH`.
  [[nodiscard]] std::string url() const;

  /// The current figures.
  [[nodiscard]] InboundServerStats stats() const;

  /// Reads the certificates of `InboundServerOptions::tls` now; changed files are noticed without this call, too. Open
  /// connections are not affected.
  /// Throws `Error` with `invalidOption`; the certificates from before then stay in use.
  void reloadCertificates();

  /// Stops accepting, lets requests under way finish and closes idle connections. Idempotent; does not wait.
  void stop();

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
