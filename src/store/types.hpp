#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/options.hpp"
#include "ackbox/sender.hpp"
#include "delivery/types.hpp"
#include "reception/types.hpp"

// The values that the interface of a store takes and returns.

namespace ackbox::store {

/// The state of an open store's syncs.
struct SyncHealth {
  /// How many times a write or a sync failed, so that data synced before may be missing.
  std::uint32_t failures = 0;
  /// It may still be missing: durable transactions are refused until the committed data has been written again.
  bool isDoubtful = false;
  /// Processes that open the file meanwhile do not see this: they take the log for intact.
  bool isHidden = false;

  /// The same as one number, so that it can be atomic.
  [[nodiscard]] std::uint64_t word() const noexcept {
    return std::uint64_t{failures} << 2U | (isHidden ? 2U : 0U) | (isDoubtful ? 1U : 0U);
  }
  [[nodiscard]] static SyncHealth of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 2U), (word & 1U) != 0, (word & 2U) != 0};
  }
};

/// Findings of an opening, which are logged and noted in the file.
inline constexpr std::string_view kLogCutShort = "log-cut-short";
inline constexpr std::string_view kFileWasEmpty = "file-was-empty";
inline constexpr std::string_view kFileWasEmptyText =
    "the file was empty although it had been in use: its content is lost, and a new outbox was made; if nobody "
    "emptied "
    "it on purpose, check the disk and restore a backup (docs/restore.md)";
inline constexpr std::string_view kFileMadeAnew = "file-made-anew";
inline constexpr std::string_view kFileMadeAnewText =
    "the outbox file or its log was missing although its owners file exists: a "
    "new outbox was made; if nobody deleted it on purpose, look for the file, or restore a backup (docs/restore.md)";

/// Findings of the opening that may mean data loss.
struct OpeningLook {
  /// See `whatLogLeftOut`.
  std::string leftOut = {};
  /// The file was empty, although it has been an outbox: its owners file exists.
  bool wasEmptied = false;
  /// The file did not exist, or had no tables, although an outbox of its name has been in use: its owners file exists.
  bool wasMadeAnew = false;
};

struct PeerRow {
  delivery::PeerKey key = 0;
  std::string name = {};
  std::string url = {};
  std::string agent = {};
  std::uint32_t maxRequests = 0;
  /// The peer's own store as the file knows it: its identity, and how often it was opened.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// Of a peer that was added at run time; empty for any other.
  std::string definition = {};

  /// As far as the row has them; the file is not trusted to hold a number of requests.
  [[nodiscard]] PeerOptions options() const {
    return {.name = name, .url = url, .agent = agent, .maxRequests = std::max(maxRequests, 1U)};
  }
};

/// A peer that was added to the outbox, changed or removed.
struct PeerChange {
  PeerRow row;
  /// Null: it was removed.
  std::shared_ptr<const PeerOptions> options = {};
  /// Why its definition cannot be used here; `options` are then those of its row. Empty: it can.
  std::string problem = {};
};

/// A claimed row with all its fields, for the sender.
struct ClaimedMessage {
  delivery::SessionKey session = 0;
  delivery::MessageKey key = 0;
  OutboundFrame frame;
};

/// The answer to a claim: the facts for the machine, and the messages for the sender.
struct ClaimReply {
  std::vector<delivery::SessionClaimed> sessions;
  std::vector<ClaimedMessage> messages;
  /// The size of the messages by `wireBytes`.
  std::uint64_t bytes = 0;
  /// The next message would have exceeded the limit; later ones were not looked at.
  bool isFull = false;
};

/// Rows and sessions that the machine does not know yet, in key order.
struct NewRows {
  std::vector<delivery::SessionInfo> sessions;
  std::vector<delivery::RowSeen> rows;
  /// More are waiting: call again.
  bool more = false;
  /// The holds, when they have changed since they were last taken.
  std::optional<delivery::HoldSnapshot> holds = {};
  /// With these rows, all rows that were put back up to this recall are known; nothing: no change.
  std::optional<std::int64_t> recalls = {};
  /// Sessions that are missing or not what was written: their messages are not sent.
  std::vector<delivery::SessionKey> damaged = {};
  /// The peers that were added or changed since they were last taken; valid before the rows above.
  std::vector<PeerRow> peers = {};

  [[nodiscard]] bool empty() const noexcept { return rows.empty() && !more && !holds && !recalls && peers.empty(); }
};

/// The identity of a message in the events; from an applied settlement.
struct SettledMessage {
  delivery::MessageKey key = 0;
  delivery::SessionKey session = 0;
  std::string messageId;
  std::uint64_t sequence = 0;
};

/// A pending message that another one has superseded.
struct SupersededMessage {
  SettledMessage message;
  std::string peer;
  std::string session;
  std::string byMessageId;
  std::uint64_t bySequence = 0;
};

