#pragma once

#include <string>

#include "delivery/machine.hpp"
#include "delivery/open_clock.hpp"

namespace ackbox::delivery {

/// What becomes of one frame.
struct Verdict {
  Transition transition = Transition::release;
  /// For `fail`.
  std::string reason;
  /// For `fail`: see `Settlement`.
  bool blocks = false;
  bool discards = false;
  /// For `retry` and `defer`. For `release`: how long the row waits; 0: not at all.
  std::chrono::milliseconds delay{0};
  /// What went wrong while it was found; added to the error.
  std::string note;
};

/// Whether a row is older than its policy has patience for, see `OpenClock::hasPassed`.
[[nodiscard]] bool horizonPassed(const RetryPolicy& retry, const ClaimedRow& row, const OpenClock& clock,
                                 std::chrono::milliseconds grace, const Now& now);

/// Why a claimed row must not be sent any more: `damaged`, `expired`, `horizon`, or empty.
[[nodiscard]] std::string whyNotSend(const ClaimedRow& row, bool isPastHorizon, WallTime now);

/// A nack that is the message's own: tried again later, or given up when budget or horizon is spent.
[[nodiscard]] Verdict chargedVerdict(const RetryPolicy& retry, const ClaimedRow& row, const FrameResult& result,
                                     bool isPastHorizon, WallTime now, Random& random);

/// Whether a nack says that a limit of the receiver's is reached: the receiver's state, and not the message's fault.
[[nodiscard]] bool isOverLimit(const FrameResult& result);

/// The verdict on such a nack: tried again after what the receiver asks for, or after a delay that grows with the row's
/// claims up to minutes. Charged nothing; the horizon counts as ever.
[[nodiscard]] Verdict unchargedVerdict(const ClaimedRow& row, const FrameResult& result, bool isPastHorizon,
                                       Random& random);

/// What is kept as the last error of a message that got `result`: what it says for people, or else its code. Of a limit
/// both, because the receiver's operator has to know which one it is.
[[nodiscard]] std::string errorText(const FrameResult& result);

/// What `decision` makes of a verdict by policy.
void apply(const FailureDecision& decision, WallTime now, Verdict& verdict);

/// Whether the peer has the frame.
[[nodiscard]] inline bool isTaken(const FrameResult& result) {
  return result.outcome == Outcome::ack || result.outcome == Outcome::defer;
}

/// The peer has seen a later life of this store: not the message's fault, and no number of it would do.
[[nodiscard]] bool isStale(const FrameResult& result);

/// A rejection: the peer's code is the reason.
[[nodiscard]] Verdict termVerdict(const FrameResult& result);

[[nodiscard]] Settlement settlementOf(SessionKey session, const ClaimedRow& row, Verdict verdict, WallTime now);

}  // namespace ackbox::delivery
