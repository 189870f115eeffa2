#include <algorithm>
#include <vector>

#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {

void Machine::applyHolds(const HoldSnapshot& holds, const Now& now, Actions& actions) {
  for (const PeerHolds& held : holds.peers) {
    impl_->applyHold(held, now);
  }
  std::vector<SessionKey> free;
  std::set_difference(impl_->halted.begin(), impl_->halted.end(), holds.sessions.begin(), holds.sessions.end(),
                      std::back_inserter(free));
  for (const SessionKey session : free) {
    impl_->halted.erase(session);
    impl_->wake(impl_->sessions.at(session));
  }
  impl_->startRequests(now, actions);
}

void Machine::Impl::applyHold(const PeerHolds& held, const Now& now) {
  const auto place = peers.find(held.record.peer);
  if (place == peers.end()) {
    return;
  }
  Peer& peer = place->second;
  const bool isFirst = !peer.hasOrders;
  const bool isResumed = !isFirst && held.resumes > peer.resumes;
  peer.hasOrders = true;
  peer.resumes = held.resumes;
  peer.isPaused = held.isPaused || held.isRemoved;
  if (isFirst && held.record.down) {
    peer.recordedDown = true;
    if (options.restoresHealth) {
      peer.health.restore(held.record, now);
      peer.rampRequests = 1;
      peer.frameLimit = 1;
    }
  }
  const bool isDisabled = held.record.hold == PeerHold::disabled;
  // The findings of another process count here as well: that the peer is gone, and that it answers again.
  if (isResumed || (peer.sawDisabled && !isDisabled && peer.health.hold() == PeerHold::disabled)) {
    peer.health.probeNow(now);
  }
  if (isDisabled && peer.health.hold() != PeerHold::disabled) {
    peer.health.disable(held.record);
  }
  peer.sawDisabled = isDisabled;
  touch(peer);
}

const RetryPolicy& Machine::Impl::retryOf(const Session& session) const {
  return session.policy.retry == nullptr ? options.retry : *session.policy.retry;
}

bool Machine::Impl::isPastHorizon(const Session& session, const ClaimedRow& row, const Now& now) {
  openClock().look(now);
  return horizonPassed(retryOf(session), row, openClock(), options.horizonGrace, now);
}

std::vector<PeerKey> Machine::takeChangedPeers() {
  std::vector<PeerKey> keys;
  keys.reserve(impl_->changed.size());
  for (Peer* peer : impl_->changed) {
    peer->isChanged = false;
    keys.push_back(peer->key);
  }
  impl_->changed.clear();
  return keys;
}

}  // namespace ackbox::delivery
