#pragma once

#include <optional>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/receipt.hpp"
#include "store/types.hpp"

namespace ackbox::store {

/// The refusal of `frame` regardless of the queue: its peer is unknown or it is too large.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFrame(const Frame& frame, bool peerKnown,
                                                        const OutboxOptions& options);

/// The refusal of `frame` by a queue with the fill `fill`, without the messages that it replaces.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFull(const Frame& frame, const Fill& fill,
                                                       const OutboxOptions& options);

}  // namespace ackbox::store
