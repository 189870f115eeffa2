#pragma once

#include <chrono>

#include "delivery/machine.hpp"

namespace ackbox::delivery {

/// What a machine has decided and no store transaction carries yet. A step takes all of it; what a failed step had
/// decided comes back in front, because later decisions build on it.
///
/// Thread-safety: none.
class PendingStep {
public:
  /// Everything but the sends, which need no store. Takes it out of `decided`.
  void add(Actions&& decided);

  [[nodiscard]] bool isEmpty() const noexcept { return !hasDecisions() && gathered_.claims.empty(); }
  /// Whether anything but claims waits: what a failure must not lose.
  [[nodiscard]] bool hasDecisions() const noexcept;
  /// At most one message is settled and at most one claimed: cheap enough to be committed at once.
  [[nodiscard]] bool isLone() const;
  [[nodiscard]] std::size_t claims() const noexcept { return gathered_.claims.size(); }

  /// Makes room for so many messages' settlements.
  void reserve(std::size_t messages);

  /// The next step. What is taken must be committed, or come back by `putBack`.
  [[nodiscard]] Actions take() noexcept;

  /// A step could not be committed: its decisions stand and go in front of what was decided since. Its claims end, and
  /// the machine decides them anew after `pause`; `later` receives what follows from that. `isTooLarge`: see
  /// `Machine::claimFailed`.
  void putBack(Actions&& step, Machine& machine, std::chrono::milliseconds pause, bool isTooLarge, const Now& now,
               Actions& later);

  /// Claims that no step carries yet end: nothing is claimed any more.
  void dropClaims(Machine& machine, const Now& now, Actions& later);

private:
  Actions gathered_;
};

}  // namespace ackbox::delivery
