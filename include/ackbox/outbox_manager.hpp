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
#include "ackbox/publication.hpp"
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
// Defined in ackbox/postgres.hpp.
struct PostgresLocation;

/// An agent's outbox: keeps frames durably in one SQLite file and delivers them in order until they are acknowledged.
///
/// This class is for the agent itself. `OutboxOperator` changes an outbox by hand, `OutboxReader` reads it,
/// `PullConsumer` claims its messages without a run, `OutboxWriter` enqueues in the application's own transactions, and
/// `InboundHandler` receives.
///
/// Several managers, in one process or in many, may have the same file open; they share the work and never deliver a
/// message twice at the same time.
///
/// Thread-safety: all members may be called from any thread, also from event callbacks, except that `stop`, called from
/// a callback, does not wait.
/// Lifetime: destruction stops the manager as `stop` does. Closing loses nothing. A forked child of the process has
/// neither the manager's threads nor its locks: there each member, also of the objects made from the manager, throws
/// `Error` with `otherProcess`, destruction does nothing, and `open` refuses the file. Fork before `open`, or let the
/// child execute a program.
class OutboxManager {
public:
  /// Opens or creates the outbox in `file`.
  ///
  /// When it returns, rows that a dead process had in flight can be delivered again. Nothing is sent before `start`,
  /// `asyncRun` or `drainOnce`.
  ///
  /// Throws `Error`: `invalidOption`, `cannotOpen`, `databaseBusy`, `databaseReadOnly`, `schemaTooNew`,
  /// `schemaTooOld`, `schemaOutdated`, `schemaMissing`, `notADatabase`, `databaseCorrupt`, `databaseReplaced`,
  /// `diskFull`, `ioError`, `outOfMemory`, `otherProcess`, `databaseError`; and what `Sender::usePeers` of a peer's own
  /// sender throws. A failing open never moves, truncates or renames the file.
  [[nodiscard]] static OutboxManager open(const std::filesystem::path& file, OutboxOptions options = {});

  /// The same in a PostgreSQL database. Needs the component `ackbox::postgres`; see ackbox/postgres.hpp.
  [[nodiscard]] static OutboxManager open(const PostgresLocation& location, OutboxOptions options = {});

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
  /// `wouldDeadlock`; of a database also `schemaMissing` and `outcomeUnknown`. After a throw nothing was stored; after
  /// `outcomeUnknown` it may be.
  EnqueueReceipt enqueue(Frame frame);

  /// The same for a frame of JSON `data` of `type` in `session`. It goes to the only peer or, if there are several, to
  /// the peer named `default`.
  EnqueueReceipt enqueue(std::string session, std::string type, std::string data);

  /// Stores all acceptable frames in one commit. Returns one receipt per frame, in order; a refused frame does not
  /// affect the others. Throws as `enqueue`; then none was stored, or with `outcomeUnknown` all or none.
  std::vector<EnqueueReceipt> enqueueBatch(std::span<const Frame> frames);

  /// As `enqueue`, without waiting: `handler` is called once, on the store's thread, after the commit; it must not
  /// block. Token-taking forms, which complete on the caller's executor, are in `ackbox/async.hpp`.
  void enqueueThen(Frame frame, std::function<void(std::error_code, EnqueueReceipt)> handler);

  /// As `enqueueThen`, but with `WhenFull::wait` a full queue does not refuse the frame: it waits for room, behind the
  /// enqueues that already wait, and `handler` is called when it is stored. Settled messages make room, those of other
  /// processes noticed within `pollInterval`; an enqueue that does not wait may take the room first. The answer is then
  /// `queueFull` only if `maxWaiting` enqueues wait, or the frame alone is larger than `maxPendingBytes`. `stop` and
  /// destruction end waiting enqueues with `Errc::stopped`: their frames were not stored. Enqueues with
  /// `WhenFull::wait` are stored in the order of their calls, but in no order with the other enqueues. In PostgreSQL,
  /// if an open transaction has locked the session of a waiting enqueue, the enqueues behind it are delayed for
  /// `busyTimeout` at most, and then it fails alone (`databaseBusy`).
  void enqueueThen(Frame frame, WhenFull whenFull, std::function<void(std::error_code, EnqueueReceipt)> handler);

