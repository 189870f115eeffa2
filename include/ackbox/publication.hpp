#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/frame.hpp"

namespace ackbox {

/// A peer that gets what is published (`OutboxManager::publish`), as the file keeps it.
struct PeerSubscription {
  /// 1 to 256 bytes of UTF-8 without control characters, once in the file.
  std::string name = {};
  /// A peer that the file knows.
  std::string peer = {};
  /// The frames that it gets, by their type: equal to it, or beginning with what stands before a `*` at its end. 1 to
  /// 256 bytes.
  std::string type = "*";
  /// The same by the frame's session. Empty: any, and also frames without a session.
  std::string session = {};
  /// When it was subscribed, or last changed. Ignored by `OutboxOperator::subscribe`.
  WallTime since{};
};

/// The expected outcomes of a publish. All but `stored` leave the store unchanged, apart from the idempotency key.
enum class PublishStatus : std::uint8_t {
  /// Durable; there is one message for each subscriber.
  stored,
  /// The idempotency key was used before: the receipt has the messages of the first use, of which there may be none.
  duplicate,
  /// No subscription fits the frame: nothing was stored, and nobody will get it.
  noSubscriber,
  /// The messages together would exceed `maxPending` or `maxPendingBytes`: none was stored.
  queueFull,
  /// `data` is larger than `frameBytesMax`.
  frameTooLarge,
  /// The frame breaks a rule of `Frame`, or has an id; the receipt's `detail` names the field.
  invalidFrame,
};

/// The status's name, as printed: `"stored"`, `"noSubscriber"`, …
[[nodiscard]] std::string_view toString(PublishStatus status) noexcept;

/// A subscriber's message.
struct PublishedMessage {
  std::string peer = {};
  std::string messageId = {};
  /// Its number in the subscriber's session, from 1; 0 if it is unordered.
  std::uint64_t sequence = 0;
  /// As `EnqueueReceipt::supersededId`.
  std::string supersededId = {};
};

/// The result of one publish.
struct PublishReceipt {
  PublishStatus status = PublishStatus::stored;
  /// One for each subscriber, in the order in which the file came to know the peers.
  std::vector<PublishedMessage> messages = {};
  /// What is wrong and what to do, in a sentence; empty if each subscriber has a message.
  std::string detail = {};
  /// As `EnqueueReceipt::isConflict`.
  bool isConflict = false;

  /// True if the messages were stored, by this call or by an earlier one.
  [[nodiscard]] bool accepted() const noexcept {
    return status == PublishStatus::stored || status == PublishStatus::duplicate;
  }
  /// True when this very call stored them.
  [[nodiscard]] bool isNew() const noexcept { return status == PublishStatus::stored; }
};

/// Stands for all subscribers, where a program's text names a frame's peer. No peer has this name.
inline constexpr std::string_view kAllSubscribers = "*";

}  // namespace ackbox
