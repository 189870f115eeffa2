#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/error.hpp"
#include "ackbox/events.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/stats.hpp"
#include "delivery/transition.hpp"
#include "delivery/types.hpp"
#include "store/latency_window.hpp"
#include "store/types.hpp"

// The interface between the manager and a store, independent of the database. Unless a member says otherwise, it is
// called in a transaction (`Store::begin`), throws `Error` with the `Errc` that fits, and has no thread-safety.
// tests/store_conformance tests these guarantees.

namespace ackbox::store {

/// A part of a store, which owns it.
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
  /// Validates only the limits, the peer and the id's uniqueness; the caller has checked the frame's form. An empty
  /// `frame.id` is replaced by a new UUIDv7.
  virtual EnqueueReceipt enqueue(const Frame& frame) = 0;
  /// A message for each subscriber, or, whatever the reason, for none; `frame.peer` is ignored. Validates as `enqueue`.
  virtual PublishReceipt publish(const Frame& frame) = 0;
  /// Messages that this transaction is about to enqueue, each by its own call. A store whose transactions run beside
  /// others may lock and read for all together what each of them needs.
  virtual void expect(std::span<const Frame* const> /*frames*/) {}
  /// How many messages this transaction has stored or put back.
  [[nodiscard]] virtual std::size_t stored() const noexcept = 0;
  /// Between transactions: the messages that transactions committed since the last call have superseded.
  [[nodiscard]] virtual std::vector<SupersededMessage> takeSuperseded() = 0;
};

/// The messages and sessions that this process has in flight.
class Claims : public Part {
public:
  /// Claims sessions and rows for this owner, and loads the rows. `recalls`, `bytesMax` and `framesMax`: see
  /// `delivery::Actions::Claim`.
  virtual ClaimReply claim(std::span<const delivery::SessionClaim> sessions,
                           std::int64_t recalls = std::numeric_limits<std::int64_t>::max(),
                           std::uint64_t bytesMax = std::numeric_limits<std::uint64_t>::max(),
                           std::size_t framesMax = std::numeric_limits<std::size_t>::max()) = 0;
  virtual void endClaims(std::span<const delivery::SessionRelease> releases) = 0;
};

/// Guarded state changes: a row in another state than the settlement's, or with a later claim, is not changed.
class Settles : public Part {
public:
  /// Returns an entry for each settlement: the message if the settlement was applied.
  virtual std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements) = 0;
  /// An ACK by message id, in any live state.
  virtual std::optional<AckedById> ackById(std::string_view messageId) = 0;
  /// Applies an ACK event to a message that was sent to the peer with the agent URI `agent`, and to no other.
  /// `sequence` is the event's sequence, so that a message that was redriven since is not changed; 0: any. `time`
  /// serves the same for an unordered message; nothing: any. `origin` is the store that the event comes from: an event
  /// of a store that the peer has lost is ignored. Empty: not known. `mailboxes` are patterns of other agents to which
  /// the message may have been sent.
  virtual AckEventOutcome applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                        const FrameResult& result, std::string_view origin = {},
                                        std::optional<WallTime> time = {},
                                        std::span<const std::string> mailboxes = {}) = 0;
  /// Deletes up to `limit` acknowledged rows after their `ackedRetention`; returns how many.
  virtual std::size_t purgeAcked(std::size_t limit) = 0;
  /// The same for rows that were acknowledged at least `age` ago.
  virtual std::size_t purgeAcked(std::size_t limit, std::chrono::milliseconds age) = 0;
};

