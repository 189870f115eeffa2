#pragma once

#include <optional>

#include "ackbox/clock.hpp"

namespace ackbox::store {

/// Whether a wait until `dueAt` is over. One that is not firm, and is longer than any, is a wrong clock's.
[[nodiscard]] bool isDue(WallTime dueAt, bool isFirm, WallTime now);

/// Until when a pending row waits; nothing if it may be sent. The backoff of an ordered row is in its session, so only
/// the delay of its enqueue counts; an unordered row has its own backoff. `waited`: it has waited out its full delay on
/// the monotonic clock.
[[nodiscard]] std::optional<WallTime> waitsUntil(WallTime dueAt, WallTime enqueuedAt, bool wasTried, bool unordered,
                                                 bool waited, WallTime now);

}  // namespace ackbox::store
