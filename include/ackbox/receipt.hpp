#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox {

/// The expected outcomes of an enqueue. All but `stored` leave the store unchanged.
enum class EnqueueStatus : std::uint8_t {
  /// Durable; it will be delivered or end as a dead letter with a reason.
  stored,
  /// A message to this peer with this idempotency key was enqueued before, or one with this id is in the store, in any
  /// state; the receipt names it. The id of a message that was acknowledged and deleted can be used again; its
  /// idempotency key only when `OutboxOptions::idempotencyRetention` is over.
  duplicate,
  /// `maxPending` or `maxPendingBytes` is reached: slow down and try again.
  queueFull,
  /// `data` is larger than `frameBytesMax`.
  frameTooLarge,
  /// The frame breaks a rule of `Frame`; the receipt's `detail` names the field.
  invalidFrame,
  /// No peer of this name was configured.
  unknownPeer,
};

/// The status's name, as printed: `"stored"`, `"queueFull"`, …
[[nodiscard]] std::string_view toString(EnqueueStatus status) noexcept;

/// What an enqueue does if the queue is full.
enum class WhenFull : std::uint8_t {
  /// It answers `queueFull` at once.
  refuse,
  /// It waits until there is room, behind the enqueues that already wait; see `OutboxManager::enqueueThen`.
  wait,
};

/// The result of one enqueue.
struct EnqueueReceipt {
  EnqueueStatus status = EnqueueStatus::stored;
  /// The message's id, given or generated; for a duplicate, the first message's. Empty if the frame was refused before
  /// it had an id.
  std::string messageId = {};
  /// The message's number in its session, from 1; for a duplicate, the first message's. 0 if refused or unordered.
  std::uint64_t sequence = 0;
  /// For a refusal: what is wrong and what to do, in a sentence.
  std::string detail = {};
  /// The pending message that this one replaced by its `supersedeKey`, the latest if there were several; empty if none.
  /// The peer may have applied it all the same, if a process was killed before it had the peer's answer.
  std::string supersededId = {};

  /// Of a duplicate by its idempotency key: the key was given for another session, type or data, so the first message
  /// is not this one, which was not stored. Use another key.
  bool isConflict = false;

  /// True if the message was stored, by this call or by an earlier one.
  [[nodiscard]] bool accepted() const noexcept {
    return status == EnqueueStatus::stored || status == EnqueueStatus::duplicate;
  }
  /// True when this very call stored it.
  [[nodiscard]] bool isNew() const noexcept { return status == EnqueueStatus::stored; }
};

}  // namespace ackbox
