#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/sender.hpp"
#include "delivery/types.hpp"
#include "reception/types.hpp"

// The values that go through the seam: what any store is asked and answers.

namespace ackbox::store {

/// How the disk has synced for an open store.
struct SyncHealth {
  /// How often a write or a sync failed, so that what was synced before may be missing.
  std::uint32_t failures = 0;
  /// It still may: durable transactions are refused until what is committed has been written again.
  bool isDoubtful = false;
  /// Processes that open the file meanwhile do not see that: they take the log for whole.
  bool isHidden = false;

  /// The same as one number, which threads can exchange.
  [[nodiscard]] std::uint64_t word() const noexcept {
    return std::uint64_t{failures} << 2U | (isHidden ? 2U : 0U) | (isDoubtful ? 1U : 0U);
  }
  [[nodiscard]] static SyncHealth of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 2U), (word & 1U) != 0, (word & 2U) != 0};
  }
};

/// What is logged, and noted in the file, of what an opening found.
inline constexpr std::string_view kLogCutShort = "log-cut-short";
inline constexpr std::string_view kFileWasEmpty = "file-was-empty";
inline constexpr std::string_view kFileWasEmptyText =
    "the file was empty, although it has been in use: what it held is lost, and a new outbox was made; if nobody "
    "emptied "
    "it on purpose, check the disk and restore a backup (docs/restore.md)";
inline constexpr std::string_view kFileMadeAnew = "file-made-anew";
inline constexpr std::string_view kFileMadeAnewText =
    "an outbox of this name has been in use, as its owners file shows, and was not there any more, or its log was not: "
    "a "
    "new outbox was made; if nobody took it away on purpose, look for the file, or restore a backup (docs/restore.md)";

/// What was found when the file was opened, and may mean that something is lost.
struct OpeningLook {
  /// See `whatLogLeftOut`.
  std::string leftOut = {};
  /// It was empty, although it has been an outbox: the owners file is beside it.
  bool wasEmptied = false;
  /// It was not there, or had no tables, although an outbox of its name has been in use: the same.
  bool wasMadeAnew = false;
};

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

/// Rows and sessions that the machine does not know yet, in key order.
struct NewRows {
  std::vector<delivery::SessionInfo> sessions;
  std::vector<delivery::RowSeen> rows;
  /// More are waiting: call again.
  bool more = false;
  /// The holds, when they have changed since they were last taken.
  std::optional<delivery::HoldSnapshot> holds = {};
  /// With these rows, all that were put back up to this number of recalls are known; nothing: that is as before.
  std::optional<std::int64_t> recalls = {};
  /// Sessions that are missing or not what was written: nothing of them is sent.
  std::vector<delivery::SessionKey> damaged = {};

  [[nodiscard]] bool empty() const noexcept { return rows.empty() && !more && !holds && !recalls; }
};

/// What identifies a message in the events; from a settlement that was applied.
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
  /// When the oldest live row was enqueued; nothing if no row is live, or if nobody has looked that far yet.
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
  /// Of its enqueue, which a redrive moves forward: outside sessions it distinguishes a redriven frame from a
  /// repetition.
  std::optional<WallTime> time;
  /// Of its type and data, see `digestOf`.
  std::uint64_t digest = 0;
};

using reception::Admission;
using reception::AdmissionReply;

/// How far `InboundMarks::forgetSender` has come: a table, and in it the key of the row looked at last, or one between
/// that and the next. The other members are empty.
struct ForgetPlace {
  /// In this order.
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
  /// At least; an expiry of the frame may ask for more.
  std::chrono::milliseconds least;
  /// At most, whatever expiry the frame claims.
  std::chrono::milliseconds most;
  /// After which a sender's store that another has taken the place of is closed; 0: never.
  std::chrono::milliseconds silence{0};
};

/// A message that was acknowledged by its id.
struct AckedById {
  SettledMessage message;
  std::string peer;
  std::string session;
};

/// What became of an ACK event: a later outcome that a peer sent for a message.
struct AckEventOutcome {
  enum class Kind : std::uint8_t {
    /// The message is acknowledged or given up; `message` names it.
    settled,
    /// Deferred, and to be sent again; `message` names it.
    recalled,
    /// Unknown, settled already, or in no state for such an outcome: benign.
    ignored,
    /// The message was addressed to another peer: nothing changed.
    refused,
  };
  Kind kind = Kind::ignored;
  SettledMessage message;
  std::string peer;
  std::string session;
};

/// Which dead letters to look at next, and which of those to change.
struct DeadLetterSlice {
  DeadLetterFilter filter;
  /// Above this key.
  delivery::MessageKey after = 0;
  /// Up to this key; 0: the highest there is.
  delivery::MessageKey until = 0;
};

/// What came of one slice.
struct SliceReport {
  std::uint64_t changed = 0;
  /// The slice that follows.
  DeadLetterSlice next;
  /// Whether there is a next slice.
  bool more = false;
};

/// A change by hand, with what its event needs.
struct HandChange {
  ChangeReceipt receipt;
  SettledMessage message;
  std::string peer;
  std::string session;
  /// As it was stored.
  std::string reason;
  std::string lastError;
};

/// A row of the inbox, by its key, which says nothing of when it was committed.
using InboxKey = std::int64_t;

/// How far a look at the inbox has come. Only its store can read it: the order of keys need not be that of commits.
struct InboxCursor {
  /// Empty: at the beginning.
  std::string place = {};
};

/// What a runner keeps in memory of a waiting row.
struct InboxPlace {
  InboxKey key = 0;
  /// Rows of one queue run one after the other, as they were accepted. A frame outside any session has a queue of its
  /// own.
  std::string queue;
  std::string type = {};
  /// Whose turns it shares.
  std::string source = {};
  /// Empty outside any session.
  std::string session = {};
  WallTime acceptedAt = {};
};

/// What a look at the inbox found, and where the next one goes on.
struct NewInboxRows {
  /// Those of a queue in the order in which they were accepted.
  std::vector<InboxPlace> rows = {};
  InboxCursor next = {};
};

/// A claimed row.
struct InboxRow {
  InboxKey key = 0;
  /// The number of this claim: what guards its completion.
  std::uint32_t starts = 0;
  /// Charged runs so far.
  std::uint32_t retryCount = 0;
  /// Its handler deferred it; otherwise it waits behind such a frame and its handler has not seen it.
  bool deferred = false;
  WallTime acceptedAt;
  /// It is not what was accepted: no handler is given it.
  bool isDamaged = false;
  InboundFrame frame;
};

/// A change by hand of a row of the inbox. `row` is that of a change that is done.
struct InboxChange {
  InboxReceipt receipt;
  InboxRow row;
};

/// A claim of a row of the inbox, as the end of its run names it.
struct InboxStart {
  InboxKey key = 0;
  std::uint32_t starts = 0;
};

/// The final outcome of a claimed row. Both outlive the call.
struct InboxEnding {
  const InboxRow* row = nullptr;
  const FrameResult* result = nullptr;
};

/// A claimed row whose run failed, and is charged. The text outlives the call.
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