/// An operator's changes: redrives, discards and makes dead letters, and repeats acknowledged messages.
///
/// The transaction must be durable for a redrive and a repeat: if a power cut undid a sequence that the peer has seen,
/// the next message with that number would be a duplicate.
class DeadLetters : public Part {
public:
  /// `redrive`, `discard`, `fail` or `repeat` of the message with this id. An acknowledged message that has expired is
  /// not repeated.
  [[nodiscard]] virtual HandChange change(std::string_view messageId, delivery::Transition transition,
                                          std::string_view reason) = 0;
  /// `redrive` or `discard` of the dead letters that the slice's filter chooses among the next `looks`.
  [[nodiscard]] virtual SliceReport change(const DeadLetterSlice& slice, delivery::Transition transition,
                                           std::size_t looks) = 0;
  /// `repeat` of the messages with these keys that are acknowledged and have not expired; returns how many.
  virtual std::uint64_t repeat(std::span<const delivery::MessageKey> keys) = 0;
  /// The highest key of a message so far.
  [[nodiscard]] virtual delivery::MessageKey highestKey() = 0;
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

/// The configured peers, and those that were added to the file. The reading members may be called at any time.
class Peers : public Part {
public:
  /// The changes since the last call, by any process, as of the last transaction; at the first call, all peers that
  /// were added.
  [[nodiscard]] virtual std::vector<PeerChange> takeChanges() = 0;
  [[nodiscard]] virtual std::span<const PeerRow> rows() const noexcept = 0;
  /// Null if there is no such peer.
  [[nodiscard]] virtual const PeerRow* find(delivery::PeerKey key) const noexcept = 0;
  virtual void record(const delivery::PeerRecord& record) = 0;
  /// The rows, with the current identity of each peer's own store; `rows` has the identity as of the opening. In a
  /// transaction.
  [[nodiscard]] virtual std::vector<PeerRow> current() = 0;
};

/// Which peers get what is published: as of the transaction, whichever process has subscribed them.
class Subscriptions : public Part {
public:
  /// Adds the subscription, or changes the one with its name; returns whether it is new. Nothing: there are too many.
  /// Throws `unknownPeer`.
  virtual std::optional<bool> put(const PeerSubscription& subscription) = 0;
  /// Returns false if no subscription has the name.
  virtual bool remove(std::string_view name) = 0;
};

/// The peers' identities, as answers show them.
class PeerResets : public Part {
public:
  /// Records the identity that an answer shows and, if the policy says so, puts back the messages that the peer lost.
  /// Returns the event for subscribers; nothing if there was no reset, or if another process has recorded it.
  virtual std::optional<PeerResetEvent> recordIdentity(const delivery::PeerIdentity& identity) = 0;
};

/// The marks by which inbound frames are duplicates, and the limits on the data that the file keeps for senders.
class InboundMarks : public Part {
public:
  [[nodiscard]] virtual AdmissionReply admit(const InboundIdentity& frame) = 0;
  /// The mark that makes `frame` a duplicate from now on. Outside any session it may be purged after the later of
  /// `life.least` and the frame's expiry plus the tolerated skew, but not after `life.most`; in a session it is kept
  /// for ever. Not in a nested scope.
  virtual void markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) = 0;
  /// The same for a frame that took effect; counts it as received.
  virtual void markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) = 0;
  virtual void countDuplicate() = 0;
  /// Counts a frame that was refused by its admission: `staleEpoch`, `numberTaken`, `idConflict`.
  virtual void countRefused(Admission admission) = 0;
  /// Counts requests and frames that were refused because of their sender.
  virtual void countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) = 0;
  /// Deletes up to `limit` expired marks; returns how many.
  virtual std::size_t purge(std::size_t limit) = 0;
  /// The sender's limit that an admitted frame would exceed; counts the frame as refused. O(1), except that at a limit
  /// it deletes up to 512 rows that need not be kept.
  [[nodiscard]] virtual std::optional<InboundLimit> limitReached(const InboundIdentity& frame,
                                                                 const InboundLimits& limits) = 0;
  /// Looks at up to `limit` rows from `place` on, deletes those of a sender, or of one of its stores, and moves `place`
  /// behind them. Keeps sessions with frames in the inbox, and frames that are accepted behind `place` meanwhile.
  virtual ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin, ForgetPlace& place,
                                    std::size_t limit) = 0;
};

