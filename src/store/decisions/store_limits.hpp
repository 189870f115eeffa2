#pragma once

#include <cstddef>

namespace ackbox::store {

/// Peers that were added at run time: each costs some memory in every process that has the store open.
inline constexpr std::size_t kAddedPeersMax = 10'000;

/// A publish compares its frame with each subscription, and a publish that fits all writes a row for each.
inline constexpr std::size_t kSubscriptionsMax = 1'000;

/// Numbers of deleted messages that are kept for a session. If more messages in a row are deleted while the peer does
/// not answer, and the peer had accepted one of the first, it is taken to know another file: it is held, and nothing is
/// lost.
inline constexpr int kVacatedNumbersMax = 64;

}  // namespace ackbox::store
