#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/events.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/options.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"
#include "ackbox/stats.hpp"
#include "delivery/types.hpp"
#include "store/latency_window.hpp"
#include "store/types.hpp"

namespace SQLite {
class Database;
}

namespace ackbox::store {

class DeadLetters;
class Inbox;
class Liveness;
class Holds;

/// What opening needs beyond `OutboxOptions`.
struct StoreOptions {
  std::filesystem::path file;
  OutboxOptions outbox;
  /// How owners prove that they live; null: kernel locks in the sidecar file `<file>-ackbox-owners`, with
  /// `-<tablePrefix>` behind it for another prefix than the default.
  std::shared_ptr<Liveness> liveness;
};

/// The outbox, the inbox's marks and the counters in one SQLite file. The single writer of its process.
///
/// All members that change the file run between `begin` and `commit`. Nothing is visible, and no cache is changed for
/// good, before `commit` returns.
///
/// Throws `Error` with the `Errc` that fits, from every member.
/// Thread-safety: none; owned by the `Writer`'s thread after opening.
class Store {
public:
  /// Opens, migrates, registers this process as an owner, and puts the rows of dead owners back in play.
  explicit Store(const StoreOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // --- Transaction, called by `Writer`.

  /// BEGIN IMMEDIATE, with `synchronous` FULL when `durable` and the options promise power-cut durability. Notices
  /// commits of other connections and drops caches that they made stale. Not `patient`: throws `databaseBusy` at once
  /// while another connection holds the write lock.
  void begin(bool durable, bool patient = true);
  /// Writes the cached changes back and commits; checkpoints when the WAL has grown enough. After a throw the
  /// transaction is rolled back.
  void commit();
  void rollback() noexcept;
  [[nodiscard]] bool inTransaction() const noexcept;

  // --- Outbox.

  /// Validates nothing but the limits, the peer and the id's uniqueness; the caller has checked the frame's form. An
  /// empty `frame.id` becomes a fresh UUIDv7.
  EnqueueReceipt enqueue(const Frame& frame);

  /// As of the last `begin`, and what was changed since.
  [[nodiscard]] Fill fill();
  /// Between transactions: what the last commits took away for others.
  [[nodiscard]] std::vector<SupersededMessage> takeSuperseded();

  /// Claims sessions and rows for this owner, and loads the rows.
  /// Brings no more than `bytesMax`, as `delivery::wireBytes` counts, beyond the first message.
  ClaimReply claim(std::span<const delivery::SessionClaim> sessions,
                   std::int64_t recalls = std::numeric_limits<std::int64_t>::max(),
                   std::uint64_t bytesMax = std::numeric_limits<std::uint64_t>::max());

  /// Applies guarded settlements. Returns the indices of those applied, with who they were.
  std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements);
  void release(std::span<const delivery::SessionRelease> releases);
  void recordPeer(const delivery::PeerRecord& record);
  /// Records what an answer has shown of a peer's identity, and by policy puts back what the peer lost. Returns the
  /// event for subscribers; nothing when there is none, or another process was first.
  std::optional<PeerResetEvent> recordIdentity(const delivery::PeerIdentity& identity);

  /// An ACK by message id, in any live state.
  std::optional<AckedById> ackById(std::string_view messageId);

  /// `agent` is the URI of the peer whose word it is; only a message addressed to that peer is touched. `sequence` is
  /// the number that the word is about: it does not touch a message that was redriven since. 0: whatever number it has.
  /// `origin` is the store that it is of: one that the peer has lost is not believed. Empty: it is not known.
  AckEventOutcome applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                const FrameResult& word, std::string_view origin = {});
  /// Deletes up to `limit` acknowledged rows whose `ackedRetention` is over; returns how many.
  std::size_t purgeAcked(std::size_t limit);
  /// The same for those that were acknowledged at least `age` ago.
  std::size_t purgeAcked(std::size_t limit, std::chrono::milliseconds age);
  /// See `OutboxManager::repair`. Costs by the number of rows.
  RepairReport repair();
  /// Looks at no more than `looks` rows for the oldest live one, so that readers need not; see `Oldest`.
  void advanceOldest(std::size_t looks);
  /// In a transaction.
  [[nodiscard]] Vitals vitals();
  /// Gives up to `pages` free pages back, and the log with the commit that follows; returns how many.
  std::size_t vacuum(std::size_t pages);
  /// What is left over from busier times: a slice of many free pages, and a log that a reader kept long. Returns
  /// whether more is to be done soon.
  bool tidy();
  /// What an operator changes by hand.
  [[nodiscard]] DeadLetters& deadLetters();
  /// What people order: pauses and resumes.
  [[nodiscard]] Holds& holds() noexcept;

