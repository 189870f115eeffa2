#pragma once

#include <chrono>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "delivery/types.hpp"

namespace ackbox::store {

/// In the place of an idempotency key's peer: the key is of a publish.
inline constexpr delivery::PeerKey kOfPublish = 0;

/// Until when a key is kept whose retention is over while its message is still there: by the retention, but at least
/// by a minute, so that it is not looked at again and again.
[[nodiscard]] WallTime extendedUntil(WallTime now, std::chrono::milliseconds retention);

/// What a key of a publish remembers itself: the first of its messages, if there is one.
[[nodiscard]] EnqueueReceipt firstOf(const PublishReceipt& receipt);

/// The receipt of a publish with a key that was used before: `first` is what the key remembers, `messages` are those of
/// the publish.
[[nodiscard]] PublishReceipt repeatedPublish(const EnqueueReceipt& first, std::vector<PublishedMessage> messages);

}  // namespace ackbox::store
