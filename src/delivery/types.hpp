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

/// The outbox row's key, never used twice; keys within a session are in the order of its commits.
using MessageKey = std::int64_t;
using SessionKey = std::int64_t;
using PeerKey = std::int64_t;
using RequestId = std::uint64_t;

/// Both clocks at one moment: delays run on `steady`; stored instants, and comparisons with them, use `wall`.
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
  /// The end of the backoff of its head.
  WallTime dueAt{};
  /// See `Frame::priority`.
  std::uint8_t priority = kPriorityDefault;
  /// Not an ordered session but the queue of a peer's unordered messages of one priority. It is never claimed itself:
  /// each of its messages is claimed as the session `unitOf(key)`, which has no row.
  bool unordered = false;
  std::string name = {};
  /// Not set by the store; filled in by the code that knows the options.
  DeliveryPolicy policy = {};
};

/// The session that consists of this one unordered message.
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
  /// For `sent`: the ACK deadline. For `pending`: the earliest time to send it.
  WallTime dueAt{};
  /// The session's priority, when it may have changed since the session was introduced.
  std::optional<std::uint8_t> priority = {};
};

/// The frame that a peer reports as accepted last in a session. If it is of this file, the peer knows this file.
struct AcceptedFrame {
  std::uint64_t sequence = 0;
  /// The message's id; empty: the peer does not report it.
  std::string id = {};
};

/// The rows of one session that a claim asks for, in order.
struct SessionClaim {
  SessionKey session = 0;
  std::vector<MessageKey> keys;
  /// The key among them that has waited out its full delay on the monotonic clock; 0: none.
  MessageKey waited = 0;
  /// The peer reports this frame as accepted, but has not shown that it belongs to this file: claim only if it does.
  std::optional<AcceptedFrame> doubt = {};
};

/// An upper estimate of a frame's size on the wire: types, ids and session names are 256 bytes at most.
[[nodiscard]] constexpr std::uint64_t wireBytes(std::uint64_t dataBytes) noexcept {
  return dataBytes + 1536;
}

/// The result of one session's claim.
enum class ClaimStatus : std::uint8_t {
  /// This process holds the session now; `rows` are its head, in order.
  claimed,
  /// A live process has it in flight.
  busy,
  /// Its head is in backoff until `dueAt`, set by another process, or must not be sent before `dueAt`.
  notDue,
  /// It is paused, or a dead letter blocks it. `HoldSnapshot` no longer lists it once it may go on.
  halted,
  /// `SessionClaim::doubt` is not of this file: the file was restored from a backup, or is a copy.
  outdated,
  /// The request has reached its limit of bytes or frames: nothing was claimed or searched for.
  full,
};

/// The part of a claimed row that decisions need.
struct ClaimedRow {
  MessageKey key = 0;
  std::uint64_t sequence = 0;
  /// The guard of its settle: counts claims of this row.
  std::uint32_t attempt = 0;
  std::uint32_t retryCount = 0;
  std::uint32_t dataBytes = 0;
  WallTime enqueuedAt{};
  std::optional<WallTime> expiresAt;
  /// The end of the delay that it was enqueued with: its horizon counts from there.
  std::optional<WallTime> notBefore = {};
  /// The stored data is not what was written: the message must not be sent.
  bool isDamaged = false;
};

/// A row that was asked for but is already deferred: watch its deadline instead.
struct DeferredRow {
  MessageKey key = 0;
  WallTime dueAt{};
};

struct SessionClaimed {
  SessionKey session = 0;
  ClaimStatus status = ClaimStatus::claimed;
  WallTime dueAt{};
  /// For `notDue`: the row that `dueAt` belongs to; 0: it belongs to the session.
  MessageKey delayed = 0;
  /// The session's current priority; nothing for units.
  std::optional<std::uint8_t> priority = {};
  /// The predecessor's sequence that the sender states for the first row.
  std::uint64_t previousSequence = 0;
  /// The highest sequence that the peer is known to have accepted from this file.
  std::uint64_t confirmedSequence = 0;
  /// Apart from rows that are gone or deferred, a prefix of the rows asked for.
  std::vector<ClaimedRow> rows;
  std::vector<DeferredRow> deferred;
};