/// Inbound frames that wait for their handler, and the final outcomes of handled frames. The process that runs a row
/// owns it; a dead owner's rows are free again.
class Inbox : public Part {
public:
  /// O(1), with one statement a transaction at most: an agent that never defers need not call the other members.
  [[nodiscard]] virtual std::uint64_t size() = 0;
  /// Whether there is no room for a frame of this sender.
  [[nodiscard]] virtual bool isFull(const InboundFrame& frame, const DeferredOptions& limits) = 0;
  /// The sender's limit that the frame would exceed; counts the frame as refused. O(1).
  [[nodiscard]] virtual std::optional<InboundLimit> limitReached(const InboundFrame& frame,
                                                                 const InboundOptions& limits) = 0;

  // --- Receiving.

  /// Stores an accepted frame; does nothing if it waits already.
  virtual void add(const InboundFrame& frame, bool deferred) = 0;
  /// The lowest waiting sequence of the frame's session.
  [[nodiscard]] virtual std::optional<std::uint64_t> firstWaiting(const InboundFrame& frame) = 0;
  /// The answer to a duplicate: `defer` while it waits, or the stored final outcome. Nothing: a plain `ack`.
  [[nodiscard]] virtual std::optional<FrameResult> resultOf(const InboundIdentity& frame) = 0;
  /// Whether the frame waits. This recognizes a repetition outside sessions of a frame that has waited longer than its
  /// mark was kept.
  [[nodiscard]] virtual bool waits(const InboundIdentity& frame) = 0;
  /// Whether a frame outside sessions with a known id was deferred and then refused here, and its sender has redriven
  /// it since. If so, deletes its outcome and its mark.
  [[nodiscard]] virtual bool takesAnew(const InboundIdentity& frame) = 0;
  /// For an accepted frame that still waits: whether `frame` is the same (`duplicate`), or another with its number or
  /// id.
  [[nodiscard]] virtual Admission compare(const InboundIdentity& frame) = 0;

  // --- Running.

  /// Up to `limit` rows that the calls up to `after` did not return, including rows that were committed later than rows
  /// with greater keys. After a crash of the database's server, all rows are returned once more.
  [[nodiscard]] virtual NewInboxRows rowsAfter(const InboxCursor& after, std::size_t limit) = 0;
  /// The keys of `keys` that are no longer in the inbox, in ascending order.
  [[nodiscard]] virtual std::vector<InboxKey> missing(std::span<const InboxKey> keys) = 0;
  /// Claims rows for this store; `keys` has no repetitions. Returns an answer for each, in their order. `waitMax`: the
  /// longest possible wait; a row that is due later was written before the clock was set back, and counts as due.
  [[nodiscard]] virtual std::vector<InboxClaim> claim(std::span<const InboxKey> keys,
                                                      std::chrono::milliseconds waitMax) = 0;
  /// For each claim, whether this store still has it.
  [[nodiscard]] virtual std::vector<bool> holds(std::span<const InboxStart> claims) = 0;
  /// Records that the handler has seen these rows and deferred them.
  virtual void markDeferred(std::span<const InboxKey> keys) = 0;
  /// Ends rows that this transaction has found to be held, each named once: deletes them, and keeps the outcomes for
  /// `retention` where they say more than `ack`. Keeps the mark of a frame outside sessions as long, even if it expired
  /// while the frame waited. Throws `databaseCorrupt` if a row is missing.
  virtual void finish(std::span<const InboxEnding> ends, std::chrono::milliseconds retention) = 0;
  /// Records failed runs, which are charged: the rows are free again, each from its `dueAt` on.
  virtual void retry(std::span<const InboxRetry> runs) = 0;
  /// Makes this store's rows free at once, without a charge; does not change other stores' rows.
  virtual void release(std::span<const InboxKey> keys) = 0;
  /// Deletes up to `limit` outcomes after their retention.
  virtual void purge(std::size_t limit) = 0;
  /// Changes the number of handlers that process rows in this store's process.
  virtual void addHandlers(std::int64_t difference) = 0;
  /// Stores the state of the applications behind this process's handlers, until the store is closed.
  virtual void noteApplications(std::span<const Application> applications) = 0;

  // --- By hand. A row that is run is refused.

