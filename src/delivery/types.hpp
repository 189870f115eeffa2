#pragma once

// The values that the delivery machine, the store and the manager exchange; the one header of this layer, beside
// `transition.hpp`, that the store may include.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/events.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/message.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/retry_policy.hpp"
#include "delivery/transition.hpp"

namespace ackbox::delivery {

/// The outbox row's key, never used twice; those of a session are in the order of its commits.
using MessageKey = std::int64_t;
using SessionKey = std::int64_t;
using PeerKey = std::int64_t;
using RequestId = std::uint64_t;

/// Both clocks at one moment: delays run on `steady`, what is stored or compared with stored instants is `wall`.
struct Now {
  SteadyTime steady;
  WallTime wall;
};

/// The policies of a session.
struct DeliveryPolicy {
  /// Null: the machine's own.
  const RetryPolicy* retry = nullptr;
  GapPolicy gap = GapPolicy::skip;
};

/// A session as the store introduces it, once, before its first row.
struct SessionInfo {
  SessionKey key = 0;
  PeerKey peer = 0;
  /// Backoff of its head.
  WallTime dueAt{};
  /// See `Frame::priority`.
  std::uint8_t priority = kPriorityDefault;
  /// Not an ordered session but the unordered queue of a peer's unordered messages of one priority. It is never claimed
  /// itself: each of its messages is, as the session `unitOf(key)`, which no row stands for.
  bool unordered = false;
  std::string name = {};
  /// Not the store's to say: filled in by what knows the options.
  DeliveryPolicy policy = {};
};

/// The session that an unordered message is, alone in it.
[[nodiscard]] constexpr SessionKey unitOf(MessageKey key) noexcept {
  return -key;
}
[[nodiscard]] constexpr bool isUnit(SessionKey session) noexcept {
  return session < 0;
}

/// A live row that the machine does not know yet.
struct RowSeen {
  MessageKey key = 0;
  SessionKey session = 0;
  /// `pending` or `sent`; another owner's `sending` row counts as `pending`, and its claim finds out.
  MessageState state = MessageState::pending;
  /// For `sent`: the ACK deadline. For `pending`: not to be sent before.
  WallTime dueAt{};
  /// Its session's, when it may have changed since the session was introduced.
  std::optional<std::uint8_t> priority = {};
};

/// What a peer says it has accepted last in a session, which proves that it knows this file if it is a message of it.
struct AcceptedFrame {
  std::uint64_t sequence = 0;
  /// Its message's id; empty: the peer does not say.
  std::string id = {};
};

/// The rows of one session that a claim asks for, in order.
struct SessionClaim {
  SessionKey session = 0;
  std::vector<MessageKey> keys;
  /// The one among them whose delay has been waited out to its full length on the monotonic clock; 0: none.
  MessageKey waited = 0;
  /// The peer says that it has accepted this, and has not shown that it is ours: claim only if it is.
  std::optional<AcceptedFrame> doubt = {};
};

/// What a frame with so much data takes on the wire, generously: types, ids and session names are 256 bytes at most.
[[nodiscard]] constexpr std::uint64_t wireBytes(std::uint64_t dataBytes) noexcept {
  return dataBytes + 1536;
}

/// How one session's claim went.
enum class ClaimStatus : std::uint8_t {
  /// This process holds the session now; `rows` are its head, in order.
  claimed,
  /// A live process has it in flight.
  busy,
  /// Its head is in backoff until `dueAt`, set by another process, or is not to be sent before it.
  notDue,
  /// It is paused, or a dead letter blocks it: `HoldSnapshot` will not name it any more when it may go on.
  halted,
  /// What the claim doubts is not ours: this file went back, or is a copy.
  outdated,
  /// The request has as many bytes as it may have: nothing was claimed, or looked for.
  full,
};

/// A claimed row, as much of it as decisions need.
struct ClaimedRow {
  MessageKey key = 0;
  std::uint64_t sequence = 0;
  /// The guard of its settle: counts claims of this row.
  std::uint32_t attempt = 0;
  std::uint32_t retryCount = 0;
  std::uint32_t dataBytes = 0;
  WallTime enqueuedAt{};
  std::optional<WallTime> expiresAt;
  /// The delay that it was enqueued with: its horizon counts from there.
  std::optional<WallTime> notBefore = {};
  /// The file does not hold what was written: it must not be sent.
  bool isDamaged = false;
};

/// A row that was asked for and is deferred already: watch its deadline instead.
struct DeferredRow {
  MessageKey key = 0;
  WallTime dueAt{};
};

struct SessionClaimed {
  SessionKey session = 0;
  ClaimStatus status = ClaimStatus::claimed;
  WallTime dueAt{};
  /// For `notDue`: the row that `dueAt` is of; 0: it is the session's.
  MessageKey delayed = 0;
  /// The session's by now; nothing for units.
  std::optional<std::uint8_t> priority = {};
  /// The sequence before the first row that the sender stands by.
  std::uint64_t previousSequence = 0;
  /// The highest sequence that the peer is known to have accepted from this file.
  std::uint64_t confirmedSequence = 0;
  /// Always a prefix of what was asked for once rows that are gone or deferred are left out.
  std::vector<ClaimedRow> rows;
  std::vector<DeferredRow> deferred;
};

/// One guarded state change. Applied only if the row is in the transition's source state and, for `sending`, still
/// this owner's claim number `attempt`; otherwise a benign no-op.
struct Settlement {
  MessageKey key = 0;
  SessionKey session = 0;
  std::uint32_t attempt = 0;
  std::uint64_t sequence = 0;
  MessageState from = MessageState::sending;
  Transition transition = Transition::release;
  /// For `retry`: the next attempt. For `defer`: the ACK deadline. For `release`: the next attempt, where the row has
  /// to wait for it.
  WallTime dueAt{};
  /// For `fail`: stable and short.
  std::string reason;
  /// For `fail`: the session stops until someone lets it go on.
  bool blocks = false;
  /// For `fail`: the dead letter is thrown away at once.
  bool discards = false;
  /// The last error, truncated by the store. Of a row that was in flight, or whose ACK did not come, it makes an entry
  /// in the row's log of attempts, unless the row was acknowledged or deferred.
  std::string error;
  /// For that entry: how long the request took, and the HTTP status of its answer; 0: there was none.
  std::optional<std::chrono::milliseconds> took = {};
  int status = 0;
  /// Carried to the events.
  std::uint32_t retryCount = 0;
  bool duplicate = false;
  std::string result;
  /// For `defer`: since when the peer has had no application for frames of this type; nothing: it has one.
  std::optional<WallTime> unattendedSince = {};
  /// The recalls that were known when the row was claimed. If its session's rows were put back since, the peer has
  /// forgotten what it said: an `ack` or `defer` then only gives the row back.
  std::int64_t recalls = std::numeric_limits<std::int64_t>::max();
  /// The answer that it comes from has itself shown that the peer went back: it was given after that, and counts
  /// whatever is put back for it.
  bool isAfterReset = false;
};

/// The longest wait that is not firm, whether a stored instant or a peer asks for it. A stored instant further ahead
/// was written by a clock that was set back since.
inline constexpr std::chrono::milliseconds kWaitMax = std::chrono::hours(1);

/// The end of a session's claim.
struct SessionRelease {
  SessionKey session = 0;
  /// As above: if rows were put back since, neither `previousSequence` nor `head` counts.
  std::int64_t recalls = std::numeric_limits<std::int64_t>::max();
  /// As above, of an answer that took something of the session: then `previousSequence` counts where it is higher.
  bool isAfterReset = false;
  /// The session's next attempt; default: at once.
  WallTime dueAt{};
  /// The new predecessor on the wire, when it changed.
  std::optional<std::uint64_t> previousSequence;
  /// `dueAt` was chosen, and stands however far ahead it is: see `kWaitMax`.
  bool isFirm = false;
  /// The first message that waits in the session; 0: none that is known.
  MessageKey head = 0;
};

/// Whether a peer that is down has refused us. Persisted: never renumber.
enum class PeerHold : std::uint8_t {
  none = 0,
  /// It refuses us: probed at the slowest pace.
  held = 1,
  /// It is gone for good: not probed until someone resumes it.
  disabled = 2,
};

/// A peer's health as `explain` and other processes see it.
struct PeerRecord {
  PeerKey peer = 0;
  bool down = false;
  PeerHold hold = PeerHold::none;
  std::uint32_t failures = 0;
  WallTime downSince{};
  WallTime nextProbeAt{};
  std::string error;
};

/// The peer's circuit as people see it.
[[nodiscard]] constexpr PeerState stateOf(const PeerRecord& record, bool isPaused) noexcept {
  if (isPaused) {
    return PeerState::paused;
  }
  if (!record.down) {
    return PeerState::up;
  }
  switch (record.hold) {
    case PeerHold::held:
      return PeerState::held;
    case PeerHold::disabled:
      return PeerState::disabled;
    case PeerHold::none:
      break;
  }
  return PeerState::down;
}

/// What an answer has shown of a peer's memory, or of ours.
struct PeerIdentity {
  PeerKey peer = 0;
  /// What was found; nothing: the peer has only named its store, for the first time or after it was opened again.
  std::optional<PeerResetKind> found = {};
  /// The peer's store, and how often it was opened; empty and 0: it does not say.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// Where it was found; 0: in no session.
  SessionKey session = 0;
  /// In that session: how far the peer was known to be, and what it says it has accepted.
  std::uint64_t expected = 0;
  std::uint64_t accepted = 0;
  /// For `peerRestored`: nothing that this run has reported before explains it.
  bool isFresh = false;
};

/// What people have ordered for a peer, and how the file last knew it.
struct PeerHolds {
  PeerRecord record;
  bool isPaused = false;
  /// Counts `resume`s: when it grows, the peer is probed at once.
  std::int64_t resumes = 0;
};

/// The standing orders at one instant: all peers, and every session that must not be claimed.
struct HoldSnapshot {
  std::vector<PeerHolds> peers;
  /// Paused or blocked, in key order.
  std::vector<SessionKey> sessions;
};

}  // namespace ackbox::delivery
