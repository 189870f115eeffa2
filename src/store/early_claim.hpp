#pragma once

#include <atomic>

#include "delivery/types.hpp"

namespace ackbox::store {

/// A run's leave to claim the next message in the commit that stores it, which spares it a transaction. It is good for
/// one message to one peer, and only if nothing else in the file is live: so the message is its session's head, and
/// nothing is in flight that it could overtake; and while no other process has the file open, which could send it
/// sooner. What was claimed is told with the message's row; whoever hears of it sends it or gives it back, and says so.
///
/// Thread-safety: all members, from any thread.
class EarlyClaim {
public:
  /// For one message to `peer`. Nothing while one is claimed.
  void allow(delivery::PeerKey peer) noexcept {
    delivery::PeerKey none = kNone;
    state_.compare_exchange_strong(none, peer);
  }
  /// True: nothing is claimed, nor will be. False: something is, by a commit that is under way, or whose news nobody
  /// has taken in yet.
  bool withdraw() noexcept {
    delivery::PeerKey state = state_.load();
    while (state != kNone && state != kClaimed && !state_.compare_exchange_weak(state, kNone)) {
    }
    return state != kClaimed;
  }

  /// For the store, in a transaction: uses the leave if there is any for `peer`.
  bool use(delivery::PeerKey peer) noexcept { return state_.compare_exchange_strong(peer, kClaimed); }
  /// Whether there is leave for anything.
  [[nodiscard]] bool isAllowed() const noexcept { return state_.load() > kNone; }

  /// What was claimed is sent, or given back, or never came to be.
  void settle() noexcept { state_.store(kNone); }

private:
  static constexpr delivery::PeerKey kNone = 0;
  static constexpr delivery::PeerKey kClaimed = -1;

  // Keys of peers are above 0.
  std::atomic<delivery::PeerKey> state_{kNone};
};

}  // namespace ackbox::store
