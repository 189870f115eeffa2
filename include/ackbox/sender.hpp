#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/failure.hpp"

namespace boost::asio {
class any_io_executor;
}

namespace ackbox {

struct PeerOptions;

/// A stored message on its way out: everything a sender needs to carry it.
struct OutboundFrame {
  std::string messageId = {};
  std::string session = {};
  std::string type = {};
  /// The exact bytes that were enqueued.
  std::string data = {};
  /// Place in the session, from 1.
  std::uint64_t sequence = 0;
  /// The sequence before this one that the sender still stands by; it skips dead letters. 0 for the first.
  std::uint64_t previousSequence = 0;
  /// Charged attempts so far; 0 on the first try.
  std::uint32_t retryCount = 0;
  WallTime enqueuedAt = {};
  std::optional<WallTime> expiresAt = {};
  std::string traceparent = {};
  std::string correlationId = {};
};

/// One request to one peer: frames of one or many sessions, those of a session adjacent and in order.
struct SendRequest {
  std::string peer = {};
  /// The peer's URL and agent URI, as configured.
  std::string url = {};
  std::string peerAgent = {};
  /// This agent's URI, this store's identity and its epoch (one more at each open of the file).
  std::string agent = {};
  std::string origin = {};
  std::uint64_t epoch = 0;
  std::vector<OutboundFrame> frames = {};
  /// How long it may take.
  std::chrono::milliseconds timeout{0};
  /// The hop's `traceparent`, from `TraceHooks::requestBegan`; empty if the hook gave none.
  std::string traceparent = {};
};

/// What the peer says of one frame. Sent on the wire by name.
enum class Outcome : std::uint8_t {
  /// Processed, now or before.
  ack,
  /// Durably stored there; the ACK comes later.
  defer,
  /// Not now; try again. Charged to the message, unless the code names a limit of the receiver's (`limit-…` or
  /// `inbox-full`): that is the receiver's state, and only the message's horizon ends it.
  nack,
  /// Never; give it up.
  term,
};

[[nodiscard]] std::string_view toString(Outcome outcome) noexcept;

/// What the peer answered to one frame.
struct FrameResult {
  Outcome outcome = Outcome::nack;
  bool duplicate = false;
  /// The frame was not attempted because an earlier one of its session was not taken: not charged.
  bool held = false;
  /// Short and stable, such as `rejected` or `out-of-sequence`; empty for a plain ack. Of a `term` it is the dead
  /// letter's reason. Of a `nack` with a `detail` only a limit's code is kept: otherwise the message's last error is
  /// the `detail` alone.
  std::string code = {};
  /// For people.
  std::string detail = {};
  /// The peer's wish for the delay before the next attempt.
  std::optional<std::chrono::milliseconds> retryAfter = {};
  /// JSON text from the peer's handler; empty when none.
  std::string result = {};
  /// Of a `defer`: for how long the peer has had no application that takes frames of this type. Nothing: it has one, or
  /// does not say.
  std::optional<std::chrono::milliseconds> unattended = {};
  /// What becomes of the message on `nack` or `term`, by a sender of this process; counts before
  /// `OutboxOptions::onFailure`. Never comes from the wire. Default: not set.
  std::optional<FailureDecision> decision = {};
};

/// How one request ended, seen as a whole.
enum class RequestOutcome : std::uint8_t {
  /// The peer answered for every frame: `SendReport::results` has one entry per frame, in order.
  answered,
  /// The peer is away or overloaded: refused, unresolved, TLS, timeout, 429, 502, 503, 504, 507, or an answer that is
  /// no ACK at all (`SendReport::isUnclear`). The peer's state; charged to no message. A message that ends so again
  /// after others of its peer were taken waits alone, and the others go; by an unclear answer it is then charged, as
  /// by `peerRefused`.
  peerUnavailable,
  /// The connection was lost after the request went out and before the answer came.
  connectionLost,
  /// The peer refuses this sender or this endpoint as a whole (401, 403, 404, 405, 415, a redirect): sending on is
  /// pointless until someone mends it. The peer is held and probed with another message each time; charged to no
  /// message, unless others of the peer are taken: then what is refused again is charged and waits alone.
  peerRefused,
  /// The request as a whole was too large (413) or could not be read (400): smaller requests follow; a single frame
  /// that fails alone is given up.
  requestRejected,
  /// The sender was stopped before the end was known. Charged to no message.
  cancelled,
  /// The endpoint says that it is gone for good (410): the peer is disabled, not even probed, until
  /// `OutboxOperator::resume`; charged to no message. While there are others to ask with, as `peerRefused` until 16
  /// in a row, or more where the peer often refuses, were answered so; and always where it took a message after it
  /// said so, until it has taken none for a day.
  peerGone,
  /// This process could not send it, for want of descriptors or memory: no peer's doing, and none is down for it. Tried
  /// again soon, charged to no message, and reported as `HealthCheck::process`.
  notSent,
};

[[nodiscard]] std::string_view toString(RequestOutcome outcome) noexcept;

/// How far the peer has come in one session of the request, as it reports.
struct SessionReport {
  /// The session's first frame: its place in the request.
  std::size_t firstFrame = 0;
  /// The highest number that it has accepted.
  std::uint64_t accepted = 0;
  /// The id of the frame that it accepted with this number; empty: it did not say.
  std::string acceptedId = {};
  /// The request has a frame with this number and another id: the peer had taken the number for another frame.
  bool isOther = false;
};

/// What came of one request.
struct SendReport {
  RequestOutcome outcome = RequestOutcome::peerUnavailable;
  /// For `answered`: one per frame, in order. Otherwise ignored.
  std::vector<FrameResult> results = {};
  /// For people, when not `answered`: what happened.
  std::string error = {};
  /// The status of the HTTP answer; 0: there was none, or the sender does not speak HTTP. For `TraceHooks` and for
  /// what is kept of an attempt that failed.
  int status = 0;
  /// The peer's wish for a pause (`Retry-After`).
  std::optional<std::chrono::milliseconds> retryAfter = {};
  /// For `peerUnavailable`: an answer came that names no outage and settles nothing, such as one that cannot be read,
  /// or a 500: it may be about its messages as well as about the peer. Default false: the peer is away or overloaded.
  bool isUnclear = false;
  /// Frames and bytes that the peer will take in one request; 0: it did not say.
  std::uint32_t creditFrames = 0;
  std::uint64_t creditBytes = 0;
  /// For `answered`: the identity of the peer's store, and how often that has been opened; empty and 0: it did not say.
  /// By these and by `sessions` it is noticed when either side has lost its memory; a sender that leaves them out gives
  /// that up, and nothing else.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// For `answered`: one for each session that the peer reported on, in any order.
  std::vector<SessionReport> sessions = {};
};

/// Called exactly once, on any thread.
using SendHandler = std::function<void(SendReport)>;

/// The seam below the outbox: whatever carries frames to a peer. `HttpSender` speaks the protocol in `proto/`;
/// implement this to relay into something else.
///
/// Thread-safety: the manager calls all members from its executor, one at a time, but `usePeers`, which it calls in the
/// thread of `setSender`.
/// Lifetime: kept alive by the manager; `stop` is called before the manager lets go of it.
class Sender {
public:
  virtual ~Sender() = default;

