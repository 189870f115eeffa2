#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/events.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/health.hpp"
#include "ackbox/message.hpp"
#include "ackbox/options.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

namespace manager {
class Core;
}

// Defined in ackbox/dead_letters.hpp, ackbox/diagnosis.hpp, ackbox/message_page.hpp and ackbox/peer_status.hpp.
struct BlockedSession;
struct ChangeReceipt;
struct DeadLetterFilter;
struct DeadLetterPage;
struct Explanation;
struct MessageFilter;
struct MessagePage;
struct PeerStatus;
struct VerifyReport;
// Defined in ackbox/pull.hpp.
struct Claim;
struct ClaimResult;
struct ClaimToken;
struct RecoverReport;
enum class SettleStatus : std::uint8_t;

/// What `find` tells of one message.
struct MessageInfo {
  std::string messageId;
  std::string peer;
  std::string session;
  std::string type;
  std::uint64_t sequence = 0;
  MessageState state = MessageState::pending;
  std::uint32_t retryCount = 0;
  WallTime enqueuedAt;
  /// Pending: not before this instant. Sent: the ACK deadline. Failed: when it failed.
  WallTime dueAt;
  /// Failed: the stable reason. Otherwise empty.
  std::string reason;
  std::string lastError;
  /// Its row's id: the order of commits in the whole file. A redriven message gets a new one.
  std::int64_t row = 0;
};

/// Counts of one `drainOnce` or `processAll`.
struct DrainReport {
  std::uint64_t claimed = 0;
  std::uint64_t acked = 0;
  std::uint64_t deferred = 0;
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;
  /// Put back without a charge: the peer was away.
  std::uint64_t released = 0;
};

/// What `stop` did.
struct StopReport {
  /// Requests that were given up because they outlasted `stopTimeout`.
  std::uint64_t abandonedRequests = 0;
  /// Claimed messages put back to pending without a charge.
  std::uint64_t released = 0;
  /// Messages whose outcome came while it waited: acknowledged, deferred, given up, or to be retried.
  std::uint64_t settled = 0;
};

/// An agent's outbox: keeps frames durably in one SQLite file and delivers them in order until they are acknowledged.
///
/// Several managers, in one process or in many, may have the same file open; they share the work and never deliver a
/// message twice at the same time.
///
/// Thread-safety: all members may be called from any thread, also from event callbacks, except that `stop`, called
/// from a callback, does not wait.
/// Lifetime: destruction stops the manager as `stop` does. Closing loses nothing.
class OutboxManager {
public:
  /// Opens or creates the outbox in `file`.
  ///
  /// Rows that a dead process had in flight are back in play when it returns. No sending happens before `start`,
  /// `asyncRun` or `drainOnce`.
  ///
  /// Throws `Error`: `invalidOption`, `cannotOpen`, `databaseBusy`, `databaseReadOnly`, `schemaTooNew`,
  /// `schemaMissing`, `notADatabase`, `databaseCorrupt`, `diskFull`, `ioError`. A failing open never moves, truncates
  /// or renames the file.
  [[nodiscard]] static OutboxManager open(const std::filesystem::path& file, OutboxOptions options = {});

  OutboxManager(OutboxManager&&) noexcept;
  OutboxManager& operator=(OutboxManager&&) noexcept;
  OutboxManager(const OutboxManager&) = delete;
  OutboxManager& operator=(const OutboxManager&) = delete;
  ~OutboxManager();

  /// Stores `frame` and returns once it is durable (see `Durability`). Order: by commit; two calls of one thread to
  /// one session are delivered in the order of the calls. Callers on several threads share one fsync.
  ///
  /// Returns the receipt; refusals are values, see `EnqueueStatus`.
  /// Throws `Error`: `databaseBusy`, `diskFull`, `ioError`, `outOfMemory`, `databaseCorrupt`, `databaseError`,
  /// `stopped` (the manager is being destroyed), `wouldDeadlock`. After a throw nothing was stored.
  EnqueueReceipt enqueue(Frame frame);

  /// The seed's form: JSON `data` of `type` for `session` of the only, or `default`, peer.
  EnqueueReceipt enqueue(std::string session, std::string type, std::string data);

  /// Stores all acceptable frames in one commit. One receipt per frame, in order; a refused frame does not hinder the
  /// others. Throws as `enqueue`; then none was stored.
  std::vector<EnqueueReceipt> enqueueBatch(std::span<const Frame> frames);

