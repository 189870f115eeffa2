#pragma once

#include <unordered_map>

#include "ackbox/retry_policy.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The messages of one peer that were in flight when a connection was lost: one of them may be what kills the peer.
/// Each goes alone until it was answered. In memory only: a restart forgets, and at worst counts again.
class Suspects {
public:
  [[nodiscard]] bool empty() const noexcept { return strikes_.empty(); }
  [[nodiscard]] bool contains(MessageKey key) const { return !strikes_.empty() && strikes_.contains(key); }

  void add(MessageKey key) { strikes_.try_emplace(key); }
  void clear(MessageKey key) {
    if (!strikes_.empty()) {
      strikes_.erase(key);
    }
  }

  /// The peer answered a request.
  void answered() noexcept { ++answers_; }

  /// The connection was lost while `key` was alone in flight. True when that has happened `policy.killerThreshold`
  /// times and is the message's doing: the peer has answered others since the first time, or `killerPatience` is over.
  /// Without such evidence it may as well be a dead peer behind something that accepts connections for it.
  bool strike(MessageKey key, const PeerHealthPolicy& policy, SteadyTime now) {
    Strikes& strikes = strikes_[key];
    if (strikes.count == 0) {
      strikes.first = now;
      strikes.answersAtFirst = answers_;
    }
    ++strikes.count;
    const bool evident = answers_ > strikes.answersAtFirst || now - strikes.first >= policy.killerPatience;
    return policy.killerThreshold > 0 && strikes.count >= policy.killerThreshold && evident;
  }

private:
  struct Strikes {
    std::uint32_t count = 0;
    std::uint64_t answersAtFirst = 0;
    SteadyTime first{};
  };

  std::unordered_map<MessageKey, Strikes> strikes_;
  std::uint64_t answers_ = 0;
};

}  // namespace ackbox::delivery
