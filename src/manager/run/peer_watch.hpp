#pragma once

#include <map>
#include <string>
#include <vector>

#include "ackbox/events.hpp"
#include "base/mutex.hpp"
#include "delivery/types.hpp"

namespace ackbox::manager {

/// Says when a peer's state changes, or the cause of it. Remembers over the runs of a manager, so that a new run does
/// not say again what has not changed.
///
/// Thread-safety: all members may be called from any thread.
class PeerWatch {
public:
  using Events = std::vector<PeerEvent>;

  /// A commit has recorded this of the peer.
  void recorded(const std::string& peer, const delivery::PeerRecord& record, Events& events) ACKBOX_EXCLUDES(mutex_);
  /// People have paused it, or let it go on.
  void ordered(const std::string& peer, bool isPaused, Events& events) ACKBOX_EXCLUDES(mutex_);

private:
  struct Known {
    delivery::PeerRecord record;
    bool isPaused = false;
  };

  static PeerEvent eventOf(const std::string& peer, const Known& known);

  Mutex mutex_;
  std::map<std::string, Known> peers_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::manager
