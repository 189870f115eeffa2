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
  /// The frame's number in its session, from 1.
  std::uint64_t sequence = 0;
  /// The sequence before this one that is no dead letter's. 0 for the first.
  std::uint64_t previousSequence = 0;
  /// Charged attempts so far; 0 on the first try.
  std::uint32_t retryCount = 0;
  WallTime enqueuedAt = {};
  std::optional<WallTime> expiresAt = {};
  std::string traceparent = {};
  std::string correlationId = {};
  /// See `InboundFrame::resentOf`.
  std::string resentOf = {};
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
  /// How long the request may take.
  std::chrono::milliseconds timeout{0};
  /// The hop's `traceparent`, from `TraceHooks::requestBegan`; empty if the hook gave none.
  std::string traceparent = {};
};

/// The peer's verdict on one frame. Sent on the wire by name.
enum class Outcome : std::uint8_t {
  /// Applied, now or before.
  ack,
  /// Durably stored there; the ACK comes later.
  defer,
  /// Not now; try again. Charged to the message, unless the code names a limit of the receiver (`limit-…` or
  /// `inbox-full`): that is the receiver's state, and only the message's horizon ends the retries.
  nack,
  /// Never; give it up.
  term,
};

[[nodiscard]] std::string_view toString(Outcome outcome) noexcept;

/// The peer's answer for one frame.
struct FrameResult {
  Outcome outcome = Outcome::nack;
  bool duplicate = false;
  /// The frame was not attempted, because an earlier one of its session was not accepted: not charged.
  bool held = false;
  /// Short and stable, such as `rejected` or `out-of-sequence`; empty for a plain ack. For a `term` it is the dead
  /// letter's reason. For a `nack` with a `detail`, only the code of a limit is kept; otherwise the message's last
  /// error is the `detail` alone.
  std::string code = {};
  /// For people.
  std::string detail = {};
  /// The delay that the peer asks for before the next attempt.
  std::optional<std::chrono::milliseconds> retryAfter = {};
  /// The JSON text of the peer's handler; empty if it gave none.
  std::string result = {};
  /// For a `defer`: how long the peer has had no application that takes frames of this type. Empty if it has one or
  /// does not say.
  std::optional<std::chrono::milliseconds> unattended = {};
  /// On `nack` or `term`: the decision about the message by a sender in this process; takes precedence over
  /// `OutboxOptions::onFailure`. Never set from the wire. Default: not set.
  std::optional<FailureDecision> decision = {};
};

/// How one request ended as a whole.
enum class RequestOutcome : std::uint8_t {
  /// The peer answered for every frame: `SendReport::results` has one entry per frame, in order.
  answered,
  /// The peer is unreachable or overloaded: a refused connection, an unresolved name, TLS, a timeout, 429, 502, 503,
  /// 504, 507, or an answer that is no ACK (`SendReport::isUnclear`). The peer's state; charged to no message. A
  /// message that ends this way again after others of its peer were accepted waits alone while the others are sent; if
  /// the answer was unclear, it is then charged, as with `peerRefused`.
  peerUnavailable,
  /// The connection was lost after the request went out and before the answer came.
  connectionLost,
  /// The peer refuses this sender or this endpoint as a whole (401, 403, 404, 405, 415, a redirect): sending is
  /// pointless until the cause is fixed. The peer is held and probed with a different message each time. Charged to no
  /// message, unless others of the peer are accepted: then a message refused again is charged and waits alone.
  peerRefused,
  /// The request as a whole was too large (413) or could not be read (400): smaller requests follow; a single frame
  /// that fails alone is a dead letter.
  requestRejected,
  /// The sender was stopped before the end was known. Charged to no message.
  cancelled,
  /// The endpoint answers that it is gone for good (410): the peer is disabled, not even probed, until
  /// `OutboxOperator::resume`; charged to no message. Treated as `peerRefused` while there are other messages to try,
  /// until 16 in a row (more if the peer often refuses) got this answer; and always if the peer accepted a message
  /// after such an answer, until it has accepted none for a day.
  peerGone,
  /// This process could not send it, for lack of descriptors or memory. Not the peer's fault, and no peer goes down for
  /// it. Tried again soon, charged to no message, and reported as `HealthCheck::process`.
  notSent,
};

[[nodiscard]] std::string_view toString(RequestOutcome outcome) noexcept;

