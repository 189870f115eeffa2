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

/// A peer's row.
struct PeerRow {
  delivery::PeerKey key = 0;
  std::string name;
  std::string url;
  std::string agent;
  std::uint32_t maxRequests = 0;
  /// Its own store as the file knows it: identity, and how often it was opened.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
};

/// The whole of a claimed row, for the sender.
struct ClaimedMessage {
  delivery::SessionKey session = 0;
  delivery::MessageKey key = 0;
  OutboundFrame frame;
};

/// The answer to a claim: what the machine decides on, and what the sender carries.
struct ClaimReply {
  std::vector<delivery::SessionClaimed> sessions;
  std::vector<ClaimedMessage> messages;
  /// Of the messages, as `wireBytes` counts.
  std::uint64_t bytes = 0;
  /// The next one would have been too much: nothing behind it was looked at.
  bool isFull = false;
};

/// Rows and sessions that the machine has not been told of, in key order.
struct NewRows {
  std::vector<delivery::SessionInfo> sessions;
  std::vector<delivery::RowSeen> rows;
  /// More are waiting: call again.
  bool more = false;
  /// The standing orders, when they have changed since they were told.
  std::optional<delivery::HoldSnapshot> holds = {};
  /// With these rows, all that were put back up to this number of recalls have been told; nothing: that is as before.
  std::optional<std::int64_t> recalls = {};

  [[nodiscard]] bool empty() const noexcept { return rows.empty() && !more && !holds && !recalls; }
};

/// Who a message was, for the events; from a settlement that was applied.
struct SettledMessage {
  delivery::MessageKey key = 0;
  delivery::SessionKey session = 0;
  std::string messageId;
  std::uint64_t sequence = 0;
};

/// A pending message that was taken away for another one.
struct SupersededMessage {
  SettledMessage message;
  std::string peer;
  std::string session;
  std::string byMessageId;
  std::uint64_t bySequence = 0;
};

/// What a full queue is measured by: live messages and their bytes of data.
struct Fill {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

/// What a health check looks at, as of a transaction.
struct Vitals {
  std::uint64_t live = 0;
  std::uint64_t failed = 0;
  /// When the oldest live row was enqueued; nothing when there is none, or nobody has looked that far yet.
  std::optional<WallTime> oldestAt;
};

/// What identifies an inbound frame.
struct InboundIdentity {
  std::string_view source;
  std::string_view id;
  std::string_view origin;
  std::string_view session;
  std::uint64_t epoch = 0;
  /// 0: outside any session; deduplicated by (source, id).
  std::uint64_t sequence = 0;
  std::uint64_t previousSequence = 0;
  std::optional<WallTime> expiresAt;
  /// Of its type and data, see `digestOf`.
  std::uint64_t digest = 0;
};

/// Whether an inbound frame may take effect.
enum class Admission : std::uint8_t {
  take,
  /// It took effect before.
  duplicate,
  /// Its predecessor has not been accepted here.
  outOfSequence,
  /// Its sender's store was restored from an older copy: a newer epoch was seen.
  staleEpoch,
  /// The same: its number belongs to another frame.
  numberTaken,
  /// Its id was used before with other data.
  idConflict,
  /// Its sender's store was silent for long after another had taken its place: its marks are gone.
  closedOrigin,
};

/// How long the mark of a frame without a sequence is kept.
struct MarkLife {
  /// At least; an expiry of the frame may ask for more.
  std::chrono::milliseconds least;
  /// At most, whatever expiry the frame claims.
  std::chrono::milliseconds most;
  /// After which a sender's store that another has taken the place of is closed; 0: never.
  std::chrono::milliseconds silence{0};
};

struct AdmissionReply {
  Admission admission = Admission::take;
  /// Highest accepted sequence of the session, and, unless the frame is taken, the id of the frame that had it; empty:
  /// not known.
  std::uint64_t accepted = 0;
  std::string acceptedId = {};
  /// The frame is taken but its number leaves a gap: this many of the sender's messages were given up.
  std::uint64_t gap = 0;
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
  /// Keeps what an answer has shown of a peer's memory, and by policy puts back what the peer forgot. Returns what
  /// subscribers are to be told; nothing when there is nothing, or another process was first.
  std::optional<PeerResetEvent> hear(const delivery::PeerIdentity& news);

  /// An ACK by message id, in any live state.
  struct AckedById {
    SettledMessage message;
    std::string peer;
    std::string session;
  };
  std::optional<AckedById> ackById(std::string_view messageId);

  /// A peer's later word (an ACK event) on a message that was sent to it.
  struct AckEventOutcome {
    enum class Kind : std::uint8_t {
      /// The message is retired or given up, as `message` says who it was.
      settled,
      /// Deferred, and to be sent again: `message` says which.
      recalled,
      /// Unknown, settled already, or in no state for such a word: benign.
      ignored,
      /// The message was addressed to another peer: nothing changed.
      refused,
    };
    Kind kind = Kind::ignored;
    SettledMessage message;
    std::string peer;
    std::string session;
  };
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
  /// Puts the rows of owners that died back in play; returns how many owners were buried. In a transaction.
  std::size_t buryDeadOwners();
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
  /// See `Stats::logNotBatched`. From any thread.
  [[nodiscard]] std::string whyLogNotBatched() const;
  /// The sidecar that each owner has open for writing as long as it lives.
  [[nodiscard]] std::filesystem::path ownersFile() const;
  [[nodiscard]] std::uint64_t epoch() const noexcept;
  /// This open file's number among the owners; never used twice.
  [[nodiscard]] std::int64_t owner() const noexcept;
  [[nodiscard]] SQLite::Database& database() noexcept;

private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace ackbox::store
