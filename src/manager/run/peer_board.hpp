#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"
#include "delivery/types.hpp"

namespace ackbox::manager {

/// A run's view of its peers, for readers on other threads: only the run writes.
///
/// Thread-safety: all members may be called from any thread.
class PeerBoard {
public:
  struct Gauges {
    std::uint32_t requestsInFlight = 0;
    std::uint64_t readySessions = 0;
    /// In calendar time; the epoch if nothing limits the peer.
    WallTime limitedUntil{};
    std::chrono::nanoseconds rateLimited{0};
  };

  void write(delivery::PeerKey peer, const Gauges& gauges) {
    const MutexLock lock(mutex_);
    gauges_.insert_or_assign(peer, gauges);
  }
  void clear() {
    const MutexLock lock(mutex_);
    gauges_.clear();
  }
  [[nodiscard]] Gauges read(delivery::PeerKey peer) const {
    const MutexLock lock(mutex_);
    const auto found = gauges_.find(peer);
    return found == gauges_.end() ? Gauges{} : found->second;
  }

private:
  mutable Mutex mutex_;
  std::unordered_map<delivery::PeerKey, Gauges> gauges_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::manager
