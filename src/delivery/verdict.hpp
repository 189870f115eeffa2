#pragma once

#include <string>

#include "delivery/machine.hpp"
#include "delivery/open_clock.hpp"

namespace ackbox::delivery {

/// The outcome of one frame.
struct Verdict {
  Transition transition = Transition::release;
  /// For `fail`.
  std::string reason;
  /// For `fail`: see `Settlement`.
  bool blocks = false;
  bool discards = false;
  /// For `retry` and `defer`. For `release`: how long the row waits; 0: not at all.
  std::chrono::milliseconds delay{0};
  /// What went wrong while the verdict was reached; added to the error.
  std::string note;
};

/// Whether a row is older than the horizon of its policy, see `OpenClock::hasPassed`.
[[nodiscard]] bool horizonPassed(const RetryPolicy& retry, const ClaimedRow& row, const OpenClock& clock,
                                 std::chrono::milliseconds grace, const Now& now);

/// Why a claimed row must not be sent any more: `damaged`, `expired`, `horizon`, or empty. `isWithPeer`: the peer has
/// deferred it, and judges its expiry.
[[nodiscard]] std::string whyNotSend(const ClaimedRow& row, bool isWithPeer, bool isPastHorizon, WallTime now);

/// The verdict on a nack that is charged to the message: a retry, or a dead letter once retries or horizon are used up.
[[nodiscard]] Verdict chargedVerdict(const RetryPolicy& retry, const ClaimedRow& row, const FrameResult& result,
                                     bool isPastHorizon, WallTime now, Random& random);

/// Whether a nack reports that a limit of the receiver is reached, which is not the message's fault.
[[nodiscard]] bool isOverLimit(const FrameResult& result);

/// The verdict on such a nack: tried again after the delay that the receiver asks for, or after one that grows with the
/// row's claims up to minutes. Not charged; the horizon still applies.
[[nodiscard]] Verdict unchargedVerdict(const ClaimedRow& row, const FrameResult& result, bool isPastHorizon,
                                       Random& random);

/// The text to keep as the last error of a message that got `result`: its detail, or else its code. For a limit both,
/// because the receiver's operator has to know which limit it is.
[[nodiscard]] std::string errorText(const FrameResult& result);

/// Changes the policy's verdict as `decision` says.
void apply(const FailureDecision& decision, WallTime now, Verdict& verdict);

/// Whether the peer has the frame.
[[nodiscard]] inline bool isTaken(const FrameResult& result) {
  return result.outcome == Outcome::ack || result.outcome == Outcome::defer;
}

/// Whether the peer has seen a later epoch of this store: not the message's fault, and no retry would help.
[[nodiscard]] bool isStale(const FrameResult& result);

/// A rejection: the peer's code is the reason.
[[nodiscard]] Verdict termVerdict(const FrameResult& result);

[[nodiscard]] Settlement settlementOf(SessionKey session, const ClaimedRow& row, Verdict verdict, WallTime now);

}  // namespace ackbox::delivery
