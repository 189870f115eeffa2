#pragma once

#include <unordered_map>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The messages of one peer that were in flight when a connection was lost: one of them may be what kills the peer.
/// Each goes alone until it was answered. In memory only: a restart forgets, and at worst counts again.
class Suspects {
public:
  [[nodiscard]] bool empty() const noexcept { return strikes_.empty(); }
  [[nodiscard]] bool contains(MessageKey key) const { return !strikes_.empty() && strikes_.contains(key); }

  void add(MessageKey key) { strikes_.try_emplace(key, 0U); }
  void clear(MessageKey key) {
    if (!strikes_.empty()) {
      strikes_.erase(key);
    }
  }

  /// The connection was lost while `key` was alone in flight. Returns how often that has happened.
  std::uint32_t strike(MessageKey key) { return ++strikes_[key]; }

private:
  std::unordered_map<MessageKey, std::uint32_t> strikes_;
};

}  // namespace ackbox::delivery