  /// The oldest row with that id; 0 if no row has it.
  [[nodiscard]] virtual InboxKey find(std::string_view source, std::string_view messageId) = 0;
  /// Whether an outcome with that id is kept.
  [[nodiscard]] virtual bool hasEnded(std::string_view source, std::string_view messageId) = 0;
  /// Makes the row due at once, and resets its charged runs.
  [[nodiscard]] virtual InboxChange retryNow(InboxKey key) = 0;
  /// Ends the row with `result`, which is kept for `retention` even for a frame outside sessions.
  [[nodiscard]] virtual InboxChange discard(InboxKey key, const FrameResult& result,
                                            std::chrono::milliseconds retention) = 0;
  /// Grows with each of these changes by any process.
  [[nodiscard]] virtual std::int64_t operatorChanges() = 0;
};

/// Finds the rows that the machine does not know yet. Between transactions.
class Discovery : public Part {
public:
  /// Up to `limit` live rows that were not returned before: rows of this store's commits, and rows that other
  /// connections committed before the last `begin`, whatever their keys. Includes the holds if they have changed.
  [[nodiscard]] virtual NewRows take(std::size_t limit) = 0;
  /// No rows are needed until `restart`: commits of this store are not remembered.
  virtual void stop() noexcept = 0;
  /// Makes `take` return all live rows and their sessions again.
  virtual void restart() noexcept = 0;
  /// The name of a session that was returned before; empty if it was not.
  [[nodiscard]] virtual const std::string& sessionName(delivery::SessionKey key) const = 0;
};

/// The processes that have the store open.
class Owners : public Part {
public:
  /// Whether other processes are registered. At any time.
  [[nodiscard]] virtual bool shared() const noexcept = 0;
  /// Releases the rows of dead owners; returns the number of dead owners.
  virtual std::size_t releaseDead() = 0;
  /// Cheap and outside a transaction: whether a registered owner is dead now.
  [[nodiscard]] virtual bool anyDead() = 0;
};

/// What a transaction failed for, and so which of its jobs may be run again.
enum class FailedFor : std::uint8_t {
  /// One of its jobs, or the transaction itself: each job alone.
  job,
  /// Another transaction, or a connection that was lost: all of them, at once.
  race,
  /// A lock that another transaction holds for more than a moment: each job alone, and the one that needs it later.
  lock,
  /// Such a lock kept the transaction from beginning: all of them later.
  lockOfAll,
  /// The store is out of reach, or has not said whether it committed: none of them.
  absence,
};