  /// Stores `frame` once for each peer with a subscription that fits it (`OutboxOperator::subscribe`), all in one
  /// commit, and returns once they are durable. `frame.peer` is ignored, and `frame.id` must be empty. Each message is
  /// a message as any other, with its subscriber's order, state and dead letter. The subscriptions count as they are at
  /// the commit, whichever process has made them: a peer that subscribes later starts with the next frame. A subscriber
  /// that is no peer of this process gets its message from a process that has it.
  ///
  /// `frame.idempotencyKey` makes the whole publish happen once: a second one names the same messages again, also if
  /// subscriptions have changed since. A key that was used for nobody stays used.
  /// Returns the receipt, which has no message if no subscription fits; refusals are values, see `PublishStatus`.
  /// Throws as `enqueue`; then no message was stored.
  PublishReceipt publish(const Frame& frame);

  /// As `publish`, without waiting: see `enqueueThen`.
  void publishThen(Frame frame, std::function<void(std::error_code, PublishReceipt)> handler);

  /// `asyncEnqueue(frame, token)`: completes with `(boost::system::error_code, EnqueueReceipt)` once the frame is
  /// durable. Include `ackbox/async.hpp` to use it. It cannot be cancelled: a cancellation slot is ignored, and the
  /// frame is stored all the same; `stop` ends an enqueue that waits for room.
  template <typename CompletionToken>
  auto asyncEnqueue(Frame frame, CompletionToken&& token);
  /// The same with the choice to wait for room.
  template <typename CompletionToken>
  auto asyncEnqueue(Frame frame, WhenFull whenFull, CompletionToken&& token);

  /// Retires a live message that was acknowledged in another way (by a deferred ACK event). An ACK that comes before
  /// the request's own answer is kept.
  ///
  /// Returns true if this call retired it; false if the id is unknown or the message is settled already, both benign.
  /// Throws as `enqueue`.
  bool ack(std::string_view messageId);

