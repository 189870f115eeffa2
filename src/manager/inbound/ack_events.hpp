#pragma once

#include <span>

#include "store/store.hpp"

namespace ackbox::manager {

/// Enqueues the outcomes of deferred frames to their senders, if these are peers of this agent by their agent URIs: one
/// event for each peer, or a few if one would be too large.
void enqueueAckEvents(store::Store& store, std::span<const store::InboxEnding> ends);

}  // namespace ackbox::manager
