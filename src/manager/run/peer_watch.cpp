#include "manager/run/peer_watch.hpp"

#include <utility>

namespace ackbox::manager {

PeerEvent PeerWatch::eventOf(const std::string& peer, const Known& known) {
  PeerEvent event;
  event.peer = peer;
  event.state = delivery::stateOf(known.record, known.isPaused);
  if (known.record.down) {
    event.cause = known.record.error;
    event.since = known.record.downSince;
    event.nextProbeAt = known.record.nextProbeAt;
  }
  return event;
}

void PeerWatch::recorded(const std::string& peer, const delivery::PeerRecord& record, Events& events) {
  const MutexLock lock(mutex_);
  Known& known = peers_[peer];
  const PeerEvent before = eventOf(peer, known);
  known.record = record;
  PeerEvent event = eventOf(peer, known);
  if (event.state != before.state || event.cause != before.cause) {
    events.push_back(std::move(event));
  }
}

void PeerWatch::ordered(const std::string& peer, bool isPaused, Events& events) {
  const MutexLock lock(mutex_);
  Known& known = peers_[peer];
  if (std::exchange(known.isPaused, isPaused) != isPaused) {
    events.push_back(eventOf(peer, known));
  }
}

}  // namespace ackbox::manager
