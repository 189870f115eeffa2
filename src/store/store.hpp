#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/events.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/stats.hpp"
#include "delivery/transition.hpp"
#include "delivery/types.hpp"
#include "store/latency_window.hpp"
#include "store/types.hpp"

// The seam: what the manager asks of a store, whatever database is behind it. Unless a member says otherwise, it is
// called in a transaction (`Store::begin`), throws `Error` with the `Errc` that fits, and has no thread-safety.
// tests/store_conformance tries what is promised here.

namespace ackbox::store {

/// A part of a store. It lives as long as its store, which owns it.
class Part {
public:
  Part() = default;
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
};

/// New messages.
class Outbox : public Part {
public:
  /// Validates nothing but the limits, the peer and the id's uniqueness; the caller has checked the frame's form. An
  /// empty `frame.id` becomes a fresh UUIDv7.
  virtual EnqueueReceipt enqueue(const Frame& frame) = 0;
  /// Between transactions: messages that committed transactions took away for others, since the last call.
  [[nodiscard]] virtual std::vector<SupersededMessage> takeSuperseded() = 0;
};

/// What this process has in flight.
class Claims : public Part {
public:
  /// Claims sessions and rows for this owner, and loads the rows. `recalls` and `bytesMax`: see
  /// `delivery::Actions::Claim`.
  virtual ClaimReply claim(std::span<const delivery::SessionClaim> sessions,
                           std::int64_t recalls = std::numeric_limits<std::int64_t>::max(),
                           std::uint64_t bytesMax = std::numeric_limits<std::uint64_t>::max()) = 0;
  virtual void endClaims(std::span<const delivery::SessionRelease> releases) = 0;
};

/// Guarded state changes: a row that is not where the settlement says, or is another claim's by now, stays as it is.
class Settles : public Part {
public:
  /// Returns an entry for each settlement: the message, where it was applied.
  virtual std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements) = 0;
  /// An ACK by message id, in any live state.
  virtual std::optional<AckedById> ackById(std::string_view messageId) = 0;
  /// Applies an ACK event to a message that was sent to the peer with the agent URI `agent`; no other message is
  /// touched. `sequence` is the number that the event is about, so that it does not touch a message that was redriven
  /// since; 0: any number, and `time` the same of a message without numbers; nothing: any. `origin` is the store that
  /// the event is of: one that the peer has lost is not believed. Empty: it is not known.
  virtual AckEventOutcome applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                        const FrameResult& result, std::string_view origin = {},
                                        std::optional<WallTime> time = {}) = 0;
  /// Deletes up to `limit` acknowledged rows whose `ackedRetention` is over; returns how many.
  virtual std::size_t purgeAcked(std::size_t limit) = 0;
  /// The same for those that were acknowledged at least `age` ago.
  virtual std::size_t purgeAcked(std::size_t limit, std::chrono::milliseconds age) = 0;
};

/// What an operator changes by hand: redrive and discard of dead letters, and making them.
///
/// The transaction must be durable for a redrive: a sequence that a power cut takes back after the peer has seen it
/// would make the next message with that number a duplicate.
class DeadLetters : public Part {
public:
  /// `redrive`, `discard` or `fail` of the message with this id.
  [[nodiscard]] virtual HandChange change(std::string_view messageId, delivery::Transition transition,
                                          std::string_view reason) = 0;
  /// `redrive` or `discard` of those that the slice chooses among the next `looks` dead letters.
  [[nodiscard]] virtual SliceReport change(const DeadLetterSlice& slice, delivery::Transition transition,
                                           std::size_t looks) = 0;
};

/// Operators' pauses and resumes. Each member returns whether it changed anything.
class Holds : public Part {
public:
  virtual bool pausePeer(std::string_view peer) = 0;
  virtual bool resumePeer(std::string_view peer) = 0;
  virtual bool pauseSession(std::string_view peer, std::string_view session) = 0;
  virtual bool resumeSession(std::string_view peer, std::string_view session) = 0;
  virtual bool unblock(std::string_view peer, std::string_view session) = 0;
};

/// The configured peers. The reading members may be called at any time.
class Peers : public Part {
public:
  [[nodiscard]] virtual std::span<const PeerRow> rows() const noexcept = 0;
  /// Null if the file has no such peer.
  [[nodiscard]] virtual const PeerRow* find(delivery::PeerKey key) const noexcept = 0;
  virtual void record(const delivery::PeerRecord& record) = 0;
  /// The rows, with what the file knows by now of each peer's own store: `rows` has that as of the opening. In a
  /// transaction.
  [[nodiscard]] virtual std::vector<PeerRow> current() = 0;
};

