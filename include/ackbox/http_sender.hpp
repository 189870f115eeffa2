#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/tls.hpp"

namespace ackbox {

/// Timeouts and limits of an `HttpSender`.
struct HttpSenderOptions {
  /// Name resolution. Default 5 s.
  std::chrono::milliseconds resolveTimeout = std::chrono::seconds(5);
  /// Connecting to one address. Default 5 s.
  std::chrono::milliseconds connectTimeout = std::chrono::seconds(5);
  /// The TLS handshake, for `https://`. Default 5 s.
  std::chrono::milliseconds handshakeTimeout = std::chrono::seconds(5);
  /// TLS settings for `https://`, the same for all peers.
  TlsClientOptions tls = {};
  /// An idle connection is closed after this. Default 50 s, under the server's 60 s, so that the server's close does
  /// not race a request.
  std::chrono::milliseconds idleTimeout = std::chrono::seconds(50);
  /// At this age a connection is closed, after the answer to its request or while it is idle, and the next request
  /// opens another. The name is then resolved and the peer's certificate verified again, so that requests do not go for
  /// ever to an address that the peer has left. Above 0. Default 10 minutes, as the server's.
  std::chrono::milliseconds connectionAge = std::chrono::minutes(10);
  /// Connections to all peers together, 1 to 65,536. Fewer if the process may open fewer descriptors: its soft limit
  /// when the sender starts, less a quarter of it (at most 256); `stats` has the number in force. If more are needed,
  /// idle connections are closed, peers that answered last time go first, and each other peer has one connection at a
  /// time, which it gives up for a while if it stays silent. Default 512: half of the usual limit of 1,024, beside a
  /// server with as many.
  std::size_t connectionsMax = 512;
  /// Bytes of a response body, 1 to 64 MiB. Default 4 MiB: more than 256 results can need. A larger answer is refused;
  /// if the status alone decides (`PeerProfile`), it only closes its connection.
  std::size_t responseBytesMax = 4 * 1024 * 1024;
  /// Bytes of a response's headers; larger ones are treated like a larger body. 1 KiB to 16 KiB. Default 8 KiB.
  std::size_t headerBytesMax = 8 * 1024;
  /// Returns the `traceparent` header of one attempt, such as the tracer's span for it; called in `asyncSend`. A result
  /// that is not a valid header value or is longer than 256 bytes is not sent; an exception counts as an empty result.
  /// Not set (default): the value from `TraceHooks::requestBegan`, or else that of the frames if all in the request
  /// have the same.
  std::function<std::string(const SendRequest& request)> traceparent = {};
  /// How long a peer's secrets and headers stay in use once their source cannot be read, see `SecretSource`; then
  /// nothing is sent to the peer until it can be read again. 0: no grace. At most 1 day. Default 10 minutes: longer
  /// than it takes to notice and fix a mistake in a file, shorter than a leaked key should stay valid.
  std::chrono::milliseconds secretsGrace = std::chrono::minutes(10);
  /// Called when a peer's secrets or headers cannot be read, have ended, or can no longer sign or verify: with the
  /// peer's name and a sentence that contains no secret. Called on any thread, also inside `asyncSend`; its exceptions
  /// are dropped.
  std::function<void(std::string_view peer, std::string_view what)> onSecretsLost = {};
  /// Time; null: `systemClock()`.
  std::shared_ptr<Clock> clock = {};
  /// Randomness of the batches' delivery ids; null: `systemRandom()`.
  std::shared_ptr<Random> random = {};
};

/// The figures of an `HttpSender`.
struct HttpSenderStats {
  /// Gauge: connections to all peers, idle ones included; 0 while the sender is not started.
  std::size_t connections = 0;
  /// The limit in force: `HttpSenderOptions::connectionsMax`, or less if the process may not open as many descriptors.
  std::size_t connectionsMax = 0;
};

/// Carries frames over HTTP/1.1, with or without TLS, to each peer's URL as `proto/` describes, on keep-alive
/// connections; signed, where the peer has secrets. Never follows a redirect.
///
/// Thread-safety: all members may be called from any thread. Handlers are called on the executor given to `start`, one
/// at a time, never inside `asyncSend` or `stop`; an `io_context` that several threads run must be given as a strand. A
/// request made while the sender is not started is answered `cancelled`, on a thread of Asio's system pool.
/// Lifetime: call `stop` before the executor's context ends, and let the context run until the handlers have been
/// called.
class HttpSender final : public Sender {
public:
  /// Throws `Error` with `invalidOption` naming the field.
  explicit HttpSender(HttpSenderOptions options = {});
  HttpSender(const HttpSender&) = delete;
  HttpSender& operator=(const HttpSender&) = delete;
  ~HttpSender() override;

  /// One: a batch may be sent only to a peer that has granted credit for it.
  [[nodiscard]] std::uint32_t initialCredit() const override { return 1; }
  /// Loads the peers' secrets and headers, and reloads them while the sender runs, at most once a second, so that
  /// rotation and revocation need no restart. An answer is verified with the secrets in force when it comes, even if
  /// its request was signed before. Throws `Error` with `secretsUnreadable`, or with `invalidOption`: a malformed
  /// secret, header or network, no secret that can verify an answer, a source without headers, plain HTTP to another
  /// machine without `allowPlainHttp`, two peers that lead to one receiver (see `PeerOptions::url`), or unusable
  /// certificates that `https://` to a peer needs.
  void usePeers(std::span<const PeerOptions> peers) override;
  /// Throws as `usePeers`; then the peer stays as it was.
  void changePeer(const PeerOptions& peer) override;
  void removePeer(std::string_view name) override;
  /// The certificate of `HttpSenderOptions::tls`, if one of the peers has an `https://` URL.
  [[nodiscard]] std::filesystem::path certificateFile() const override;
  void start(const boost::asio::any_io_executor& executor) override;
  void asyncSend(SendRequest request, SendHandler handler) override;
  void stop() override;

  /// The current figures.
  [[nodiscard]] HttpSenderStats stats() const;

  /// Reads the certificates of `HttpSenderOptions::tls` now; changed files are noticed without this call, too.
  /// Throws `Error` with `invalidOption`; the certificates from before then stay in use.
  void reloadCertificates();

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
