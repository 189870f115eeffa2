#pragma once

#include <chrono>

#include "delivery/machine.hpp"

namespace ackbox::delivery {

/// The decisions of a machine that no store transaction carries yet. A step takes all of them; the decisions of a
/// failed step come back in front, because later decisions depend on them.
///
/// Thread-safety: none.
class PendingStep {
public:
  /// Moves all actions out of `decided` except the sends, which need no store.
  void add(Actions&& decided);

  [[nodiscard]] bool isEmpty() const noexcept { return !hasDecisions() && gathered_.claims.empty(); }
  /// Whether anything other than claims waits, which a failure must not lose.
  [[nodiscard]] bool hasDecisions() const noexcept;
  /// Whether at most one message is settled and at most one claimed: cheap enough to commit at once.
  [[nodiscard]] bool isLone() const;
  [[nodiscard]] std::size_t claims() const noexcept { return gathered_.claims.size(); }

  /// Makes room for the settlements of `messages` messages.
  void reserve(std::size_t messages);

  /// Takes the next step, which must be committed or returned by `putBack`.
  [[nodiscard]] Actions take() noexcept;

  /// A step could not be committed: its decisions are kept, in front of those made since. Its claims end, and the
  /// machine decides them again after `pause`; `later` receives the resulting actions. `isTooLarge`: see
  /// `Machine::claimFailed`.
  void putBack(Actions&& step, Machine& machine, std::chrono::milliseconds pause, bool isTooLarge, const Now& now,
               Actions& later);

  /// Ends the claims that no step carries yet: no more messages are claimed.
  void dropClaims(Machine& machine, const Now& now, Actions& later);

private:
  Actions gathered_;
};

}  // namespace ackbox::delivery
