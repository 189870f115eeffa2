#pragma once

#include <cstdint>
#include <unordered_map>

#include "ackbox/retry_policy.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The messages of one peer with which a connection was lost time and again, in ever smaller requests: one of them may
/// be what kills the peer. Each goes alone until it was answered. In memory only: a restart forgets, and at worst
/// counts again.
class Suspects {
public:
  /// What is known of one of them.
  struct Strike {
    /// Connections lost while it was alone in flight.
    std::uint32_t count = 0;
    /// That often, and for so long, that it is the message's doing.
    bool isKiller = false;
  };

  [[nodiscard]] bool empty() const noexcept { return strikes_.empty(); }
  [[nodiscard]] bool contains(MessageKey key) const { return !strikes_.empty() && strikes_.contains(key); }

  void add(MessageKey key) { strikes_.try_emplace(key); }
  void clear(MessageKey key) {
    if (!strikes_.empty()) {
      strikes_.erase(key);
    }
  }

  /// The connection was lost while `key` was alone in flight. Answers to others are no evidence against it: what fails
  /// at one message today may be mended tomorrow, so patience is needed always.
  [[nodiscard]] Strike strike(MessageKey key, const PeerHealthPolicy& policy, SteadyTime now) {
    Count& known = strikes_[key];
    if (known.strikes == 0) {
      known.first = now;
    }
    ++known.strikes;
    const bool isKiller = policy.killerThreshold > 0 && known.strikes >= policy.killerThreshold &&
                          now - known.first >= policy.killerPatience;
    return {.count = known.strikes, .isKiller = isKiller};
  }

private:
  struct Count {
    std::uint32_t strikes = 0;
    SteadyTime first{};
  };

  std::unordered_map<MessageKey, Count> strikes_;
};

}  // namespace ackbox::delivery
