#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/inbound_peer.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/retry_policy.hpp"
#include "ackbox/sender.hpp"

namespace SQLite {
class Database;
}

namespace ackbox {

// Defined in ackbox/deferred_frame.hpp.
class DeferredFrame;
class OutboxManager;

/// A frame as it came from a peer, verified and decoded.
struct InboundFrame {
  std::string id;
  /// The sender's agent URI.
  std::string source;
  std::string type;
  /// JSON text, byte for byte as sent.
  std::string data;
  /// When the sender enqueued it, by the sender's clock; absent if it did not say.
  std::optional<WallTime> time;
  std::optional<WallTime> expiresAt;
  /// The receiver that the sender means; empty: it did not say.
  std::string audience;
  /// Empty with a sequence of 0: a frame outside any session, from a foreign CloudEvents sender. With a name and a
  /// sequence of 0: a session of AGENIUM's, whose frames are taken as they come.
  std::string session;
  std::string origin;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t previousSequence = 0;
  /// Where the frame began, as a W3C `traceparent`: its own attribute; where it has none, the request's header.
  std::string traceparent;
  std::string correlationId;
  /// The hop that brought it: the request's `traceparent` header, the parent of what the handler does; empty: there was
  /// none, or none that W3C allows, or the frame was deferred and the hop is over. Not covered by the signature.
  std::string hopTraceparent = {};
  /// The media type of data that is no JSON, as an event in CloudEvents' binary mode may carry; `data` is then the
  /// bytes in base64, as a JSON string. Empty: the data is JSON.
  std::string dataContentType = {};
};

/// What a handler answers.
struct HandlerResult {
  Outcome outcome = Outcome::ack;
  std::string code;
  std::string detail;
  std::optional<std::chrono::milliseconds> retryAfter;
  /// JSON text carried back to the sender's `onAcked`.
  std::string result;

  /// Taken into effect.
  [[nodiscard]] static HandlerResult ack(std::string resultJson = {}) {
    HandlerResult made;
    made.result = std::move(resultJson);
    return made;
  }
  /// Not now. Whatever the handler wrote is undone.
  [[nodiscard]] static HandlerResult notNow(std::string detail = {},
                                            std::optional<std::chrono::milliseconds> retryAfter = {}) {
    HandlerResult made;
    made.outcome = Outcome::nack;
    made.code = "not-now";
    made.detail = std::move(detail);
    made.retryAfter = retryAfter;
    return made;
  }
  /// Later: the frame is kept durably, its sender is told so, and `DeferredOptions::handler` works on it off the
  /// store's lock. Whatever the handler wrote is undone.
  [[nodiscard]] static HandlerResult defer() {
    HandlerResult made;
    made.outcome = Outcome::defer;
    return made;
  }
  /// Never. Whatever the handler wrote is undone; the sender dead-letters the frame.
  [[nodiscard]] static HandlerResult reject(std::string detail, std::string code = "rejected") {
    HandlerResult made;
    made.outcome = Outcome::term;
    made.code = std::move(code);
    made.detail = std::move(detail);
    return made;
  }
};

/// The short transaction that a handler works in. Its writes, the mark that makes the frame a duplicate from now on,
/// and the replies enqueued here commit together, before the ACK leaves (P5).
///
/// Lifetime: the handler's call. Thread-safety: the handler's thread only.
class InboundTransaction {
public:
  virtual ~InboundTransaction() = default;

  /// The store's connection, inside the transaction. Business tables may share the file. Do not begin, commit or roll
  /// back; savepoints of your own are fine.
  [[nodiscard]] virtual SQLite::Database& database() = 0;