  /// As `enqueue`, without waiting: `handler` is called once, on the store's thread, after the commit; it must not
  /// block. Token-taking forms, which complete on the caller's executor, are in `ackbox/async.hpp`.
  void enqueueThen(Frame frame, std::function<void(std::error_code, EnqueueReceipt)> handler);

  /// As `enqueueThen`, and with `WhenFull::wait` a full queue does not refuse the frame: it waits for room, behind
  /// those that wait already, and `handler` is called when it is stored. Room comes by settled messages, those of other
  /// processes noticed within `pollInterval`; an enqueue that does not wait may take it first. `queueFull` is then
  /// answered only when `maxWaiting` enqueues wait, or the frame alone is larger than `maxPendingBytes`.
  /// `stop` and destruction end those that wait with `Errc::stopped`: nothing of them was stored.
  void enqueueThen(Frame frame, WhenFull whenFull, std::function<void(std::error_code, EnqueueReceipt)> handler);

  /// `asyncEnqueue(frame, token)`: completes with `(boost::system::error_code, EnqueueReceipt)` once the frame is
  /// durable. Include `ackbox/async.hpp` to use it.
  template <typename CompletionToken>
  auto asyncEnqueue(Frame frame, CompletionToken&& token);
  /// The same with the choice to wait for room.
  template <typename CompletionToken>
  auto asyncEnqueue(Frame frame, WhenFull whenFull, CompletionToken&& token);

  /// Retires a live message whose ACK came by another way (a deferred ACK event). An ACK that comes before the
  /// request's own answer is kept.
  ///
  /// Returns true when this call retired it; false when the id is unknown or the message is settled already, both
  /// benign. Throws as `enqueue`.
  bool ack(std::string_view messageId);

  /// The message as it stands, or nothing when it was never here, or is acknowledged and not retained.
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;

  /// What was enqueued under this id, with the id, its session's priority as it is now, and without its idempotency
  /// key; nothing when `find` finds nothing. Throws `Error` as reads fail.
  [[nodiscard]] std::optional<Frame> frame(std::string_view messageId) const;