/// What foreign code has done in a nested scope cannot be kept, such as rows that break a constraint. `what()` is for
/// people.
class ScopeRefused : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The outbox, the inbox's marks and the counters. The only writer of its process.
///
/// All changes are made between `begin` and `commit`. Before `commit` returns, no change is visible, and changes in
/// memory can be undone.
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
  /// Notices commits of other connections. If not `patient`, throws `databaseBusy` at once while another connection
  /// holds the write lock; where locks are of rows, statements wait for them for a shorter time.
  virtual void begin(bool durable, bool patient = true) = 0;
  /// If it throws, the transaction has been rolled back.
  virtual void commit() = 0;
  virtual void rollback() noexcept = 0;
  [[nodiscard]] virtual bool inTransaction() const noexcept = 0;
  /// Call it after a transaction that failed with `diskFull`: frees the space of the log, so that the same transaction
  /// may find room. Returns whether it did; false for a time after an attempt that did not help.
  virtual bool makeRoom() noexcept = 0;

  /// Begins a nested scope; its changes can be undone alone.
  virtual void savepoint() = 0;
  /// Throws `ScopeRefused`: the scope's changes cannot be kept, and `rollbackToSavepoint` must follow.
  virtual void releaseSavepoint() = 0;
  virtual void rollbackToSavepoint() = 0;
  /// While on, a COMMIT by foreign code on the connection is vetoed, and a ROLLBACK is noticed.
  virtual void guardTransaction(bool on) = 0;
  /// Whether foreign code ended the transaction.
  [[nodiscard]] virtual bool transactionLost() const noexcept = 0;
  /// Why it ended: `handlerEndedTransaction`, or the error for which SQLite rolled it back by itself, such as a full
  /// disk. Call it right after that code; `thrown` is the code's exception, or null.
  [[nodiscard]] virtual Errc whyTransactionLost(const std::exception_ptr& thrown) noexcept = 0;

  /// What the last transaction failed for.
  [[nodiscard]] virtual FailedFor failedFor() const noexcept { return FailedFor::job; }
  /// For how long a job that a lock keeps out is run again, by `steadyNow`.
  [[nodiscard]] virtual std::chrono::milliseconds lockWaitMost() const noexcept { return {}; }
  [[nodiscard]] virtual SteadyTime steadyNow() const noexcept { return {}; }

  // --- Parts.

  [[nodiscard]] virtual Outbox& outbox() noexcept = 0;
  [[nodiscard]] virtual Claims& claims() noexcept = 0;
  [[nodiscard]] virtual Settles& settles() noexcept = 0;
  [[nodiscard]] virtual DeadLetters& deadLetters() noexcept = 0;
  [[nodiscard]] virtual Holds& holds() noexcept = 0;
  [[nodiscard]] virtual Peers& peers() noexcept = 0;
  [[nodiscard]] virtual Subscriptions& subscriptions() noexcept = 0;
  [[nodiscard]] virtual PeerResets& peerResets() noexcept = 0;
  [[nodiscard]] virtual InboundMarks& inboundMarks() noexcept = 0;
  [[nodiscard]] virtual Inbox& inbox() noexcept = 0;
  [[nodiscard]] virtual Discovery& discovery() noexcept = 0;
  [[nodiscard]] virtual Owners& owners() noexcept = 0;

  // --- The whole.

  /// As of the last `begin`, including later changes of this transaction.
  [[nodiscard]] virtual Fill fill() = 0;
  [[nodiscard]] virtual Vitals vitals() = 0;
  /// See `OutboxOperator::addPeer`; the process configures no peer of that name. In a transaction. Nothing: there are
  /// too many.
  virtual std::optional<bool> addPeer(const PeerOptions& peer, std::string_view definition) = 0;
  /// See `OutboxOperator::removePeer`; makes no dead letters: with `fail`, the peer is removed and keeps its messages.
  /// Removes its subscriptions, too.
  virtual PeerRemoval removePeer(std::string_view name, WaitingMessages waiting) = 0;
  /// See `OutboxManager::repair`. Costs by the number of rows.
  virtual RepairReport repair() = 0;
  /// Searches at most `looks` rows for the oldest live one, so that readers need not.
  virtual void advanceOldest(std::size_t looks) = 0;
  /// Gives back up to `pages` free pages; if none remain or `pages` is 0, the next commit also truncates the log.
  /// Returns how many pages.
  virtual std::size_t vacuum(std::size_t pages) = 0;
  /// Gives back space of busier times, a slice at a time, such as free pages, a log that a reader kept long, or keys
  /// that no enqueue of a process has removed. Returns whether it should be called again soon.
  virtual bool tidy() = 0;

  // --- Facts, at any time.

  [[nodiscard]] virtual const std::string& origin() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t epoch() const noexcept = 0;
  /// This open store's number among the owners; never used twice.
  [[nodiscard]] virtual std::int64_t owner() const noexcept = 0;
  /// The file to which each commit writes.
  [[nodiscard]] virtual std::filesystem::path logFile() const = 0;
  [[nodiscard]] virtual const OpeningLook& openingLook() const noexcept = 0;
  /// See `Stats::logNotBatched`. From any thread.
  [[nodiscard]] virtual std::string whyLogNotBatched() const = 0;
  /// From any thread.
  [[nodiscard]] virtual SyncHealth syncHealth() const noexcept = 0;
  /// Whether the last transaction could not begin because the file was replaced; see `Errc::databaseReplaced`. From any
  /// thread.
  [[nodiscard]] virtual bool isReplaced() const noexcept = 0;
  /// The sidecar file that each owner has open for writing while it lives.
  [[nodiscard]] virtual std::filesystem::path ownersFile() const = 0;
  /// Of the messages that this store has settled as acknowledged. From any thread.
  [[nodiscard]] virtual const LatencyWindow& latencies() const noexcept = 0;
};

}  // namespace ackbox::store