/// How far the peer has come in one session of the request, as the peer reports it.
struct SessionReport {
  /// The index of the session's first frame in the request.
  std::size_t firstFrame = 0;
  /// The highest sequence that the peer has accepted.
  std::uint64_t accepted = 0;
  /// The id of the frame accepted with this sequence; empty if the peer did not say.
  std::string acceptedId = {};
  /// The request has a frame with this sequence and another id: the peer had accepted a different frame under it.
  bool isOther = false;
};

/// The result of one request.
struct SendReport {
  RequestOutcome outcome = RequestOutcome::peerUnavailable;
  /// For `answered`: one per frame, in order. Otherwise ignored.
  std::vector<FrameResult> results = {};
  /// For people, when not `answered`: what happened.
  std::string error = {};
  /// The HTTP status of the answer; 0 if there was none or the sender does not speak HTTP. For `TraceHooks` and the
  /// record of a failed attempt (`AttemptInfo`).
  int status = 0;
  /// The pause that the peer asks for (`Retry-After`).
  std::optional<std::chrono::milliseconds> retryAfter = {};
  /// For `peerUnavailable`: the answer names no outage and settles nothing, such as an unreadable answer or a 500; its
  /// cause may be the messages or the peer. Default false: the peer is unreachable or overloaded.
  bool isUnclear = false;
  /// Frames and bytes that the peer accepts in one request; 0 if it did not say.
  std::uint32_t creditFrames = 0;
  std::uint64_t creditBytes = 0;
  /// For `answered`: the identity of the peer's store, and how often it was opened; empty and 0 if the peer did not
  /// say. With these and `sessions`, the loss or restore of either side's file is detected; a sender that leaves them
  /// out loses only that.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// For `answered`: one for each session that the peer reported on, in any order.
  std::vector<SessionReport> sessions = {};
};

/// Called exactly once, on any thread.
using SendHandler = std::function<void(SendReport)>;

/// The interface that carries frames to a peer. `HttpSender` speaks the protocol in `proto/`; implement this class to
/// relay into something else.
///
/// Thread-safety: the manager calls all members from its executor, one at a time, except `usePeers`, which it calls on
/// the thread of `setSender`.
/// Lifetime: kept alive by the manager; `stop` is called before the manager releases it.
class Sender {
public:
  virtual ~Sender() = default;

  /// Receives the manager's peers as configured; `OutboxManager::setSender` calls it before anything else. A sender
  /// that cannot serve one of them as configured throws `Error`, such as `invalidOption`; it is then not set.
  virtual void usePeers(std::span<const PeerOptions> peers) { (void)peers; }

  /// A peer was added to the outbox, or changed, while the manager is open (`OutboxOperator::addPeer`); called on the
  /// manager's executor, also at the beginning of each run. A sender that cannot serve it throws: then its requests do
  /// not reach the sender until the peer is changed or a later call of this function succeeds.
  virtual void changePeer(const PeerOptions& peer) { (void)peer; }
  /// The same for a peer that was removed from the outbox.
  virtual void removePeer(std::string_view name) { (void)name; }

  /// The file of the certificate that the sender presents to these peers; empty if it presents none. The manager checks
  /// when the certificate ends (`certificateEnds`).
  [[nodiscard]] virtual std::filesystem::path certificateFile() const { return {}; }

  /// A run of the manager begins. The I/O of the requests that follow belongs on `executor`, which runs one handler at
  /// a time and may be destroyed some time after `stop`.
  virtual void start(const boost::asio::any_io_executor& executor) { (void)executor; }

  /// Frames that one request may carry before the peer has said how many it takes (`SendReport::creditFrames`).
  [[nodiscard]] virtual std::uint32_t initialCredit() const { return 256; }

  /// Carries `request` and calls `handler` once with the result. Must not block and must not throw; several requests
  /// may be under way, never two with frames of the same ordered session.
  virtual void asyncSend(SendRequest request, SendHandler handler) = 0;

  /// The run ends: abandon requests under way; each pending handler is called with `RequestOutcome::cancelled`.
  virtual void stop() {}
};

/// The result of a `SendFunction`.
struct SendFunctionResult {
  bool success = false;
  std::string error = {};
  /// On failure: whether trying again can help. If not, the message becomes a dead letter.
  bool isRetryable = true;
  /// On failure: what to do with the message instead, see `FailureDecision`. Default: not set.
  std::optional<FailureDecision> decision = {};
};

/// Sends one frame and blocks until it is done; called on a dedicated thread, one frame at a time.
/// An exception counts as a retryable failure.
using SendFunction = std::function<SendFunctionResult(const std::string& session, const OutboundFrame& frame)>;

}  // namespace ackbox
