#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ackbox/claim.hpp"
#include "ackbox/error.hpp"
#include "ackbox/sender.hpp"

namespace ackbox {

class OutboxManager;

namespace manager {
class Core;
}

/// Claims messages of an outbox and settles them: for a program with a scheduler of its own, and for a destination that
/// fetches its messages. It needs no sender. Messages are delivered either by a run of the manager or by claims, see
/// `claim`. Any number of objects may be made from one manager; they share its claims.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: shares the manager's open file. A claim lasts as long as the manager: `OutboxManager::stop` and the
/// manager's destruction put back unsettled claims.
class PullConsumer {
public:
  explicit PullConsumer(OutboxManager& manager);

  /// Claims up to `limit` (at most 10,000) messages that are due now, for the caller to deliver. Order: the oldest of a
  /// session first, and the next one only when that is settled, so that no caller can break the order; sessions and
  /// peers take turns. A message that `OutboxManager::start` would not send now is not claimed. No other process and no
  /// other thread gets the same message meanwhile.
  ///
  /// Costs one transaction without an fsync; the first call reads as much of the backlog as it takes to find `limit`.
  /// Returns the claims; empty if nothing is due. Never waits for messages, and there is no notification: call it after
  /// the program's own enqueues and on a timer.
  /// Throws `Error`: `alreadyRunning` (a run is under way: claims and runs exclude each other, and `start`, `asyncRun`,
  /// `drainOnce` and `processAll` throw it while claims are not settled), and as `OutboxManager::enqueue`; then nothing
  /// was claimed.
  std::vector<Claim> claim(std::size_t limit);

  /// Settles a claimed message. `ack` retires it; `defer` makes it wait for `OutboxManager::ack`; `nack` is charged,
  /// and the message is tried again, not before `FrameResult::retryAfter`, or made a dead letter by the `RetryPolicy`;
  /// `term` makes it one. Subscribers are called on the calling thread, or on the thread of another such call that is
  /// already calling them.
  ///
  /// Not fsynced: if a power cut undoes it, the message is due again.
  /// Returns `settled`, or `late`, which is benign.
  /// Throws `Error`: `invalidTransition` for a claim that was settled or released before, or never given out, and as
  /// `OutboxManager::enqueue`; then the outcome is not in the file yet: the same call may be repeated, and the next
  /// call of any of these members commits it, too.
  SettleStatus settle(const Claim& claim, const FrameResult& result);
  SettleStatus settle(const Claim& claim, Outcome outcome);

  /// Settles several claims in one transaction. Returns one status for each, in order. Throws as `settle`; if one of
  /// them is an `invalidTransition`, nothing was changed.
  std::vector<SettleStatus> settleAll(std::span<const ClaimResult> results);

  /// Puts a claimed message back without a charge. With a `peerError` its peer counts as unreachable: no message of
  /// that peer is claimed before its next probe, see `PeerHealthPolicy`. Returns and throws as `settle`.
  SettleStatus release(const Claim& claim, std::string_view peerError = {});

  /// Takes back unsettled claims made at least `threshold` ago. Each such message is charged a failed attempt, so that
  /// a message that hangs every consumer ends as a dead letter; a settle that comes later is `late`. Claims of a dead
  /// process are put back without a charge and without waiting. Never called automatically: only the caller knows how
  /// long its work may take. Allowed while a run is under way. Throws as `OutboxManager::enqueue`.
  RecoverReport recoverStuck(std::chrono::milliseconds threshold);

private:
  std::shared_ptr<manager::Core> core_;
};

}  // namespace ackbox
