#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/random.hpp"
#include "ackbox/secret.hpp"
#include "ackbox/tls.hpp"

namespace boost::asio {
class any_io_executor;
}

namespace ackbox {

class InboundHandler;

/// Where a `MailboxFetcher` stands.
enum class MailboxState : std::uint8_t {
  /// `start` was not called, or `stop` was.
  stopped,
  /// The first stream is being opened.
  connecting,
  /// The hub's stream is open.
  fetching,
  /// The hub cannot be reached, or the stream was lost. It is opened again after `reconnectLeast`, doubling to
  /// `reconnectMost`.
  away,
  /// The hub refuses the stream (401, 403, 404, 422): the URL, the token or the agent is wrong. It is asked again after
  /// 5 s, doubling to a minute.
  refused,
};

/// The state's name, as printed: `"fetching"`, `"away"`, …
[[nodiscard]] std::string_view toString(MailboxState state) noexcept;

/// The state and the figures of a `MailboxFetcher`. Totals count since it was made.
struct MailboxStatus {
  MailboxState state = MailboxState::stopped;
  /// Why it is `away` or `refused`; while it is `fetching`, why outcomes cannot be reported. Empty if there is no
  /// problem. On one line, without a secret.
  std::string what = {};
  /// Gauge: frames that were fetched and whose outcome is not final.
  std::size_t inHand = 0;
  /// Of these, frames whose request the handler has refused as a whole, see `MailboxFetcherOptions::onRefused`.
  std::size_t refusedInHand = 0;
  /// Total: frames that came, each time that they came.
  std::uint64_t fetched = 0;
  /// Total: outcomes that the hub has stored.
  std::uint64_t settled = 0;
  /// Total: answers of the handler that refused a request as a whole, see `MailboxFetcherOptions::onRefused`.
  std::uint64_t refused = 0;
};

/// What a `MailboxFetcher` connects to, and its limits.
struct MailboxFetcherOptions {
  /// The address of the hub's API, such as `https://hub.example.com:7070`; a path goes before `/v1/inbox/stream`. Must
  /// be set.
  std::string url = {};
  /// Whether `url` may be `http://` to another machine, unencrypted and readable on the way. Default: no.
  bool allowPlainHttp = false;
  /// Gives one secret, the hub's token of this agent. Read again at each request after a second, so a token can be
  /// replaced without a restart. Default: none, for a hub without tokens.
  SecretSource token = {};
  /// The agent whose mailbox is fetched: this agent's URI. Empty (default): frames of the hub's own inbox.
  std::string agent = {};
  /// Frames in hand at once, of different sessions, 1 to 1,024. A deferred frame takes a place until it has taken
  /// effect. Default 64, as the hub's.
  std::uint32_t window = 64;
  /// TLS settings for `https://`.
  TlsClientOptions tls = {};
  /// Connecting to one address of the hub, and resolving its name. Default 5 s.
  std::chrono::milliseconds connectTimeout = std::chrono::seconds(5);
  /// A stream without a byte for this time is given up. The hub sends an empty line at least every 10 s. Default 30 s.
  std::chrono::milliseconds silenceTimeout = std::chrono::seconds(30);
  /// One request that reports outcomes. Default 30 s.
  std::chrono::milliseconds settleTimeout = std::chrono::seconds(30);
  /// The pause before a lost stream is opened again, doubled after each attempt up to `reconnectMost`; each pause is
  /// drawn from its upper half. It begins anew after a stream that was open for 10 s. Default 500 ms.
  std::chrono::milliseconds reconnectLeast = std::chrono::milliseconds(500);
  /// See `reconnectLeast`, which it must not be below. Default 30 s.
  std::chrono::milliseconds reconnectMost = std::chrono::seconds(30);
  /// How long the token stays in use once its source cannot be read, see `SecretSource`. 0: no grace. At most 1 day.
  /// Default 10 minutes.
  std::chrono::milliseconds secretsGrace = std::chrono::minutes(10);
  /// Called when the state or its `what` changes, except by `stop`. Called on the executor, one at a time; its
  /// exceptions are dropped. Empty (default): only `status` shows it.
  std::function<void(const MailboxStatus& status)> onState = {};
  /// Called when the handler refuses a frame's request as a whole (401, 403, another 4xx), which leaves no outcome of
  /// the frame: the handler's configuration does not fit the frame. With the frame's source and id, and the text. The
  /// frame stays in hand and is handed in again after a second, doubling to a minute. While such frames take half of
  /// the window, a further one is given back to the hub as `retry`, which charges it a run there. Called on the
  /// executor; its exceptions are dropped. Empty (default): only `status` counts it.
  std::function<void(std::string_view source, std::string_view id, std::string_view what)> onRefused = {};
  /// Time; null: `systemClock()`.
  std::shared_ptr<Clock> clock = {};
  /// Randomness of the pauses; null: `systemRandom()`.
  std::shared_ptr<Random> random = {};
};

/// A receiver that dials out, for an agent that cannot listen: it keeps a stream open to a mailbox at a hub
/// (`ackbox serve`), feeds each frame to an `InboundHandler`, and reports its outcome to the hub.
///
/// A frame that the handler defers is not reported until it has taken effect: it is handed in again after 100 ms,
/// doubling to 5 s, as a repetition, which the handler answers with the known outcome. So is a frame that the handler
/// could not take for now (503, a limit). Nothing but a `term` of the handler is reported as refused for good. If a
/// stream is lost, the hub gives its frames out again; those that took effect are repetitions.
///
/// Order: the hub gives one frame of a session at a time; frames of different sessions are handed in concurrently.
/// The frames carry no signature: `InboundPeer::byMailbox` says whose are believed.
///
/// Thread-safety: all members may be called from any thread. Callbacks are called on the executor given to `start`, one
/// at a time; it may have several threads.
/// Lifetime: the handler may be moved while it runs, and may be destroyed first; frames then wait at the hub. Call
/// `stop` before the executor's context ends.
class MailboxFetcher {
public:
  /// Reads the token and the certificates. Throws `Error` with `invalidOption` naming the field, or with
  /// `secretsUnreadable`.
  MailboxFetcher(InboundHandler& handler, MailboxFetcherOptions options);
  MailboxFetcher(MailboxFetcher&&) noexcept;
  MailboxFetcher& operator=(MailboxFetcher&&) noexcept;
  /// Stops it.
  ~MailboxFetcher();

  /// Opens the stream, and keeps it open until `stop`. A second call begins anew.
  void start(const boost::asio::any_io_executor& executor);

  /// Ends the stream; outcomes that were not reported are dropped, and the hub gives those frames out again. A frame
  /// that is being handled may still take effect, once. Idempotent; does not wait.
  void stop();

  /// The current state and figures.
  [[nodiscard]] MailboxStatus status() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ackbox