/// The fill level of the queue: live messages and their bytes of data.
struct Fill {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

/// The figures for a health check, as of a transaction.
struct Vitals {
  std::uint64_t live = 0;
  std::uint64_t failed = 0;
  /// When the oldest live row was enqueued; nothing if no row is live, or if no search has reached it yet.
  std::optional<WallTime> oldestAt;
};

/// The identity of an inbound frame.
struct InboundIdentity {
  std::string_view source;
  std::string_view id;
  std::string_view origin;
  /// As it is kept, see `KeptSession`.
  std::string_view session;
  std::uint64_t epoch = 0;
  /// It was fetched from a mailbox. The hub compared its epoch when it took the frame. An older epoch than that of
  /// another session proves nothing here: frames that were sent later may come first. A session's own frames come in
  /// order.
  bool isFetched = false;
  /// 0: outside any session; deduplicated by (source, id).
  std::uint64_t sequence = 0;
  std::uint64_t previousSequence = 0;
  std::optional<WallTime> expiresAt = {};
  /// When the frame was enqueued. A redrive makes it later: outside sessions it distinguishes a redriven frame from a
  /// repetition.
  std::optional<WallTime> time = {};
  /// The digest of the type and data, see `digestOf`.
  std::uint64_t digest = 0;
};

using reception::Admission;
using reception::AdmissionReply;

/// The position of `InboundMarks::forgetSender`: a table, and the key of the last row looked at, or a key between that
/// and the next row. The members that the table does not need are empty.
struct ForgetPlace {
  /// In the order in which the tables are processed.
  enum class Table : std::uint8_t { sessions, origins, results, marks, none };

  Table table = Table::sessions;
  std::string id;
  std::string source;
  std::string origin;
  std::string session;
  std::uint64_t sequence = 0;

  [[nodiscard]] bool isAtEnd() const noexcept { return table == Table::none; }
};

/// How long the mark of a frame without a sequence is kept.
struct MarkLife {
  /// The minimum; the frame's expiry may extend it.
  std::chrono::milliseconds least;
  /// The maximum, regardless of the frame's expiry.
  std::chrono::milliseconds most;
  /// The silence after which a sender's store that another store has replaced is closed; 0: never.
  std::chrono::milliseconds silence{0};
};

/// A message that was acknowledged by its id.
struct AckedById {
  SettledMessage message;
  std::string peer;
  std::string session;
};

/// The result of applying an ACK event, which carries a later outcome for a message.
struct AckEventOutcome {
  enum class Kind : std::uint8_t {
    /// The message is acknowledged or a dead letter; `message` names it.
    settled,
    /// Deferred, and to be sent again; `message` names it.
    recalled,
    /// The message is unknown, settled already, or in no state for such an outcome: benign.
    ignored,
    /// The message was addressed to another peer: nothing changed.
    refused,
  };
  Kind kind = Kind::ignored;
  SettledMessage message;
  std::string peer;
  std::string session;
};

/// The dead letters to look at next, and a filter for those to change.
struct DeadLetterSlice {
  DeadLetterFilter filter;
  /// Only dead letters above this key.
  delivery::MessageKey after = 0;
  /// Only dead letters up to this key; 0: the highest existing key.
  delivery::MessageKey until = 0;
};

/// The result of one slice.
struct SliceReport {
  std::uint64_t changed = 0;
  /// The slice that follows.
  DeadLetterSlice next;
  /// Whether there is a next slice.
  bool more = false;
};

/// An operator's change, with the facts for its event.
struct HandChange {
  ChangeReceipt receipt;
  SettledMessage message;
  std::string peer;
  std::string session;
  /// The reason as stored.
  std::string reason;
  std::string lastError;
};

/// The key of a row of the inbox. The order of keys need not be that of commits.
using InboxKey = std::int64_t;

/// A position in the order of commits to the inbox, which only its store can interpret.
struct InboxCursor {
  /// Empty at the beginning.
  std::string place = {};
};

/// The facts of a waiting row that a runner keeps in memory.
struct InboxPlace {
  InboxKey key = 0;
  /// Rows of one queue run one after the other, in the order of acceptance. A frame outside any session has its own
  /// queue.
  std::string queue;
  std::string type = {};
  /// The sender, with which the row shares its turns.
  std::string source = {};
  /// Empty outside any session.
  std::string session = {};
  /// See `InboundFrame::mailbox`.
  std::string mailbox = {};
  WallTime acceptedAt = {};
  std::optional<WallTime> expiresAt = {};
};

/// The result of a look at the inbox, and the position for the next one.
struct NewInboxRows {
  /// The rows of each queue are in the order of acceptance.
  std::vector<InboxPlace> rows = {};
  InboxCursor next = {};
};

/// A claimed row.
struct InboxRow {
  InboxKey key = 0;
  /// The number of this claim, which guards its completion.
  std::uint32_t starts = 0;
  /// Charged runs so far.
  std::uint32_t retryCount = 0;
  /// Its handler deferred the frame; otherwise the frame waits behind a deferred one, and its handler has not seen it.
  bool deferred = false;
  WallTime acceptedAt;
  /// The row is not what was accepted: it is not given to a handler.
  bool isDamaged = false;
  InboundFrame frame;
};

/// An operator's change of a row of the inbox. `row` is set if the change was made.
struct InboxChange {
  InboxReceipt receipt;
  InboxRow row;
};

/// Identifies a claim of a row of the inbox.
struct InboxStart {
  InboxKey key = 0;
  std::uint32_t starts = 0;
};

/// The final outcome of a claimed row. Both objects must outlive the call.
struct InboxEnding {
  const InboxRow* row = nullptr;
  const FrameResult* result = nullptr;
};

/// A claimed row after a failed run, which is charged. The text must outlive the call.
struct InboxRetry {
  InboxKey key = 0;
  WallTime dueAt;
  std::string_view error = {};
};

/// The answer to a claim.
struct InboxClaim {
  enum class Kind : std::uint8_t {
    taken,
    /// Another process has completed it.
    gone,
    /// A live process runs it.
    busy,
    notDue,
  };
  Kind kind = Kind::gone;
  /// For `notDue`.
  WallTime dueAt;
  /// For `taken`.
  InboxRow row;
};

}  // namespace ackbox::store
