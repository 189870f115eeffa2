#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/peer_status.hpp"

namespace ackbox {

/// The fields common to all message events.
struct MessageEvent {
  std::string messageId = {};
  std::string peer = {};
  std::string session = {};
  std::uint64_t sequence = 0;
};

/// The peer holds the message durably (it deferred it) or has applied it (`AckedEvent` follows).
struct SentEvent : MessageEvent {
  /// Since when the peer has had no application for such messages, as the peer says; empty if it has one or does not
  /// say. The message waits at the peer, which is asked again.
  std::optional<WallTime> unattendedSince = {};
};

/// The message is retired: the peer has applied it.
struct AckedEvent : MessageEvent {
  /// The peer had processed it before; this was a repetition.
  bool duplicate = false;
  /// The JSON text of the peer's handler; empty if it gave none, and for a `duplicate` that was not deferred, because
  /// the peer keeps the mark of a frame, not its handler's result.
  std::string result = {};
};

/// The message became a dead letter.
struct FailedEvent : MessageEvent {
  /// Short and stable: `rejected`, `retry-budget`, `retry-policy`, `horizon`, `expired`, `peer-killer`, `damaged` (the
  /// file does not hold it as enqueued, so it was not sent), `discarded-by-policy` (the only reason with which the
  /// message is deleted), the peer's own code, or the reason given to `markFailed` or by a `FailureDecision`.
  std::string reason = {};
  /// The last error, for people.
  std::string error = {};
};

/// The message will be tried again: after a charged attempt; after one that a limit of the receiver refused (`error`
/// begins with the limit's code, such as `limit-marks`), which is not charged; or because the peer is asked for the
/// outcome of a deferred message (`asksAgain`).
struct RetryEvent : MessageEvent {
  /// Charged attempts so far.
  std::uint32_t retryCount = 0;
  /// Not before this instant.
  WallTime nextAttemptAt = {};
  std::string error = {};
  /// The peer has deferred it, and is asked for its outcome: nothing has failed, and nothing is charged.
  bool asksAgain = false;
};

/// The message was deleted while it was pending, because a later one has the same `Frame::supersedeKey`. The peer may
/// have applied it all the same, if a process was killed before it had the peer's answer.
struct SupersededEvent : MessageEvent {
  std::string supersededById = {};
  std::uint64_t supersededBySequence = 0;
};

/// A peer's state has changed, or the cause of it: all of its messages are held back, or are sent again.
struct PeerEvent {
  std::string peer = {};
  PeerState state = PeerState::up;
  /// The result of the last request; empty while the peer answers.
  std::string cause = {};
  /// Since when the peer does not answer; the epoch while it does.
  WallTime since{};
  /// While `down` or `held`: when the peer is probed again. Otherwise the epoch.
  WallTime nextProbeAt{};
};

/// Which side lost stored data.
enum class PeerResetKind : std::uint8_t {
  /// The peer answers with another store: its database was lost.
  peerLost,
  /// The peer has accepted less of a session than before: its database was restored from a backup.
  peerRestored,
  /// In a session, the peer has accepted a message that this store does not know, or it has seen a later epoch of this
  /// store: this outbox was restored from a backup, or is a copy of one that is in use. The peer is `held` and gets
  /// only probes, because it would take new messages for duplicates of others. Reported once in each run.
  selfRestored,
};

/// The kind's name, as printed: `"peer-lost"`, `"peer-restored"`, `"self-restored"`.
[[nodiscard]] std::string_view toString(PeerResetKind kind) noexcept;

/// A peer's database and this file do not agree about what was sent and accepted.
struct PeerResetEvent {
  std::string peer = {};
  PeerResetKind kind = PeerResetKind::peerLost;
  /// For `peerLost`: the identities of its store before and now.
  std::string storeBefore = {};
  std::string store = {};
  /// For `peerRestored`: the session in which it was detected, the sequence that the peer had accepted there, and the
  /// one that it reports now. For `selfRestored`: the session, if any, in which it was detected first; `accepted` as
  /// the peer reports it, `expected` the highest sequence of this store that the peer was known to have.
  std::string session = {};
  std::uint64_t expected = 0;
  std::uint64_t accepted = 0;
  /// Acknowledged messages that are sent again, see `PeerResetPolicy::resend`.
  std::uint64_t resent = 0;
};

/// Keeps one callback subscribed; destruction unsubscribes it.
///
/// Thread-safety: may be destroyed on any thread, also inside its own callback. When the destructor returns on a thread
/// other than the callback's, the callback is not running and will not run again: the destructor waits for a call under
/// way. Therefore do not destroy it on the store's thread (in a frame handler, or in an event reported there) while its
/// callback may be in a blocking call of the manager.
/// Lifetime: may outlive the manager.
class Subscription {
public:
  Subscription() = default;
  explicit Subscription(std::shared_ptr<void> slot) : slot_(std::move(slot)) {}

  /// Ends the subscription now.
  void reset() noexcept { slot_.reset(); }

private:
  std::shared_ptr<void> slot_;
};

}  // namespace ackbox