/// What answers show of peers' identities.
class PeerResets : public Part {
public:
  /// Records what an answer has shown, and by policy puts back what the peer lost. Returns the event for subscribers;
  /// nothing if nothing was found, or if another process was first.
  virtual std::optional<PeerResetEvent> recordIdentity(const delivery::PeerIdentity& identity) = 0;
};

/// The marks that make inbound frames duplicates, and the limits of what senders make the file keep.
class InboundMarks : public Part {
public:
  [[nodiscard]] virtual AdmissionReply admit(const InboundIdentity& frame) = 0;
  /// The mark that makes `frame` a duplicate from now on. Outside any session it may be purged after the later of
  /// `life.least` and the frame's expiry plus the tolerated skew, but not after `life.most`; in a session it is kept
  /// for ever. Not in a nested scope.
  virtual void markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) = 0;
  /// The same for a frame that took effect: counts it as received.
  virtual void markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) = 0;
  virtual void countDuplicate() = 0;
  /// A frame that was refused for what it was admitted as: `staleEpoch`, `numberTaken`, `idConflict`.
  virtual void countRefused(Admission admission) = 0;
  /// Requests and frames that were refused for their sender.
  virtual void countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) = 0;
  /// Deletes up to `limit` expired marks; returns how many.
  virtual std::size_t purge(std::size_t limit) = 0;
  /// Which limit keeps an admitted frame from being marked, as its sender makes the file keep so much already.
  /// Counts it as refused. O(1), but that at a limit up to 512 rows are deleted that need not be kept.
  [[nodiscard]] virtual std::optional<InboundLimit> limitReached(const InboundIdentity& frame,
                                                                 const InboundLimits& limits) = 0;
  /// Looks at up to `limit` rows from `place` on, deletes what is kept of a sender, or of one of its stores, and moves
  /// `place` behind them. Sessions with frames in the inbox stay. What is accepted behind `place` meanwhile stays, too.
  virtual ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                                    std::size_t limit) = 0;
};

/// Inbound frames that wait for their handler, and the final outcomes of those that were handled. The process that runs
/// a row owns it, and a dead owner's rows are free again.
class Inbox : public Part {
public:
  /// O(1), without a statement: what spares an agent that never defers all further questions.
  [[nodiscard]] virtual std::uint64_t size() = 0;
  /// Whether there is no room for a frame of this sender.
  [[nodiscard]] virtual bool isFull(const InboundFrame& frame, const DeferredOptions& limits) = 0;
  /// Which limit keeps a frame of this sender out. O(1). Counts it as refused.
  [[nodiscard]] virtual std::optional<InboundLimit> limitReached(const InboundFrame& frame,
                                                                 const InboundOptions& limits) = 0;

  // --- Receiving.

  /// Keeps an accepted frame. Nothing happens when it waits already.
  virtual void add(const InboundFrame& frame, bool deferred) = 0;
  /// The lowest sequence of the frame's session that waits.
  [[nodiscard]] virtual std::optional<std::uint64_t> firstWaiting(const InboundFrame& frame) = 0;
  /// The answer to a duplicate: `defer` while it waits, or the final outcome that was kept. Nothing: a plain `ack`.
  [[nodiscard]] virtual std::optional<FrameResult> resultOf(const InboundIdentity& frame) = 0;
  /// Whether it waits: how a repetition of a frame outside sessions is known that has waited for longer than its mark
  /// was kept.
  [[nodiscard]] virtual bool waits(const InboundIdentity& frame) = 0;
  /// Whether a frame outside sessions whose id is known was refused here after it was deferred, and has been redriven
  /// by its sender since. What was kept of it is then forgotten.
  [[nodiscard]] virtual bool takesAnew(const InboundIdentity& frame) = 0;
  /// A frame that was accepted and still waits: whether this is it (`duplicate`), or another one under its number or
  /// id.
  [[nodiscard]] virtual Admission compare(const InboundIdentity& frame) = 0;

  // --- Running.

