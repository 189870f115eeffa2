#pragma once

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
#include "ackbox/run_report.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

namespace manager {
class Core;
struct CoreOf;
}  // namespace manager

// Defined in ackbox/diagnosis.hpp.
struct Explanation;

/// An agent's outbox: keeps frames durably in one SQLite file and delivers them in order until they are acknowledged.
///
/// What is here is for the agent itself. `OutboxOperator` changes an outbox by hand, `OutboxReader` reads it,
/// `PullConsumer` claims its messages without a run, `OutboxWriter` enqueues in the application's own transactions, and
/// `InboundHandler` receives.
///
/// Several managers, in one process or in many, may have the same file open; they share the work and never deliver a
/// message twice at the same time.
///
/// Thread-safety: all members may be called from any thread, also from event callbacks, except that `stop`, called
/// from a callback, does not wait.
/// Lifetime: destruction stops the manager as `stop` does. Closing loses nothing. A child of its process (`fork`) has
/// neither its threads nor its locks: there each member, of the facades made from it too, throws `Error` with
/// `otherProcess`, destruction does nothing, and `open` refuses the file. Fork before `open`, or let the child execute
/// a program.
class OutboxManager {
public:
  /// Opens or creates the outbox in `file`.
  ///
  /// Rows that a dead process had in flight are back in play when it returns. No sending happens before `start`,
  /// `asyncRun` or `drainOnce`.
  ///
  /// Throws `Error`: `invalidOption`, `cannotOpen`, `databaseBusy`, `databaseReadOnly`, `schemaTooNew`,
  /// `schemaMissing`, `notADatabase`, `databaseCorrupt`, `databaseReplaced`, `diskFull`, `ioError`, `outOfMemory`,
  /// `otherProcess`, `databaseError`; and what `Sender::usePeers` of a peer's own sender throws. A failing open never
  /// moves, truncates or renames the file.
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
  /// Throws `Error`: `databaseBusy`, `databaseReadOnly`, `diskFull`, `ioError`, `outOfMemory`, `databaseCorrupt`,
  /// `notADatabase`, `cannotOpen`, `databaseReplaced`, `databaseError`, `stopped` (the manager is being destroyed),
  /// `wouldDeadlock`. After a throw nothing was stored.
  EnqueueReceipt enqueue(Frame frame);

  /// The same for a frame of JSON `data` of `type` in `session`. It goes to the only peer, or of several to the one
  /// that is named `default`.
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
  /// durable. Include `ackbox/async.hpp` to use it. It cannot be cancelled: a cancellation slot is ignored, and the
  /// frame is stored all the same; `stop` ends what waits for room.
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

  /// The message as it stands, or nothing when it was never here, or is acknowledged and not retained. Throws `Error`
  /// as reads fail, see `OutboxReader`.
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;

  /// Counters and gauges, in O(1). Throws `Error` as reads fail, and with `databaseReplaced` where the file's name
  /// leads to another one, or a run, an inbound request or an enqueue has found that the file went back to an earlier
  /// state.
  [[nodiscard]] Stats getStats() const;

  /// Says why a message is not moving, in data and in a sentence; nothing when the id is unknown. Costs
  /// a bounded look at the rows ahead of it. Include ackbox/diagnosis.hpp to use it. Throws `Error` as reads fail.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const;

  /// Sets what carries frames. Replaces the former sender at the next run; takes effect at once when none is running.
  /// Throws what `Sender::usePeers` throws; then the former sender stays.
  void setSender(std::shared_ptr<Sender> sender);

  /// The same with a blocking function, which a thread of its own calls for one frame after the other.
  void setSendFunction(SendFunction function);

  /// Begins delivery on a thread of the manager's own, or on `OutboxOptions::storeExecutor` if there is one, where
  /// `stop` returns at once and the delivery ends behind it. Idempotent. Throws `Error`: `noSender`, `alreadyRunning`
  /// (claims of `PullConsumer` are not settled), `outOfDescriptors`, and as `enqueue`, if what was settled by hand is
  /// yet to be committed; then nothing runs.
  void start();

  /// Ends delivery: claims no more, waits up to `stopTimeout` for requests under way, puts unsent claims, and those of
  /// `PullConsumer::claim` that are not settled, back without a charge. Idempotent: a second call returns an empty
  /// report at once. From a callback, a frame handler or a send function it returns at once, with an empty report, and
  /// the stop completes behind it.
  StopReport stop();