  /// The message's current state; empty if it was never here, or is acknowledged and not retained. Throws `Error` as
  /// reads fail, see `OutboxReader`.
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId) const;

  /// Counters and gauges, in O(1). Throws `Error` as reads fail, and with `databaseReplaced` if the file's name now
  /// leads to another file, or a run, an inbound request or an enqueue has found that the file went back to an earlier
  /// state.
  [[nodiscard]] Stats getStats() const;

  /// Explains why a message is not moving, in data and in a sentence; empty if the id is unknown. Reads a bounded
  /// number of the rows ahead of it. Include ackbox/diagnosis.hpp to use it. Throws `Error` as reads fail.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId) const;

  /// Sets the sender that carries frames. Replaces the former sender at the next run, or at once if no run is under
  /// way. Throws what `Sender::usePeers` throws; then the former sender stays.
  void setSender(std::shared_ptr<Sender> sender);

  /// The same with a blocking function, which a dedicated thread calls for one frame at a time.
  void setSendFunction(SendFunction function);

  /// Begins delivery on a thread of the manager's own, or on `OutboxOptions::storeExecutor` if it is set; with the
  /// latter, `stop` returns at once and the delivery ends afterwards. Idempotent. Throws `Error`: `noSender`,
  /// `alreadyRunning` (claims of `PullConsumer` are not settled), `outOfDescriptors`, and as `enqueue`, if settles by
  /// hand are yet to be committed; then nothing runs.
  void start();

  /// Ends delivery: claims no more messages, waits up to `stopTimeout` for requests under way, and puts unsent claims,
  /// and unsettled claims of `PullConsumer::claim`, back without a charge. Idempotent: a second call returns an empty
  /// report at once. From a callback, a frame handler or a send function it returns at once, with an empty report, and
  /// the stop completes afterwards.
  StopReport stop();

  /// Whether a delivery that `start` or `asyncRun` began is under way. A delivery in which something threw, such as for
  /// lack of memory, ends by itself, and `onHealth` reports it; `start` begins the next one, which goes on with
  /// everything in the file.
  [[nodiscard]] bool isDelivering() const;

  /// Why the delivery under way cannot read or change its file or database, with the remedy; empty if it can, as far as
  /// it has tried, or if no delivery is under way. A cause counts for ten seconds after its end; another connection's
  /// lock counts once it has lasted so long. `onHealth` reports the same once.
  [[nodiscard]] std::string fileTrouble() const;

  /// `asyncRun(executor, token)`: delivers on the caller's executor until `stop`. Completes with
  /// `(boost::system::error_code)`: the error that `start` throws, if the run could not begin; `alreadyRunning` also if
  /// a run is under way. Include `ackbox/async.hpp` to use it. Lifetime: the executor's context must exist, and be run,
  /// until the completion: call `stop` first.
  template <typename CompletionToken>
  auto asyncRun(const boost::asio::any_io_executor& executor, CompletionToken&& token);

  /// As `asyncRun`, without a token: `handler` is called once, on `executor`, when the run has ended.
  void runThen(const boost::asio::any_io_executor& executor, std::function<void(std::error_code)> handler);

  /// Makes one pass in the calling thread: claims the messages that are due, sends them and settles the answers. For
  /// tests and schedulers of the program's own. Throws `Error`: `alreadyRunning`, `noSender`, `outOfDescriptors`, and
  /// as `enqueue`; also the first exception of a sender's work on the pass's executor. Then the pass has ended, settled
  /// messages stay settled, and the next pass sends again what was in flight.
  DrainReport drainOnce();

  /// Repeats `drainOnce` until nothing is due. Messages that wait for their next attempt, for an unreachable peer or
  /// for an ACK event are left, and so are messages that another process has in flight. Throws as `drainOnce`.
  DrainReport processAll();

  /// Makes the manager look for rows committed through other connections now instead of at the next poll.
  void notify();

  /// Callbacks run on the delivery executor, after the commit that they report, in the order of those commits within a
  /// session. An event without a run is reported on the thread that commits it, which may be the store's: there a
  /// blocking call throws `wouldDeadlock`. Calls of one callback by several threads do not overlap: an event that comes
  /// while the callback runs on another thread is left to that thread, which calls it again at once. An exception of a
  /// callback is only logged (`callback-threw`); the callback stays subscribed.
  [[nodiscard]] Subscription onSent(std::function<void(const SentEvent&)> callback);
  /// Called at most once for each message, over all processes and restarts: if a process is killed between the commit
  /// and the call, the event is never reported. `find` and `Stats` show the outcome.
  [[nodiscard]] Subscription onAcked(std::function<void(const AckedEvent&)> callback);
  [[nodiscard]] Subscription onFailed(std::function<void(const FailedEvent&)> callback);
  [[nodiscard]] Subscription onRetry(std::function<void(const RetryEvent&)> callback);
  /// Called for messages that this manager's own enqueues replace; messages that an `OutboxWriter` or another process
  /// replaces are counted (`Stats::superseded`) and named by the receipt there.
  [[nodiscard]] Subscription onSuperseded(std::function<void(const SupersededEvent&)> callback);

  /// Called when a threshold of `OutboxOptions::health` is crossed, when it is already crossed at the beginning of a
  /// run, and when the value is well again. Runs as the callbacks above.
  [[nodiscard]] Subscription onHealth(std::function<void(const HealthEvent&)> callback);

  /// Called when a peer's database, or this file, turns out to have been lost or restored from a backup.
  /// `PeerResetPolicy` decides what follows. Runs as the callbacks above, once, in the process that noticed it.
  [[nodiscard]] Subscription onPeerReset(std::function<void(const PeerResetEvent&)> callback);

  /// Called when a peer's state, or its cause, changes: its messages wait, or are sent again. Runs as the callbacks
  /// above, in each process that delivers to the peer, when that process finds out.
  [[nodiscard]] Subscription onPeer(std::function<void(const PeerEvent&)> callback);

  /// This store's identity: random, made with the file; `sessionorigin` on the wire.
  [[nodiscard]] std::string origin() const;

private:
  friend struct manager::CoreOf;
  explicit OutboxManager(std::shared_ptr<manager::Core> core);

  std::shared_ptr<manager::Core> core_;
};

}  // namespace ackbox
