#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"

namespace ackbox {

/// What every message event carries.
struct MessageEvent {
  std::string messageId;
  std::string peer;
  std::string session;
  std::uint64_t sequence = 0;
};

/// The peer holds the message durably (it deferred it) or has taken it into effect (`AckedEvent` follows).
struct SentEvent : MessageEvent {};

/// The message is retired: the peer has taken it into effect.
struct AckedEvent : MessageEvent {
  /// The peer had processed it before; this was a repetition.
  bool duplicate = false;
  /// JSON text that the peer's handler answered with; empty when none.
  std::string result;
};

/// The message became a dead letter.
struct FailedEvent : MessageEvent {
  /// Short and stable: `rejected`, `retry-budget`, `retry-policy`, `horizon`, `expired`, `peer-killer`,
  /// `discarded-by-policy` (the only one whose message is gone), the peer's own code, or what `markFailed` or a
  /// `FailureDecision` was given.
  std::string reason;
  /// The last error, for people.
  std::string error;
};

/// The message will be tried again.
struct RetryEvent : MessageEvent {
  /// Charged attempts so far.
  std::uint32_t retryCount = 0;
  /// Not before this instant.
  WallTime nextAttemptAt;
  std::string error;
};

/// The message was taken away before it was sent: one with the same `Frame::supersedeKey` has come after it.
struct SupersededEvent : MessageEvent {
  std::string supersededById;
  std::uint64_t supersededBySequence = 0;
};

/// Keeps one callback subscribed; its end unsubscribes.
///
/// Thread-safety: may be destroyed on any thread, also inside its own callback. When the destructor returns on another
/// thread than the callback's, the callback is not running and will not run again.
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
