#include "store/decisions/due.hpp"

#include "delivery/types.hpp"

namespace ackbox::store {

bool isDue(WallTime dueAt, bool isFirm, WallTime now) {
  return dueAt <= now || (!isFirm && dueAt > now + delivery::kWaitMax);
}

std::optional<WallTime> waitsUntil(WallTime dueAt, WallTime enqueuedAt, bool wasTried, bool unordered, bool waited,
                                   WallTime now) {
  if (dueAt <= now || (wasTried && (!unordered || isDue(dueAt, false, now)))) {
    return std::nullopt;
  }
  if (wasTried || enqueuedAt <= now) {
    return dueAt;
  }
  // The clock is before the enqueue: it was set back, and does not show how much of the delay is over.
  return waited ? std::nullopt : std::optional(now + (dueAt - enqueuedAt));
}

}  // namespace ackbox::store