  /// Up to `limit` (1 to 10,000) messages that `filter` chooses, from where the page before ended (its `next`, or the
  /// `row` of its last message); 0: from the start. Dead letters and messages in flight are found without a look at the
  /// rest; otherwise it costs by the rows that it passes, a bounded number per page. Include ackbox/message_page.hpp to
  /// use it. Throws `Error`: `invalidOption`, and as reads fail.
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit = 100,
                                     std::int64_t after = 0) const;

  // --- For the operator. Include ackbox/dead_letters.hpp to use these; all are durable when they return.

  /// Redrives a dead letter: puts it back as pending at its session's tail, with a new sequence, the same message id,
  /// its expiry, no charged attempts, and the horizon counted anew. The old number stays a gap that the receiver sees.
  /// `maxPending` does not refuse it.
  ///
  /// Mind the effect: the receiver takes the new number as a new frame. One that was given up without an answer
  /// (`horizon`, `peer-killer`) may have taken effect already; only a handler that looks at the id can tell.
  ///
  /// Returns the receipt; refusals are values, as delivery may have moved the message since the operator looked.
  /// Throws as `enqueue`; then nothing was changed.
  ChangeReceipt retry(std::string_view messageId);

  /// Redrives all that `filter` chooses, in their order, in slices so that enqueues pass in between; those that fail
  /// again meanwhile are not taken twice. Returns how many. Throws as `enqueue`; slices before the throw are done.
  std::uint64_t retryFailed(const DeadLetterFilter& filter);

  /// `retryFailed` for the dead letters with fewer than `maxRetries` charged attempts; the seed's form.
  std::uint64_t reconcileFailed(std::uint32_t maxRetries);

  /// Throws a dead letter away for good; its id is free again. Returns and throws as `retry`.
  ChangeReceipt discard(std::string_view messageId);

  /// Discards all that `filter` chooses; slices, returns and throws as `retryFailed`.
  std::uint64_t discardFailed(const DeadLetterFilter& filter);

  /// Makes a pending or sent message a dead letter, by hand. One in flight is refused: its outcome is on the way.
  /// `reason` is cut at 1,000 bytes. Subscribers of `onFailed` are told. Returns and throws as `retry`.
  ChangeReceipt markFailed(std::string_view messageId, std::string_view reason = "marked-failed");

  /// Up to `limit` (1 to 10,000) dead letters that `filter` chooses, from where the page before ended; 0: from the
  /// start. Costs by what it looks at, not by the backlog. Throws `Error`: `invalidOption`, and as reads fail.
  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit = 100,
                                           std::int64_t after = 0) const;

  /// Stops the peer's messages from being claimed; requests under way finish, enqueues go on. Kept in the file, so that
  /// a restart keeps it and every process obeys it within its poll interval.
  ///
  /// Returns false when it was paused already. Throws `Error` with `unknownPeer`, and as `enqueue`.
  bool pause(std::string_view peer);

  /// The same for one session; one that has no messages yet is paused in advance. `invalidOption` for an empty name:
  /// unordered messages are paused with their peer.
  bool pause(std::string_view peer, std::string_view session);

  /// Ends the pause; and lets a peer that is down, held or disabled be probed at once, by every process within its poll
  /// interval. Returns false when it was not paused (the probe is made all the same). Throws as `pause`.
  bool resume(std::string_view peer);

  /// Ends the session's pause. A session that a dead letter blocks stays blocked. Returns and throws as `pause`.
  bool resume(std::string_view peer, std::string_view session);

  /// Lets a session that a dead letter stopped (`GapPolicy::block`) go on past it; the dead letter stays one. To
  /// redrive or to discard it unblocks the session, too. (A redriven message goes to the tail, behind what waited.)
  ///
  /// Returns false when the session is not blocked or was never used. Throws as `pause`.
  bool unblock(std::string_view peer, std::string_view session);

  /// Up to `limit` (1 to 10,000) blocked sessions, in the order of their dead letters, with the number of messages that
  /// wait; O(limit). Include ackbox/peer_status.hpp to use it. Throws `Error`: `invalidOption`, and as reads fail.
  [[nodiscard]] std::vector<BlockedSession> blockedSessions(std::size_t limit = 100) const;

  /// Every peer in the file, by name, and where its circuit stands. Include ackbox/peer_status.hpp to use it. Throws
  /// `Error` as reads fail.
  [[nodiscard]] std::vector<PeerStatus> peers() const;

  /// Writes the dead letters that `filter` chooses, oldest enqueue first: calls `sink` with a line of JSON for each,
  /// its line break included, in the form of proto/export.md. No snapshot is held meanwhile: what is redriven or
  /// discarded before its turn is left out. Returns how many were written. Throws as reads fail, and what `sink`
  /// throws.
  std::uint64_t exportDeadLetters(const DeadLetterFilter& filter,
                                  const std::function<void(std::string_view line)>& sink) const;

  /// The same for messages in any state. Include ackbox/message_page.hpp to use it. Costs by the size of the backlog.
  std::uint64_t exportMessages(const MessageFilter& filter,
                               const std::function<void(std::string_view line)>& sink) const;

  /// Deletes retained acknowledged rows (`OutboxOptions::ackedRetention`) that were acknowledged at least `age` ago, in
  /// slices. Returns how many. Throws as `enqueue`.
  std::uint64_t cleanupDone(std::chrono::milliseconds age);

  /// Mends what foreign statements on the file's tables leave behind: counts every gauge anew from the rows, of the
  /// store, of each peer, session and sender; makes a message a dead letter again that was made pending by an UPDATE
  /// under a number that its session has passed, as its peer would take it for a repetition (`retry` gives it a new
  /// one); unblocks a session whose dead letter is none any more. Other processes may have the file open. In one
  /// transaction, which takes about a second for a million messages; enqueues wait meanwhile.
  ///
  /// A negative gauge, and that of a queue that is said to be full with nothing in it, is counted anew without being
  /// asked. Returns what was mended. Throws as `enqueue`; then nothing was changed.
  RepairReport repair();

  /// Takes away what this file keeps of a sender of inbound frames (`InboundLimits`), or of one of its stores
  /// (`sessionorigin`): its sessions, closed stores and single frames, in slices. Sessions with frames in the inbox
  /// stay.
  ///
  /// Mind the effect: what that sender sends again, because it missed the ACK, takes effect again. Forget a sender that
  /// is gone, a store that is gone, or one of the many that somebody made up with its key; or a closed store whose
  /// sender came back.
  ///
  /// Returns what was taken away. Throws as `enqueue`; slices before the throw are done.
  ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin = {});

  /// Says why a message is not moving, in data and in a sentence; nothing when the id is unknown. Include
  /// ackbox/diagnosis.hpp to use it. Costs a bounded look at the rows ahead of it. Throws `Error` as reads fail.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const;

  /// Checks the file's every invariant on a connection of its own, at one committed instant. Takes time by the size of
  /// the file and keeps nobody waiting, but the log cannot be folded into the file meanwhile. Include
  /// ackbox/diagnosis.hpp to use it. Throws `Error` as reads fail.
  [[nodiscard]] VerifyReport verify() const;

  /// Gives free pages of the file back to the file system, in slices of about a millisecond so that enqueues pass in
  /// between; at most `pagesMax`, 0 (default): all. A run does the same by itself while more than a quarter of the file
  /// is free. Returns how many pages were given back: none in a file that the application made without incremental
  /// vacuum, which is never converted. The file is shorter once its log is folded in, which follows unless a reader is
  /// in the way. Throws as `enqueue`; slices before the throw are done.
  std::uint64_t vacuum(std::uint64_t pagesMax = 0);

  /// Counters and gauges, in O(1). Throws `Error` as reads fail.
  [[nodiscard]] Stats getStats() const;

  /// The same for each peer that the file knows, also those of earlier configurations, in O(peers). Throws as
  /// `getStats`.
  [[nodiscard]] std::vector<PeerStats> peerStats() const;

  /// One session's gauges, in O(1); nothing when no message was ever enqueued to it. Throws as `getStats`.
  [[nodiscard]] std::optional<SessionStats> sessionStats(std::string_view peer, std::string_view session) const;

  /// Up to `limit` (1 to 10,000) sessions that `filter` chooses, from where the page before ended; 0: from the start.
  /// Throws `Error`: `invalidOption`, and as reads fail.
  [[nodiscard]] SessionPage sessions(const SessionFilter& filter = {}, std::size_t limit = 100,
                                     std::int64_t after = 0) const;

  /// Sets what carries frames. Replaces the former sender at the next run; takes effect at once when none is running.
  void setSender(std::shared_ptr<Sender> sender);

  /// The seed's form of a sender: a blocking function, called on a thread of its own.
  void setSendFunction(SendFunction function);

  /// Begins delivery on a thread of the manager's own, or on `OutboxOptions::storeExecutor` if there is one, where
  /// `stop` returns at once and the delivery ends behind it. Idempotent. Throws `Error` with `noSender`.
  void start();

  /// Ends delivery: claims no more, waits up to `stopTimeout` for requests under way, puts unsent claims, and those of
  /// `claim` that are not settled, back without a charge. Idempotent: a second call returns an empty report at once.
  /// From a callback, a frame handler or a send function it returns at once, with an empty report, and the stop
  /// completes behind it.
  StopReport stop();

  /// `asyncRun(executor, token)`: delivers on the caller's executor until `stop`; completes with
  /// `(boost::system::error_code)`, `Errc::noSender` or `Errc::alreadyRunning` when it could not begin. Include
  /// `ackbox/async.hpp` to use it. Lifetime: the executor's context must exist, and be run, until the completion: call
  /// `stop` first.
  template <typename CompletionToken>
  auto asyncRun(const boost::asio::any_io_executor& executor, CompletionToken&& token);

  /// As `asyncRun`, without a token: `handler` is called once, on `executor`, when the run has ended.
  void runThen(const boost::asio::any_io_executor& executor, std::function<void(std::error_code)> handler);

  /// One pass in the calling thread: claims what is due, sends it, settles what comes back. For tests and own
  /// schedulers. Throws `Error`: `alreadyRunning`, `noSender`, and as `enqueue`; then what was settled stays settled,
  /// and what was on its way is sent again by the next pass.
  DrainReport drainOnce();

  /// As `drainOnce`, on and on until nothing is due: what waits for its next attempt, for a peer that is away or for an
  /// ACK event is left, and so is what another process has in flight. Throws as `drainOnce`.
  DrainReport processAll();

  // --- For own schedulers, and for sinks that take their messages. Include ackbox/pull.hpp to use these. They need no
  // sender. Either a run delivers or claims do: see `claim`.

  /// Takes up to `limit` (at most 10,000) messages that are due now, for the caller to deliver by itself. Order: the
  /// oldest of a session first, and no second one of a session before the first is settled, so that no caller can break
  /// the order; sessions and peers take turns. What `start` would not send now is not claimed either. Other processes
  /// and other threads never get the same message meanwhile.
  ///
  /// Costs one transaction without an fsync; the first call reads as much of the backlog as it takes to find `limit`.
  /// Returns what was claimed; nothing when nothing is due. Never waits for messages.
  /// Throws `Error`: `alreadyRunning` (a run is under way: claims and runs exclude each other, and `start`,
  /// `asyncRun`, `drainOnce` and `processAll` throw it while claims are not settled), and as `enqueue`; then nothing
  /// was claimed.
  /// Lifetime: a claim lasts as long as the manager. `stop` and destruction put back what is not settled.
  std::vector<Claim> claim(std::size_t limit);

  /// Says what became of a claimed message. `ack` retires it; `defer` waits for `ack(messageId)`; `nack` is charged and
  /// tried again, not before `FrameResult::retryAfter`, or given up by the `RetryPolicy`; `term` gives it up.
  /// Subscribers are told in the calling thread, or in that of another such call that is telling them already.
  ///
  /// Not fsynced: a power cut that takes it back makes the message due again.
  /// Returns `settled`, or `late`, which is benign.
  /// Throws `Error`: `invalidTransition` for a claim that was settled or released before, or never given out, and as
  /// `enqueue`; then the outcome is not in the file yet: the same call may be repeated, and the next call of any of
  /// these members commits it, too.
  SettleStatus settle(const Claim& claim, const FrameResult& result);
  SettleStatus settle(const Claim& claim, Outcome outcome);

  /// Settles several claims in one transaction. Returns one status for each, in order. Throws as `settle`; when one of
  /// them is an `invalidTransition`, nothing was changed.
  std::vector<SettleStatus> settleAll(std::span<const ClaimResult> results);

  /// Puts a claimed message back without a charge. With a `peerError` its peer counts as away: nothing of that peer is
  /// claimed before its next probe, see `PeerHealthPolicy`. Returns and throws as `settle`.
  SettleStatus release(const Claim& claim, std::string_view peerError = {});

  /// Takes back what was claimed through `claim` at least `threshold` ago and is not settled, charged as a failed
  /// attempt, so that a message that hangs whoever takes it ends as a dead letter; a settle that still comes is `late`.
  /// What died with its process is put back without a charge and without waiting. Nothing calls it by itself: only the
  /// caller knows how long its work may take. Allowed while a run is under way. Throws as `enqueue`.
  RecoverReport recoverStuck(std::chrono::milliseconds threshold);

  /// Makes the manager look for rows committed through other connections now instead of at the next poll.
  void notify();

  /// Callbacks run on the delivery executor, after the commit that they tell of, in the order of those commits within
  /// a session. One that throws is cut off from nothing and harms nobody: the exception is dropped.
  [[nodiscard]] Subscription onSent(std::function<void(const SentEvent&)> callback);
  [[nodiscard]] Subscription onAcked(std::function<void(const AckedEvent&)> callback);
  [[nodiscard]] Subscription onFailed(std::function<void(const FailedEvent&)> callback);
  [[nodiscard]] Subscription onRetry(std::function<void(const RetryEvent&)> callback);
  /// Told of what this manager's own enqueues take away; what an `OutboxWriter` or another process takes away is
  /// counted (`Stats::superseded`) and named by the receipt there.
  [[nodiscard]] Subscription onSuperseded(std::function<void(const SupersededEvent&)> callback);

  /// Tells when a threshold of `OutboxOptions::health` is crossed, when it is so already at the beginning of a run, and
  /// when all is well again. Runs as the callbacks above.
  [[nodiscard]] Subscription onHealth(std::function<void(const HealthEvent&)> callback);

  /// Tells when a peer, or this file, turns out to have lost its memory: to have been lost, or restored from a backup.
  /// What is done about it is `PeerResetPolicy`. Runs as the callbacks above; by the process that noticed it, once.
  [[nodiscard]] Subscription onPeerReset(std::function<void(const PeerResetEvent&)> callback);

  /// This store's identity: random, made with the file; `sessionorigin` on the wire.
  [[nodiscard]] std::string origin() const;

private:
  friend class InboundHandler;
  friend class OutboxWriter;
  explicit OutboxManager(std::shared_ptr<manager::Core> core);

  std::shared_ptr<manager::Core> core_;
};

}  // namespace ackbox
