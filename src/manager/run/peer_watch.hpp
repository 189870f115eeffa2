#pragma once

#include <map>
#include <string>
#include <vector>

#include "ackbox/events.hpp"
#include "base/mutex.hpp"
#include "delivery/types.hpp"

namespace ackbox::manager {

/// Reports changes of a peer's state, or of its cause. Its memory lasts over the runs of a manager, so that a new run
/// does not repeat an unchanged state.
///
/// Thread-safety: all members may be called from any thread.
class PeerWatch {
public:
  using Events = std::vector<PeerEvent>;

  /// A commit has recorded this health of the peer.
  void recorded(const std::string& peer, const delivery::PeerRecord& record, Events& events) ACKBOX_EXCLUDES(mutex_);
  /// An operator has paused or resumed the peer.
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
