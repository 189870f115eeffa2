#pragma once

#include <cstdint>
#include <unordered_map>

#include "ackbox/retry_policy.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The messages of one peer with which connections were lost repeatedly, in ever smaller requests: one of them may
/// crash the peer. Each is sent alone until it is answered. In memory only: after a restart, counting begins again.
class Suspects {
public:
  /// The strikes of one suspect.
  struct Strike {
    /// Connections lost while this message was the only one in flight.
    std::uint32_t count = 0;
    /// There were so many, over so long, that the message is taken to be the cause.
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

  /// The connection was lost while `key` was alone in flight. Answers to other messages are no evidence against it: a
  /// peer that fails at one message today may be fixed tomorrow, so `killerPatience` always applies.
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