  /// Whether a delivery is under way that `start` or `asyncRun` began. One that something threw in, such as for want of
  /// memory, ends by itself, and `onHealth` reports it; `start` begins the next, which goes on with all that is in the
  /// file.
  [[nodiscard]] bool isDelivering() const;

  /// Why the delivery under way cannot read or change its file, where the file is damaged or the disk fails, with what
  /// to do; empty: it can, as far as it has tried, or there is no delivery. `onHealth` reports the same once.
  [[nodiscard]] std::string fileTrouble() const;

  /// `asyncRun(executor, token)`: delivers on the caller's executor until `stop`; completes with
  /// `(boost::system::error_code)`, with what `start` throws when it could not begin; `alreadyRunning` then is also
  /// that a run is under way. Include `ackbox/async.hpp` to use it. Lifetime: the executor's context must exist, and be
  /// run, until the completion: call `stop` first.
  template <typename CompletionToken>
  auto asyncRun(const boost::asio::any_io_executor& executor, CompletionToken&& token);

  /// As `asyncRun`, without a token: `handler` is called once, on `executor`, when the run has ended.
  void runThen(const boost::asio::any_io_executor& executor, std::function<void(std::error_code)> handler);

  /// One pass in the calling thread: claims what is due, sends it, settles what comes back. For tests and own
  /// schedulers. Throws `Error`: `alreadyRunning`, `noSender`, `outOfDescriptors`, and as `enqueue`; and the first that
  /// a sender throws in what it runs on the pass's executor. Then the pass has ended, what was settled stays settled,
  /// and what was on its way is sent again by the next pass.
  DrainReport drainOnce();

  /// As `drainOnce`, on and on until nothing is due: what waits for its next attempt, for a peer that is away or for an
  /// ACK event is left, and so is what another process has in flight. Throws as `drainOnce`.
  DrainReport processAll();

  /// Makes the manager look for rows committed through other connections now instead of at the next poll.
  void notify();

  /// Callbacks run on the delivery executor, after the commit that they report, in the order of those commits within a
  /// session. What happens without a run is reported in the thread that commits it, which may be the store's: there a
  /// blocking call throws `wouldDeadlock`. Calls of one callback by several threads do not overlap: what is reported
  /// while it runs in another thread is left to that thread, which calls it again at once. An exception that a callback
  /// throws goes to the log (`callback-threw`) and no further; it stays subscribed.
  [[nodiscard]] Subscription onSent(std::function<void(const SentEvent&)> callback);
  /// At most once for each message, over all processes and their ends: a process that is killed between the commit and
  /// the call has not reported it, and nobody reports it again. `find` and `Stats` say what has become of it.
  [[nodiscard]] Subscription onAcked(std::function<void(const AckedEvent&)> callback);
  [[nodiscard]] Subscription onFailed(std::function<void(const FailedEvent&)> callback);
  [[nodiscard]] Subscription onRetry(std::function<void(const RetryEvent&)> callback);
  /// Called for messages that this manager's own enqueues replace; what an `OutboxWriter` or another process replaces
  /// is counted (`Stats::superseded`) and named by the receipt there.
  [[nodiscard]] Subscription onSuperseded(std::function<void(const SupersededEvent&)> callback);

  /// Called when a threshold of `OutboxOptions::health` is crossed, when it is so already at the beginning of a run,
  /// and when all is well again. Runs as the callbacks above.
  [[nodiscard]] Subscription onHealth(std::function<void(const HealthEvent&)> callback);

  /// Called when a peer's database, or this file, turns out to have been lost or restored from a backup. What is done
  /// about it is `PeerResetPolicy`. Runs as the callbacks above; by the process that noticed it, once.
  [[nodiscard]] Subscription onPeerReset(std::function<void(const PeerResetEvent&)> callback);

  /// Called when a peer's state changes, or the cause of it: its messages wait, or go again. Runs as the callbacks
  /// above; by each process that delivers to the peer, as it finds out.
  [[nodiscard]] Subscription onPeer(std::function<void(const PeerEvent&)> callback);

  /// This store's identity: random, made with the file; `sessionorigin` on the wire.
  [[nodiscard]] std::string origin() const;

private:
  friend struct manager::CoreOf;
  explicit OutboxManager(std::shared_ptr<manager::Core> core);

  std::shared_ptr<manager::Core> core_;
};

}  // namespace ackbox
