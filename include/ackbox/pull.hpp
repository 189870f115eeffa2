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

/// Takes messages out of an outbox and settles them: for a program with a scheduler of its own, and for a sink that
/// fetches its messages. It needs no sender. Either a run of the manager delivers or claims do, see `claim`. Any number
/// of objects may be made from one manager; they share its claims.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: shares the manager's open file. A claim lasts as long as the manager: `OutboxManager::stop` and the
/// manager's destruction put back what is not settled.
class PullConsumer {
public:
  explicit PullConsumer(OutboxManager& manager);

  /// Takes up to `limit` (at most 10,000) messages that are due now, for the caller to deliver. Order: the oldest of a
  /// session first, and no second one of a session before the first is settled, so that no caller can break the order;
  /// sessions and peers take turns. What `OutboxManager::start` would not send now is not claimed either. Other
  /// processes and other threads never get the same message meanwhile.
  ///
  /// Costs one transaction without an fsync; the first call reads as much of the backlog as it takes to find `limit`.
  /// Returns what was claimed; nothing when nothing is due. Never waits for messages. There is no
  /// notification: call it after your own enqueues and on a timer.
  /// Throws `Error`: `alreadyRunning` (a run is under way: claims and runs exclude each other, and `start`,
  /// `asyncRun`, `drainOnce` and `processAll` throw it while claims are not settled), and as `OutboxManager::enqueue`;
  /// then nothing was claimed.
  std::vector<Claim> claim(std::size_t limit);

  /// Says what became of a claimed message. `ack` retires it; `defer` waits for `OutboxManager::ack`; `nack` is charged
  /// and tried again, not before `FrameResult::retryAfter`, or given up by the `RetryPolicy`; `term` gives it up.
  /// Subscribers are called in the calling thread, or in that of another such call that is calling them already.
  ///
  /// Not fsynced: a power cut that takes it back makes the message due again.
  /// Returns `settled`, or `late`, which is benign.
  /// Throws `Error`: `invalidTransition` for a claim that was settled or released before, or never given out, and as
  /// `OutboxManager::enqueue`; then the outcome is not in the file yet: the same call may be repeated, and the next
  /// call of any of these members commits it, too.
  SettleStatus settle(const Claim& claim, const FrameResult& result);
  SettleStatus settle(const Claim& claim, Outcome outcome);

  /// Settles several claims in one transaction. Returns one status for each, in order. Throws as `settle`; when one of
  /// them is an `invalidTransition`, nothing was changed.
  std::vector<SettleStatus> settleAll(std::span<const ClaimResult> results);

  /// Puts a claimed message back without a charge. With a `peerError` its peer counts as away: nothing of that peer is
  /// claimed before its next probe, see `PeerHealthPolicy`. Returns and throws as `settle`.
  SettleStatus release(const Claim& claim, std::string_view peerError = {});

  /// Takes back what was claimed at least `threshold` ago and is not settled. Each such message is charged a failed
  /// attempt, so that a message that hangs every consumer ends as a dead letter; a settle that still comes is `late`.
  /// What a dead process had claimed is put back without a charge and without waiting. Nothing calls it by itself: only
  /// the caller knows how long its work may take. Allowed while a run is under way. Throws as `OutboxManager::enqueue`.
  RecoverReport recoverStuck(std::chrono::milliseconds threshold);

private:
  std::shared_ptr<manager::Core> core_;
};

}  // namespace ackbox