  // --- Inbound.

  [[nodiscard]] AdmissionReply admit(const InboundIdentity& frame);
  /// The mark that makes `frame` a duplicate from now on. Outside any session it may be purged after the later of
  /// `life.least` and the frame's expiry plus the tolerated skew, but not after `life.most`; in a session it is kept
  /// for ever. Not in a nested scope.
  void markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life);
  /// The same for a frame that took effect: counts it as received.
  void markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life);
  void countDuplicate();
  /// A frame that was refused for what it was admitted as: `staleEpoch`, `numberTaken`, `idConflict`.
  void countRefused(Admission admission);
  /// Requests and frames that were refused for who sent them.
  void countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden);
  /// Deletes up to `limit` expired marks; returns how many.
  std::size_t purgeProcessed(std::size_t limit);
  /// What hinders an admitted frame from being marked, as its sender makes the file keep so much already. O(1). Counts
  /// it as refused.
  [[nodiscard]] std::optional<InboundLimit> limitReached(const InboundIdentity& frame, const InboundLimits& limits);
  /// What hinders a frame of this sender from being put into the inbox. O(1). Counts it as refused.
  [[nodiscard]] std::optional<InboundLimit> deferralLimitReached(const InboundFrame& frame,
                                                                 const InboundOptions& limits);
  /// Deletes up to `limit` rows of what is kept of a sender, or of one of its stores. Sessions with frames in the inbox
  /// stay; when nothing was deleted, `kept` counts them.
  ForgetReport forgetSender(std::string_view source, std::optional<std::string_view> origin, std::size_t limit);

  /// Frames that were accepted and wait for their handler.
  [[nodiscard]] Inbox& inbox() noexcept;

  /// A nested scope whose writes can be undone alone. `rollbackTo` undoes the caches' changes as well.
  void savepoint();
  void releaseSavepoint();
  void rollbackToSavepoint();
  /// While set, a COMMIT or ROLLBACK by foreign code on the connection is vetoed or noticed.
  void guardTransaction(bool on);
  /// True when foreign code ended the transaction.
  [[nodiscard]] bool transactionLost() const noexcept;

  // --- Discovery, between transactions.

  /// Live rows that were not returned before: those of own commits, and those of other connections that came before the
  /// last `begin`. At most `limit`.
  NewRows takeNewRows(std::size_t limit);
  /// Nobody will ask for rows until the restart: own commits are not remembered for it.
  void stopDiscovery() noexcept;
  /// Forgets what was told: all live rows and their sessions are told anew.
  void restartDiscovery() noexcept;

  // --- Owners.

  /// Whether other processes are registered as owners.
  [[nodiscard]] bool shared() const noexcept;
  /// Puts the rows of owners that died back in play; returns how many there were. In a transaction.
  std::size_t releaseDeadOwners();
  /// Cheap and outside a transaction: whether a registered owner is dead now.
  [[nodiscard]] bool anyOwnerDead();

  // --- Facts.

  [[nodiscard]] std::span<const PeerRow> peers() const noexcept;
  [[nodiscard]] const PeerRow* peer(delivery::PeerKey key) const noexcept;
  /// Peer and session names of a session key that was told before.
  [[nodiscard]] const std::string& sessionName(delivery::SessionKey key) const;
  [[nodiscard]] const std::string& origin() const noexcept;
  /// SQLite's log of the file, which each commit writes to.
  [[nodiscard]] std::filesystem::path logFile() const;
  /// The sidecar that each owner has open for writing as long as it lives.
  [[nodiscard]] std::filesystem::path ownersFile() const;
  [[nodiscard]] std::uint64_t epoch() const noexcept;
  /// Of the messages that this store has settled as acknowledged. May be asked from any thread.
  [[nodiscard]] const LatencyWindow& latencies() const noexcept;
  /// This open file's number among the owners; never used twice.
  [[nodiscard]] std::int64_t owner() const noexcept;
  [[nodiscard]] SQLite::Database& database() noexcept;

private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace ackbox::store