  /// Takes the manager's peers as they are configured; `OutboxManager::setSender` calls it before anything else. A
  /// sender that cannot serve one of them as configured throws `Error`, such as `invalidOption`; then it is not
  /// set.
  virtual void usePeers(std::span<const PeerOptions> peers) { (void)peers; }

  /// The file of the certificate that it shows to these peers. The manager looks at the certificate's end
  /// (`certificateEnds`). Empty: it shows none.
  [[nodiscard]] virtual std::filesystem::path certificateFile() const { return {}; }

  /// A run of the manager begins; I/O of the requests that follow belongs on `executor`, which runs one thing at a time
  /// and may be gone some time after `stop`.
  virtual void start(const boost::asio::any_io_executor& executor) { (void)executor; }

  /// Frames that one request may carry before the peer has said how many it takes (`SendReport::creditFrames`).
  [[nodiscard]] virtual std::uint32_t initialCredit() const { return 256; }

  /// Carries `request` and calls `handler` once with what came of it. Must not block and must not throw; several
  /// requests may be under way, never two with frames of the same ordered session.
  virtual void asyncSend(SendRequest request, SendHandler handler) = 0;

  /// The run ends: give up what is under way; each pending handler is called with `RequestOutcome::cancelled`.
  virtual void stop() {}
};

/// What a plain send function answers.
struct SendFunctionResult {
  bool success = false;
  std::string error = {};
  /// On failure: whether trying again can help. If not, the message becomes a dead letter.
  bool isRetryable = true;
  /// On failure: what becomes of the message instead, see `FailureDecision`. Default: not set.
  std::optional<FailureDecision> decision = {};
};

/// Sends one frame and blocks until it is done; called on a thread of its own, one frame at a time.
/// An exception counts as a retryable failure.
using SendFunction = std::function<SendFunctionResult(const std::string& session, const OutboundFrame& frame)>;

}  // namespace ackbox
