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
  /// How `https://` is spoken, with whatever peer.
  TlsClientOptions tls = {};
  /// An idle connection is closed after this. Default 50 s, under the server's 60 s, so that the server's close does
  /// not race a request.
  std::chrono::milliseconds idleTimeout = std::chrono::seconds(50);
  /// After this a connection is closed behind the answer to its request, or while it is idle, and another is made for
  /// the next one: then the name is resolved and the peer's certificate verified again, so that nothing goes on for
  /// ever to where a peer was once. Above 0. Default 10 minutes, as the server's.
  std::chrono::milliseconds connectionAge = std::chrono::minutes(10);
  /// Connections to all peers together, 1 to 65,536; fewer where the process may open fewer descriptors (its soft limit
  /// when the sender starts, less a quarter of it, 256 at most; `stats` has the number that holds). Where more are
  /// wanted, idle ones are closed, peers that have answered last time go first, and each of the others has one
  /// connection at a time, which it gives back for a while when it is silent. Default 512: half of the usual limit of
  /// 1,024, beside a server with as many.
  std::size_t connectionsMax = 512;
  /// Bytes of a response body, 1 to 64 MiB. Default 4 MiB: more than 256 results can need. A larger answer is refused,
  /// except where the status alone settles (`PeerProfile`): there it only ends its connection.
  std::size_t responseBytesMax = 4 * 1024 * 1024;
  /// Bytes of a response's headers, with the same in force. 1 KiB to 16 KiB. Default 8 KiB.
  std::size_t headerBytesMax = 8 * 1024;
  /// The `traceparent` header of one attempt, such as a tracer's span for it; called in `asyncSend`. What is no
  /// header's value, or longer than 256 bytes, is not sent; what it throws counts as nothing. Empty (default): what
  /// `TraceHooks::requestBegan` gave; without it, that of the frames, where all of a request have the same.
  std::function<std::string(const SendRequest& request)> traceparent = {};
  /// How long the secrets of a peer go on when their source cannot be read any more, see `SecretSource`; afterwards
  /// nothing is sent to it until it can. 0: not at all. At most 1 day. Default 10 minutes: longer than a mistake in a
  /// file takes to be seen and mended, shorter than a key that leaked should live.
  std::chrono::milliseconds secretsGrace = std::chrono::minutes(10);
  /// Called when a peer's secrets cannot be read, have ended, or cannot sign or verify any more: with the peer's name
  /// and a sentence that shows none of them. Called on any thread, also inside `asyncSend`; what it throws is dropped.
  std::function<void(std::string_view peer, std::string_view what)> onSecretsLost = {};
  /// Time; null: `systemClock()`.
  std::shared_ptr<Clock> clock = {};
  /// Randomness of the batches' delivery ids; null: `systemRandom()`.
  std::shared_ptr<Random> random = {};
};

/// How an `HttpSender` is doing.
struct HttpSenderStats {
  /// Gauge: connections to all peers, those that are idle included; 0 while it is not started.
  std::size_t connections = 0;
  /// How many there may be, see `HttpSenderOptions::connectionsMax`: fewer than that where the process may not open as
  /// many descriptors.
  std::size_t connectionsMax = 0;
};

/// Carries frames over HTTP/1.1, with or without TLS, to each peer's URL as `proto/` describes, on keep-alive
/// connections; signed, where the peer has secrets. Never follows a redirect.
///
/// Thread-safety: all members may be called from any thread. Handlers are called on the executor given to `start`, one
/// at a time, never inside `asyncSend` or `stop`; an `io_context` that several threads run must be given as a strand. A
/// request made while it is not started is answered `cancelled`, on a thread of Asio's system pool.
/// Lifetime: call `stop` before the executor's context ends, and let the context run until the handlers were called.
class HttpSender final : public Sender {
public:
  /// Throws `Error` with `invalidOption` naming the field.
  explicit HttpSender(HttpSenderOptions options = {});
  HttpSender(const HttpSender&) = delete;
  HttpSender& operator=(const HttpSender&) = delete;
  ~HttpSender() override;

  /// One: a batch may be sent only to a peer that has granted it.
  [[nodiscard]] std::uint32_t initialCredit() const override { return 1; }
  /// Loads the peers' secrets, and again while it runs, at most once a second, so that a rotation or a revocation needs
  /// no restart. An answer is verified with the secrets of then, also if its request was signed before.
  /// Throws `Error` with `secretsUnreadable`, or with `invalidOption`: a secret that is malformed, none that could
  /// verify an answer, plain HTTP to another machine that was not allowed by name, two peers that lead to one receiver
  /// (see `PeerOptions::url`), or certificates that `https://` to one of them needs.
  void usePeers(std::span<const PeerOptions> peers) override;
  /// That of `HttpSenderOptions::tls`, if one of the peers has an `https://` URL.
  [[nodiscard]] std::filesystem::path certificateFile() const override;
  void start(const boost::asio::any_io_executor& executor) override;
  void asyncSend(SendRequest request, SendHandler handler) override;
  void stop() override;

  /// How it is doing now.
  [[nodiscard]] HttpSenderStats stats() const;

  /// Reads the certificates of `HttpSenderOptions::tls` now; changed files are noticed without it.
  /// Throws `Error` with `invalidOption`, and goes on with those from before.
  void reloadCertificates();

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