  /// Up to `limit` rows that the looks up to `after` did not return. Rows that were committed later than rows with
  /// greater keys are among them.
  [[nodiscard]] virtual NewInboxRows rowsAfter(const InboxCursor& after, std::size_t limit) = 0;
  /// Those of `keys` that are rows of the inbox no more, by their size.
  [[nodiscard]] virtual std::vector<InboxKey> missing(std::span<const InboxKey> keys) = 0;
  /// Claims rows for this store; each is named once. Returns an answer for each, in their order. `waitMax`: no row was
  /// made to wait longer; what is due later than that was written by a clock that has been set back since, and is due.
  [[nodiscard]] virtual std::vector<InboxClaim> claim(std::span<const InboxKey> keys,
                                                      std::chrono::milliseconds waitMax) = 0;
  /// Whether each of those claims is still this store's.
  [[nodiscard]] virtual std::vector<bool> holds(std::span<const InboxStart> claims) = 0;
  /// Their handler saw them and deferred them.
  virtual void markDeferred(std::span<const InboxKey> keys) = 0;
  /// Their handler is done with rows that this transaction has seen to be held, each of them once: the rows go, and the
  /// outcomes stay for `retention` where they say more than `ack`. The mark of a frame outside sessions stays as long,
  /// also where it had ended while the frame waited. Throws `databaseCorrupt` where a row is gone.
  virtual void finish(std::span<const InboxEnding> ends, std::chrono::milliseconds retention) = 0;
  /// Charged runs failed: the rows are free again, each from its `dueAt` on.
  virtual void retry(std::span<const InboxRetry> runs) = 0;
  /// Free again at once, without a charge. Rows that are not this store's stay as they are.
  virtual void release(std::span<const InboxKey> keys) = 0;
  /// Deletes up to `limit` outcomes whose time is over.
  virtual void purge(std::size_t limit) = 0;
  /// Adds to the number of handlers by which this store's process works on rows.
  virtual void addHandlers(std::int64_t difference) = 0;
  /// Keeps what this store's process knows of the applications behind its handlers, until it closes the store.
  virtual void noteApplications(std::span<const Application> applications) = 0;

  // --- By hand. A row that is run is refused.

  /// The row of that id, of several the oldest; 0 if no row has it.
  [[nodiscard]] virtual InboxKey find(std::string_view source, std::string_view messageId) = 0;
  /// Whether an outcome of that id is kept.
  [[nodiscard]] virtual bool hasEnded(std::string_view source, std::string_view messageId) = 0;
  /// Due at once, without charged runs.
  [[nodiscard]] virtual InboxChange retryNow(InboxKey key) = 0;
  /// Ends it with `result`, which is kept for `retention` also of a frame outside sessions.
  [[nodiscard]] virtual InboxChange discard(InboxKey key, const FrameResult& result,
                                            std::chrono::milliseconds retention) = 0;
  /// Grows with each of these changes, of any process.
  [[nodiscard]] virtual std::int64_t operatorChanges() = 0;
};

/// Finds the rows that the machine does not know yet. Between transactions.
class Discovery : public Part {
public:
  /// Live rows that were not returned before, up to `limit`: those of own commits, and those that other connections
  /// committed before the last `begin`, whatever their keys. With them the holds, when they have changed.
  [[nodiscard]] virtual NewRows take(std::size_t limit) = 0;
  /// Nobody asks for rows until the restart: own commits are not remembered for it.
  virtual void stop() noexcept = 0;
  /// All live rows and their sessions are returned anew.
  virtual void restart() noexcept = 0;
  /// The name of a session that was returned before; empty: it was not.
  [[nodiscard]] virtual const std::string& sessionName(delivery::SessionKey key) const = 0;
};

/// The processes that have the store open.
class Owners : public Part {
public:
  /// Whether other processes are registered. At any time.
  [[nodiscard]] virtual bool shared() const noexcept = 0;
  /// Puts the rows of owners that died back in play; returns how many owners there were.
  virtual std::size_t releaseDead() = 0;
  /// Cheap and outside a transaction: whether a registered owner is dead now.
  [[nodiscard]] virtual bool anyDead() = 0;
};

/// The outbox, the inbox's marks and the counters. The single writer of its process.
///
/// All that changes the store runs between `begin` and `commit`. Nothing is visible, and nothing in memory is changed
/// for good, before `commit` returns.
///
/// Thread-safety: none, unless a member says so; owned by the `Writer`'s thread after opening.
class Store {
public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // --- Transaction, called by `Writer`.

