#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox {

/// The expected outcomes of an enqueue. All but `stored` leave the store unchanged.
enum class EnqueueStatus : std::uint8_t {
  /// Durable; it will be delivered or end as a dead letter with a reason.
  stored,
  /// The same was enqueued before, and the receipt names that message: one with this idempotency key, or one with this
  /// id that is in the store, in any state. The id of a message that was acknowledged and deleted is free again; its
  /// idempotency key is not until `OutboxOptions::idempotencyRetention` is over.
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

/// What an enqueue does when the queue is full.
enum class WhenFull : std::uint8_t {
  /// It answers `queueFull` at once.
  refuse,
  /// It waits until there is room, behind those that wait already; see `OutboxManager::enqueueThen`.
  wait,
};

/// What became of one enqueue.
struct EnqueueReceipt {
  EnqueueStatus status = EnqueueStatus::stored;
  /// The message's id, given or generated; of a duplicate, the first one's. Empty when the frame was refused before it
  /// had one.
  std::string messageId = {};
  /// Its place in its session, counted from 1. 0 when nothing was stored, and for unordered messages.
  std::uint64_t sequence = 0;
  /// For a refusal: what is wrong and what to do, in a sentence.
  std::string detail = {};
  /// The pending message that this one replaced by its `supersedeKey`, the latest if there were several; empty: none.
  /// It may have taken effect at the peer all the same, where a process was killed before it had the peer's answer.
  std::string supersededId = {};

  /// True when the message is in the store's care, from this call or from an earlier one.
  [[nodiscard]] bool accepted() const noexcept {
    return status == EnqueueStatus::stored || status == EnqueueStatus::duplicate;
  }
  /// True when this very call stored it.
  [[nodiscard]] bool isNew() const noexcept { return status == EnqueueStatus::stored; }
};

}  // namespace ackbox
