#pragma once

#include <string>

#include "delivery/machine.hpp"

namespace ackbox::delivery {

/// What becomes of one frame.
struct Verdict {
  Transition transition = Transition::release;
  /// For `fail`.
  std::string reason;
  /// For `fail`: see `Settlement`.
  bool blocks = false;
  bool discards = false;
  /// For `retry` and `defer`.
  std::chrono::milliseconds delay{0};
  /// What went wrong while it was found; added to the error.
  std::string note;
};

/// Why a claimed row must not be sent any more: `expired`, `horizon`, or empty.
[[nodiscard]] std::string whyNotSend(const RetryPolicy& retry, const ClaimedRow& row, WallTime now);

/// A nack that is the message's own: tried again later, or given up when budget or horizon is spent.
[[nodiscard]] Verdict chargedVerdict(const RetryPolicy& retry, const ClaimedRow& row, const FrameResult& result,
                                     WallTime now, Random& random);

/// What `decision` makes of a verdict by policy.
void apply(const FailureDecision& decision, WallTime now, Verdict& verdict);

/// The peer has seen a later life of this store: not the message's fault, and no number of it would do.
[[nodiscard]] bool isStale(const FrameResult& result);

/// A rejection: the peer's code is the reason.
[[nodiscard]] Verdict termVerdict(const FrameResult& result);

/// The settlement of a claimed row by a verdict.
[[nodiscard]] Settlement settlementOf(SessionKey session, const ClaimedRow& row, Verdict verdict, WallTime now);

}  // namespace ackbox::delivery
