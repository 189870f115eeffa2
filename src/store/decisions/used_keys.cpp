#include "store/decisions/used_keys.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::store {

WallTime extendedUntil(WallTime now, std::chrono::milliseconds retention) {
  return now + std::max<std::chrono::milliseconds>(retention, std::chrono::minutes(1));
}

EnqueueReceipt firstOf(const PublishReceipt& receipt) {
  EnqueueReceipt first;
  if (!receipt.messages.empty()) {
    first.messageId = receipt.messages.front().messageId;
    first.sequence = receipt.messages.front().sequence;
  }
  return first;
}

PublishReceipt repeatedPublish(const EnqueueReceipt& first, std::vector<PublishedMessage> messages) {
  PublishReceipt receipt{PublishStatus::duplicate, std::move(messages), {}, first.isConflict};
  if (receipt.messages.empty()) {
    receipt.detail = "nobody had subscribed when the key was first used: nothing was stored then or now";
  }
  return receipt;
}

}  // namespace ackbox::store
