#include <algorithm>
#include <vector>

#include "delivery/machine_body.hpp"

namespace ackbox::delivery {

void Machine::ordered(const Halts& halts, const Now& now, Actions& actions) {
  for (const PeerOrders& orders : halts.peers) {
    body_->order(orders, now);
  }
  std::vector<SessionKey> free;
  std::set_difference(body_->halted.begin(), body_->halted.end(), halts.sessions.begin(), halts.sessions.end(),
                      std::back_inserter(free));
  for (const SessionKey session : free) {
    body_->halted.erase(session);
    body_->wake(body_->sessions.at(session));
  }
  body_->startRequests(now, actions);
}

void Machine::Body::order(const PeerOrders& orders, const Now& now) {
  const auto place = peers.find(orders.record.peer);
  if (place == peers.end()) {
    return;
  }
  Peer& peer = place->second;
  const bool isFirst = !peer.hasOrders;
  const bool isResumed = !isFirst && orders.resumes > peer.resumes;
  peer.hasOrders = true;
  peer.resumes = orders.resumes;
  peer.isPaused = orders.isPaused;
  if (isFirst && orders.record.down) {
    peer.recordedDown = true;
    if (options.restoresHealth) {
      peer.health.restore(orders.record, now);
      peer.rampRequests = 1;
      peer.frameLimit = 1;
    }
  }
  const bool isDisabled = orders.record.hold == PeerHold::disabled;
  // What another process was told counts here as well: that the peer is gone, and that it answers again.
  if (isResumed || (peer.sawDisabled && !isDisabled && peer.health.hold() == PeerHold::disabled)) {
    peer.health.probeNow(now);
  }
  if (isDisabled && peer.health.hold() != PeerHold::disabled) {
    peer.health.disable(orders.record);
  }
  peer.sawDisabled = isDisabled;
  touch(peer);
}

const RetryPolicy& Machine::Body::retryOf(const Session& session) const {
  return session.policy.retry == nullptr ? options.retry : *session.policy.retry;
}

bool Machine::Body::isPastHorizon(const Session& session, const ClaimedRow& row, const Now& now) {
  openClock.look(now);
  return horizonPassed(retryOf(session), row, openClock, options.horizonGrace, now);
}

std::vector<PeerKey> Machine::takeChangedPeers() {
  std::vector<PeerKey> keys;
  keys.reserve(body_->changed.size());
  for (Peer* peer : body_->changed) {
    peer->isChanged = false;
    keys.push_back(peer->key);
  }
  body_->changed.clear();
  return keys;
}

}  // namespace ackbox::delivery