  /// Enqueues a reply, or anything else, in this transaction.
  /// Returns and throws as `OutboxWriter::enqueue`.
  virtual EnqueueReceipt enqueue(const Frame& frame) = 0;
};

/// Decides over one frame. Runs on the store's thread (see `HandlerThread`) with SQLite's write lock held: it must be
/// short (no network, no waiting). An exception is a `notNow`; what it wrote is undone.
using FrameHandler = std::function<HandlerResult(const InboundFrame& frame, InboundTransaction& transaction)>;

/// Works on one frame that was deferred; see `DeferredFrame`, which it may keep and answer later from anywhere. Runs on
/// `DeferredOptions::executor`: one frame of a session at a time, in order, several sessions at once. An exception is a
/// failed run.
using DeferredHandler = std::function<void(DeferredFrame frame)>;

/// How deferred frames are worked on.
struct DeferredOptions {
  /// Empty (default): nobody of this process; a handler that answers `defer` is taken to have said `notNow`.
  DeferredHandler handler = {};
  /// Frames worked on at once, each of another session. 1 to 256. Default 4.
  std::uint32_t concurrency = 4;
  /// How long a run may go on without `DeferredFrame::progress`. A run beyond it has failed and is made again, even if
  /// the old one still has not returned; that one commits nothing any more. At least 1 ms. Default 5 minutes.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  /// When a failed run is made again, and when its frame is given up: beyond `maxRetries` with code `retry-budget`,
  /// beyond `horizon` since it was accepted with code `horizon`; both are `term` to the sender.
  RetryPolicy retry = {};
  /// Frames that may wait; further ones are `notNow` with code `inbox-full`. At least 1. Default 100,000.
  std::uint64_t framesMax = 100'000;
  /// Where runs begin, and timers run. Null (default): threads of the handler's own, `concurrency` and one more. One of
  /// yours must be run by somebody; its context must live until the `InboundHandler` has gone.
  std::shared_ptr<const boost::asio::any_io_executor> executor = {};
};

/// Numbers that an inbound session passed over, because its sender gave those messages up.
struct InboundGap {
  std::string source;
  std::string session;
  std::uint64_t firstMissing = 0;
  std::uint64_t lastMissing = 0;
};

/// What a request's body is, and what its answer must be.
enum class InboundForm : std::uint8_t {
  /// CloudEvents, answered with an ACK document.
  cloudEvents,
  /// One frame as AGENIUM's agents write them, answered as they do: see `InboundServerOptions::compatibilityPath`.
  agenium,
};

/// One HTTP request, as far as the protocol cares.
struct InboundRequest {
  std::string contentType;
  std::string body;
  /// `webhook-id`; echoed as `delivery`.
  std::string webhookId;
  /// `webhook-timestamp` and `webhook-signature`, as received.
  std::string webhookTimestamp = {};
  std::string webhookSignature = {};
  /// `outbox-agent`: who the sender says it is. It chooses the keys to verify with, and proves nothing.
  std::string claimedAgent = {};
  /// The URIs in the client's certificate, if mutual TLS verified one.
  std::vector<std::string> certificateAgents = {};
  /// `outbox-version` and `traceparent`, as received; empty: there was none.
  std::string version = {};
  std::string traceparent = {};
  /// The `ce-` headers, each by the attribute's name in lower case, with the value as received: an event in binary
  /// mode.
  std::vector<std::pair<std::string, std::string>> eventHeaders = {};
  InboundForm form = InboundForm::cloudEvents;
};

/// Which thread a request may take effect in, its `FrameHandler` included.
enum class HandlerThread : std::uint8_t {
  /// The store's alone.
  store,
  /// The caller's as well, if it may wait for the disk: a request of one frame, while no other is under way, is then
  /// spared two changes of threads.
  caller,
};

/// What to answer.
struct InboundResponse {
  int status = 200;
  std::string contentType;
  std::string body;
  /// `Retry-After` in seconds.
  std::optional<std::uint32_t> retryAfterSeconds;
  /// Further headers, such as the answer's signature.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// How an `InboundHandler` admits frames.
struct InboundOptions {
  /// Frames in one request. 1 to 256. Default 256.
  std::size_t batchFramesMax = 256;
  /// Bytes of one frame. Default 256 KiB.
  std::size_t frameBytesMax = 256 * 1024;
  /// Bytes of one request; also granted as credit. Default 1 MiB.
  std::size_t bodyBytesMax = 1024 * 1024;
  /// Depth of nesting in a body. Default 64.
  std::size_t depthMax = 64;
  /// Who may speak to it, at most 10,000. A request is verified before any of its body is decoded; what proves nobody
  /// in this list is answered with 401, and a frame that claims another's name with 403. Default: nobody.
  std::vector<InboundPeer> peers = {};
  /// Whether unsigned requests are taken as well, as from whom they say, save from those in `peers`: for an agent that
  /// only processes of its own machine can reach. Default: no.
  bool allowAnonymous = false;
  /// How long the mark of a frame without a sequence is kept, at least; a frame that expires later asks for more. Also
  /// how long the last word on a deferred frame is kept for a sender that asks. More than 0. Default 7 days.
  std::chrono::milliseconds processedRetention = std::chrono::hours(24 * 7);
  /// How long such a mark is kept at most, whatever `expirytime` a frame claims: a peer must not fill the file for
  /// ever. A frame that expires even later can take effect again after this. At least `processedRetention`. Default 90
  /// days.
  std::chrono::milliseconds processedRetentionMax = std::chrono::hours(24 * 90);
  /// Told of each handler that threw, with the exception's text, which the peer is not told. Runs where the handler
  /// does; what it throws is dropped. Empty: nobody is told.
  std::function<void(const InboundFrame& frame, std::string_view what)> onHandlerError = {};
  /// Told of each gap in a session, after the commit that passed it. Runs where the handler does; what it throws is
  /// dropped. Empty: nobody is told; `Stats::gaps` counts them.
  std::function<void(const InboundGap& gap)> onGap = {};
  /// See `DeferredOptions`.
  DeferredOptions deferred = {};
};

/// The receiving side: deduplicates, keeps each session's order, runs the handler in a short transaction, answers the
/// ACK document. Independent of HTTP; `InboundServer` puts it on a socket.
///
/// Frames of type `ackbox.ack.v1` (ACK events) are its own affair: they settle the manager's messages and reach no
/// handler. They settle only messages to the peer whose `PeerOptions::agent` is the event's `source`; the event for a
/// frame deferred here goes to the peer whose `agent` is the frame's `source`. Where no such peer is configured, the
/// sender learns the outcome when it asks, at its `ackTimeout`.
///
/// Thread-safety: `asyncHandle` may be called from any thread.
/// Lifetime: shares the manager's store, so the manager's file is the receiver's database; keep it alive as long as
/// requests may be under way. Destruction asks deferred runs to stop, waits for those on threads of its own, and frees
/// the frames of the others without a charge.
class InboundHandler {
public:
  /// Throws `Error` with `invalidOption`.
  InboundHandler(OutboxManager& manager, FrameHandler handler, InboundOptions options = {});
  InboundHandler(InboundHandler&&) noexcept;
  InboundHandler& operator=(InboundHandler&&) noexcept;
  ~InboundHandler();

  /// Handles one request and calls `respond` exactly once, on the store's thread or in the caller's, when everything
  /// that the response acknowledges is durable. Never throws for bad input: that gets a 4xx response.
  void asyncHandle(InboundRequest request, std::function<void(InboundResponse)> respond,
                   HandlerThread thread = HandlerThread::store);

  [[nodiscard]] const InboundOptions& options() const noexcept;

private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace ackbox
