#pragma once

#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"

namespace ackbox {

/// A publish as one enqueue, where only enqueues are known (trace hooks, statuses of HTTP): the outcome of the publish,
/// and its first message.
inline EnqueueReceipt asEnqueue(const PublishReceipt& published) {
  const auto statusOf = [](PublishStatus status) {
    switch (status) {
      case PublishStatus::stored:
        return EnqueueStatus::stored;
      case PublishStatus::duplicate:
        return EnqueueStatus::duplicate;
      case PublishStatus::noSubscriber:
        return EnqueueStatus::unknownPeer;
      case PublishStatus::queueFull:
        return EnqueueStatus::queueFull;
      case PublishStatus::frameTooLarge:
        return EnqueueStatus::frameTooLarge;
      case PublishStatus::invalidFrame:
        break;
    }
    return EnqueueStatus::invalidFrame;
  };
  EnqueueReceipt first{statusOf(published.status), {}, 0, published.detail};
  first.isConflict = published.isConflict;
  if (!published.messages.empty()) {
    first.messageId = published.messages.front().messageId;
    first.sequence = published.messages.front().sequence;
  }
  return first;
}

}  // namespace ackbox