  /// Begins a write transaction; `durable`: its commit is fsynced, where the options promise power-cut durability.
  /// Notices commits of other connections. Not `patient`: throws `databaseBusy` at once while another connection holds
  /// the write lock.
  virtual void begin(bool durable, bool patient = true) = 0;
  /// After a throw the transaction is rolled back.
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  [[nodiscard]] virtual bool inTransaction() const noexcept = 0;
  /// After a transaction that failed with `diskFull`: gives the space of the log back, so that the same transaction may
  /// find room. Returns whether it did; false for a time after an attempt that did not help.
  virtual bool makeRoom() noexcept = 0;

  /// A nested scope whose changes can be undone alone.
  virtual void savepoint() = 0;
  virtual void releaseSavepoint() = 0;
  virtual void rollbackToSavepoint() = 0;
  /// While set, a COMMIT or ROLLBACK by foreign code on the connection is vetoed or noticed.
  virtual void guardTransaction(bool on) = 0;
  /// True when the transaction ended under foreign code.
  [[nodiscard]] virtual bool transactionLost() const noexcept = 0;
  /// Why, asked right after that code: `handlerEndedTransaction`, or what SQLite undid it for by itself, such as a full
  /// disk. `thrown`: what the code threw, or null.
  [[nodiscard]] virtual Errc whyTransactionLost(const std::exception_ptr& thrown) const noexcept = 0;

  // --- Parts.

  [[nodiscard]] virtual Outbox& outbox() noexcept = 0;
  [[nodiscard]] virtual Claims& claims() noexcept = 0;
  [[nodiscard]] virtual Settles& settles() noexcept = 0;
  [[nodiscard]] virtual DeadLetters& deadLetters() noexcept = 0;
  [[nodiscard]] virtual Holds& holds() noexcept = 0;
  [[nodiscard]] virtual Peers& peers() noexcept = 0;
  [[nodiscard]] virtual PeerResets& peerResets() noexcept = 0;
  [[nodiscard]] virtual InboundMarks& inboundMarks() noexcept = 0;
  [[nodiscard]] virtual Inbox& inbox() noexcept = 0;
  [[nodiscard]] virtual Discovery& discovery() noexcept = 0;
  [[nodiscard]] virtual Owners& owners() noexcept = 0;

  // --- The whole.

  /// As of the last `begin`, and what was changed since.
  [[nodiscard]] virtual Fill fill() = 0;
  [[nodiscard]] virtual Vitals vitals() = 0;
  /// See `OutboxManager::repair`. Costs by the number of rows.
  virtual RepairReport repair() = 0;
  /// Looks at no more than `looks` rows for the oldest live one, so that readers need not.
  virtual void advanceOldest(std::size_t looks) = 0;
  /// Gives up to `pages` free pages back, and, when there are no more or none are wanted, the log with the commit that
  /// follows; returns how many.
  virtual std::size_t vacuum(std::size_t pages) = 0;
  /// What is left over from busier times: a slice of many free pages, and a log that a reader kept long. Returns
  /// whether more is to be done soon.
  virtual bool tidy() = 0;

  // --- Facts, at any time.

  [[nodiscard]] virtual const std::string& origin() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t epoch() const noexcept = 0;
  /// This open store's number among the owners; never used twice.
  [[nodiscard]] virtual std::int64_t owner() const noexcept = 0;
  /// The file that each commit writes to.
  [[nodiscard]] virtual std::filesystem::path logFile() const = 0;
  [[nodiscard]] virtual const OpeningLook& openingLook() const noexcept = 0;
  /// See `Stats::logNotBatched`. From any thread.
  [[nodiscard]] virtual std::string whyLogNotBatched() const = 0;
  /// From any thread.
  [[nodiscard]] virtual SyncHealth syncHealth() const noexcept = 0;
  /// Whether the last transaction could not begin because the file was replaced; see `Errc::databaseReplaced`. From any
  /// thread.
  [[nodiscard]] virtual bool isReplaced() const noexcept = 0;
  /// The sidecar that each owner has open for writing as long as it lives.
  [[nodiscard]] virtual std::filesystem::path ownersFile() const = 0;
  /// Of the messages that this store has settled as acknowledged. From any thread.
  [[nodiscard]] virtual const LatencyWindow& latencies() const noexcept = 0;
};

}  // namespace ackbox::store
