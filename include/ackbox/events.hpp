#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/peer_status.hpp"

namespace ackbox {

/// What every message event carries.
struct MessageEvent {
  std::string messageId = {};
  std::string peer = {};
  std::string session = {};
  std::uint64_t sequence = 0;
};

/// The peer holds the message durably (it deferred it) or has taken it into effect (`AckedEvent` follows).
struct SentEvent : MessageEvent {
  /// Since when the peer has had no application for such messages, as it says; nothing: it has one, or does not say.
  /// The message waits at the peer, which is asked again.
  std::optional<WallTime> unattendedSince = {};
};

/// The message is retired: the peer has taken it into effect.
struct AckedEvent : MessageEvent {
  /// The peer had processed it before; this was a repetition.
  bool duplicate = false;
  /// JSON text that the peer's handler answered with; empty when none, and of a `duplicate` that was not deferred: the
  /// peer keeps the mark of a frame, not what its handler answered.
  std::string result = {};
};

/// The message became a dead letter.
struct FailedEvent : MessageEvent {
  /// Short and stable: `rejected`, `retry-budget`, `retry-policy`, `horizon`, `expired`, `peer-killer`,
  /// `damaged` (the file does not hold it as it was enqueued: it was not sent), `discarded-by-policy` (the only one
  /// whose message is gone), the peer's own code, or what `markFailed` or a `FailureDecision` was given.
  std::string reason = {};
  /// The last error, for people.
  std::string error = {};
};

/// The message will be tried again: after an attempt that was charged to it, or one that a limit of the receiver's
/// refused (`error` begins with the limit's code, such as `limit-marks`), which is charged to nobody; or because the
/// peer is asked what became of it (`asksAgain`).
struct RetryEvent : MessageEvent {
  /// Charged attempts so far.
  std::uint32_t retryCount = 0;
  /// Not before this instant.
  WallTime nextAttemptAt = {};
  std::string error = {};
  /// The peer has deferred it, and is asked what became of it: nothing has failed, and nothing is charged.
  bool asksAgain = false;
};

/// The message was taken away while it was pending: one with the same `Frame::supersedeKey` has come after it. It may
/// have taken effect at the peer all the same, where a process was killed before it had the peer's answer.
struct SupersededEvent : MessageEvent {
  std::string supersededById = {};
  std::uint64_t supersededBySequence = 0;
};

/// A peer's state has changed, or the cause of it: what holds back all of its messages, or lets them go again.
struct PeerEvent {
  std::string peer = {};
  PeerState state = PeerState::up;
  /// What the last request came to; empty when it answers.
  std::string cause = {};
  /// Since when it does not answer; the epoch when it does.
  WallTime since{};
  /// While `down` or `held`: when it is asked again. Otherwise the epoch.
  WallTime nextProbeAt{};
};

/// Which side lost what it had stored.
enum class PeerResetKind : std::uint8_t {
  /// The peer answers with another store: its database was lost.
  peerLost,
  /// The peer has accepted less of a session than it had: its database was restored from a backup.
  peerRestored,
  /// The peer has accepted of a session a message that this store does not know, or has seen a later epoch of this
  /// store: this file was restored from a backup, or is a copy of one that is in use. Nothing goes to the peer any more
  /// (it is `held`) but probes, because it would take new messages for duplicates of others. Reported once in each run.
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
  /// For `peerRestored`: the session in which it was seen, how far the peer had come in it, and how far it says it has.
  /// For `selfRestored`: where it was seen first, if it was in a session; `accepted` as the peer says, `expected` the
  /// highest number that the peer was known to have of this store.
  std::string session = {};
  std::uint64_t expected = 0;
  std::uint64_t accepted = 0;
  /// Acknowledged messages that are sent again, see `PeerResetPolicy::resend`.
  std::uint64_t resent = 0;
};

/// Keeps one callback subscribed; its end unsubscribes.
///
/// Thread-safety: may be destroyed on any thread, also inside its own callback. When the destructor returns on another
/// thread than the callback's, the callback is not running and will not run again: it waits for a call under way. It is
/// therefore not to be destroyed on the store's thread (in a frame handler, or in an event reported there) while its
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