/// One guarded state change. Applied only if the row is in the transition's source state and, for `sending`, still this
/// owner's claim number `attempt`; otherwise a no-op.
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
  /// For `fail`: the reason, stable and short.
  std::string reason = {};
  /// For `fail`: the session stops until an operator lets it go on.
  bool blocks = false;
  /// For `fail`: the dead letter is discarded at once.
  bool discards = false;
  /// The last error, truncated by the store. If the row was in flight, or its ACK did not come, the error becomes an
  /// entry in the row's log of attempts, unless the row was acknowledged or deferred.
  std::string error = {};
  /// For that entry: how long the request took, and the HTTP status of its answer; 0: no answer.
  std::optional<std::chrono::milliseconds> took = {};
  int status = 0;
  /// Carried to the events.
  std::uint32_t retryCount = 0;
  bool duplicate = false;
  std::string result = {};
  /// For `defer`: since when the peer has had no application for frames of this type; nothing: it has one.
  std::optional<WallTime> unattendedSince = {};
  /// The number of recalls known when the row was claimed. If rows of its session were put back since, the peer has
  /// lost its record of them: an `ack` or `defer` then only releases the row.
  std::int64_t recalls = std::numeric_limits<std::int64_t>::max();
  /// The answer itself has shown that the peer was reset. It was given after the reset, so it counts even when rows are
  /// put back because of that reset.
  bool isAfterReset = false;
};

/// The longest wait that is not firm, whether it comes from a stored instant or from a peer. A stored instant further
/// ahead was written by a clock that has since been set back.
inline constexpr std::chrono::milliseconds kWaitMax = std::chrono::hours(1);

/// The end of a session's claim.
struct SessionRelease {
  SessionKey session = 0;
  /// As in `Settlement`: if rows were put back since, neither `previousSequence` nor `head` counts.
  std::int64_t recalls = std::numeric_limits<std::int64_t>::max();
  /// As in `Settlement`, if the answer took a frame of the session: then `previousSequence` counts where it is higher.
  bool isAfterReset = false;
  /// The session's next attempt; default: at once.
  WallTime dueAt{};
  /// The new predecessor on the wire, if it changed.
  std::optional<std::uint64_t> previousSequence;
  /// `dueAt` was chosen deliberately and is kept however far ahead it is: see `kWaitMax`.
  bool isFirm = false;
  /// The first message that waits in the session; 0: none is known.
  MessageKey head = 0;
};

/// Whether a peer that is down has refused this agent. Persisted: never renumber.
enum class PeerHold : std::uint8_t {
  none = 0,
  /// It refuses this agent: probed at the slowest pace.
  held = 1,
  /// It is gone for good: not probed until it is resumed.
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

/// The peer's state as it is shown to operators.
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

/// A finding of an answer about the identity of a peer's store, or about this file.
struct PeerIdentity {
  PeerKey peer = 0;
  /// The reset that was found; nothing: the peer has only named its store, for the first time or after it was reopened.
  std::optional<PeerResetKind> found = {};
  /// The peer's store, and how often it was opened; empty and 0: not reported.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// The session in which it was found; 0: in no session.
  SessionKey session = 0;
  /// In that session: the sequence that the peer was known to have reached, and the one that it reports as accepted.
  std::uint64_t expected = 0;
  std::uint64_t accepted = 0;
  /// For `peerRestored`: no reset that this run reported before explains it.
  bool isFresh = false;
};

/// The operator's orders for a peer, and its last recorded health.
struct PeerHolds {
  PeerRecord record;
  bool isPaused = false;
  /// Counts `resume`s: when it grows, the peer is probed at once.
  std::int64_t resumes = 0;
  /// It was removed from the outbox: nothing is claimed for it.
  bool isRemoved = false;
};

/// The operators' holds at one instant: all peers, and every session that must not be claimed.
struct HoldSnapshot {
  std::vector<PeerHolds> peers;
  /// Paused or blocked, in key order.
  std::vector<SessionKey> sessions;
};

}  // namespace ackbox::delivery
