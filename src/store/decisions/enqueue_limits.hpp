#pragma once

#include <cstddef>
#include <optional>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "store/types.hpp"

namespace ackbox::store {

/// The refusal of `frame` regardless of the queue: its peer is unknown or it is too large.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFrame(const Frame& frame, bool peerKnown,
                                                        const OutboxOptions& options);

/// The refusal of `frame` by a queue with the fill `fill`, without the messages that it replaces.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFull(const Frame& frame, const Fill& fill,
                                                       const OutboxOptions& options);

/// `fill` with the other messages of a publish of `frame` to `subscribers`.
[[nodiscard]] Fill withOthers(Fill fill, const Frame& frame, std::size_t subscribers);

/// The refusal of a publish regardless of the queue: it has an id of its own, or is too large for so many.
[[nodiscard]] std::optional<PublishReceipt> refusePublish(const Frame& frame, std::size_t subscribers,
                                                          const OutboxOptions& options);

/// The refusal of a publish whose messages the queue refuses with `refusal`.
[[nodiscard]] PublishReceipt refusedFull(const EnqueueReceipt& refusal, std::size_t subscribers);

/// The receipt of a publish that nobody has subscribed to.
[[nodiscard]] PublishReceipt publishedToNobody();

}  // namespace ackbox::store
