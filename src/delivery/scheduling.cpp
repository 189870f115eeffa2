#include <algorithm>
#include <limits>
#include <utility>

#include "delivery/machine_body.hpp"

namespace ackbox::delivery {

void Machine::Body::touch(Peer& peer) {
  if (!peer.dirty) {
    peer.dirty = true;
    touched.push_back(&peer);
  }
}

void Machine::Body::wake(Session& session) {
  session.request = 0;
  if (session.unorderedQueue != nullptr && rejoinQueue(session)) {
    return;
  }
  if (session.queue.empty()) {
    session.phase = Phase::idle;
    return;
  }
  session.phase = Phase::ready;
  enqueueReady(session);
}

// An unordered queue's suspects are units, apart from it. Precondition: something waits in it.
bool Machine::Body::startsWithSuspect(const Session& session) {
  return !session.unordered && session.peer->suspects.contains(session.queue.front());
}

// Precondition: something waits in it.
void Machine::Body::enqueueReady(Session& session) {
  Peer& peer = *session.peer;
  (startsWithSuspect(session) ? peer.suspectReady : peer.ready).push(session);
  touch(peer);
}

void Machine::Body::setPriority(Session& session, std::uint8_t priority) {
  if (std::exchange(session.priority, priority) != priority && session.phase == Phase::ready &&
      !session.queue.empty()) {
    enqueueReady(session);
  }
}

void Machine::Body::park(Session& session, Phase phase, SteadyTime until) {
  session.request = 0;
  if (session.unorderedQueue != nullptr) {
    parkUnit(session, until);
    return;
  }
  session.phase = phase;
  session.wakeAt = until;
  timers.add({.due = until, .owner = session.key, .key = 0, .kind = Timers::Kind::session});
}

void Machine::Body::startRequests(const Now& now, Actions& actions) {
  // One request each in turn, beginning with another peer every time, so that a small budget is shared among them.
  auto turn = static_cast<std::size_t>(lastRequest);
  while (!touched.empty()) {
    turn %= touched.size();
    Peer& peer = *touched[turn];
    if (claiming && claimBudget > 0 && startRequest(peer, now, actions)) {
      --claimBudget;
      ++turn;
    } else {
      peer.dirty = false;
      touched[turn] = touched.back();
      touched.pop_back();
      if (!peer.isChanged) {
        peer.isChanged = true;
        changed.push_back(&peer);
      }
    }
  }
  sweepRetired();
  timers.settle();
}

bool Machine::Body::startRequest(Peer& peer, const Now& now, Actions& actions) {
  if (peer.requestsInFlight >= std::min(peer.maxRequests, peer.rampRequests) || peer.exclusive != 0 || peer.isPaused ||
      now.steady < peer.pausedUntil) {
    return false;
  }
  const bool down = peer.health.down();
  if (down && (peer.probe != 0 || now.steady < peer.health.probeAt())) {
    return false;
  }
  tidy(peer);
  const bool suspectsTurn = peer.ordinarySinceSuspect >= (down ? 1U : peer.maxRequests) || peer.ready.empty();
  const bool goesAlone = suspectsTurn && !peer.suspectReady.empty();
  if (goesAlone ? peer.requestsInFlight > 0 : peer.ready.empty()) {
    return false;
  }
  const std::size_t allowed = allowance(peer, now);
  if (allowed == 0) {
    return false;
  }

  Request request;
  request.id = ++lastRequest;
  request.peer = &peer;
  request.epoch = peer.health.epoch();
  request.recalls = recalls;
  request.asked =
      std::make_shared<const std::vector<SessionClaim>>(goesAlone ? takeSuspect(peer) : assemble(peer, allowed, now));
  peer.ordinarySinceSuspect = goesAlone ? 0 : peer.ordinarySinceSuspect + 1;
  peer.exclusive = goesAlone ? request.id : 0;
  peer.probe = down ? request.id : peer.probe;
  peer.alone = peer.requestsInFlight == 0 ? request.id : 0;
  ++peer.requestsInFlight;
  std::size_t frames = 0;
  for (const SessionClaim& claim : *request.asked) {
    Session& session = sessions.at(claim.session);
    session.phase = Phase::inFlight;
    session.request = request.id;
    frames += claim.keys.size();
  }
  if (peer.bucket.limits()) {
    peer.bucket.take(frames);
  }
  actions.claims.push_back({.request = request.id,
                            .peer = peer.key,
                            .bytesMax = bytesMax(peer),
                            .sessions = request.asked,
                            .recalls = recalls});
  requests.emplace(request.id, std::move(request));
  return true;
}

std::uint64_t Machine::Body::bytesMax(const Peer& peer) const {
  return peer.creditBytes > 0 ? std::min<std::uint64_t>(options.batchBytes, peer.creditBytes) : options.batchBytes;
}

// Sees to it that each queue's first session belongs there: messages may have been forgotten, or have come back in
// front of others, since it was queued.
void Machine::Body::tidy(Peer& peer) {
  const auto tidyQueue = [this](ReadyQueue& queue, ReadyQueue& other, bool suspect) {
    while (!queue.empty()) {
      Session& first = queue.front();
      if (queue.frontIsStale()) {
        queue.dropFront();
        continue;
      }
      if (!first.queue.empty() && startsWithSuspect(first) == suspect) {
        return;
      }
      queue.dropFront();
      if (!first.queue.empty()) {
        other.push(first);
      } else if (first.unorderedQueue != nullptr) {
        retire(first);
      } else {
        first.phase = Phase::idle;
      }
    }
  };
  tidyQueue(peer.ready, peer.suspectReady, false);
  tidyQueue(peer.suspectReady, peer.ready, true);
  // What the second pass moved may now stand first.
  tidyQueue(peer.ready, peer.suspectReady, false);
}

// Precondition: the queue is tidy and not empty, so at least one frame is found.
std::vector<SessionClaim> Machine::Body::assemble(Peer& peer, std::size_t allowed, const Now& now) {
  std::size_t limit = std::min<std::size_t>(allowed, std::min(options.batchFrames, peer.frameLimit));
  if (peer.creditFrames > 0) {
    limit = std::min<std::size_t>(limit, peer.creditFrames);
  }
  if (peer.health.down()) {
    limit = 1;
  }
  std::vector<SessionClaim> claims;
  std::size_t frames = 0;
  for (; frames < limit && !peer.ready.empty(); tidy(peer)) {
    Session& session = peer.ready.front();
    if (session.frameLimit > 0) {
      if (frames >= session.frameLimit) {
        break;
      }
      limit = std::min<std::size_t>(limit, session.frameLimit);
    }
    peer.ready.popFront();
    if (session.unordered) {
      for (; frames < limit && !session.queue.empty(); ++frames) {
        claims.push_back(takeUnit(session, now));
      }
      // Behind the others of its priority with the rest.
      wake(session);
      continue;
    }
    SessionClaim claim{.session = session.key, .keys = {}};
    while (frames < limit && !session.queue.empty() && !peer.suspects.contains(session.queue.front())) {
      claim.keys.push_back(session.queue.front());
      session.queue.popFront();
      ++frames;
    }
    noteWaited(session, claim, now);
    claim.doubt = session.doubt;
    claims.push_back(std::move(claim));
  }
  return claims;
}

// Precondition: the queue is tidy and not empty.
std::vector<SessionClaim> Machine::Body::takeSuspect(Peer& peer) {
  Session& session = peer.suspectReady.front();
  peer.suspectReady.popFront();
  std::vector<SessionClaim> claims{{.session = session.key, .keys = {session.queue.front()}}};
  claims.back().doubt = session.doubt;
  session.queue.popFront();
  return claims;
}

std::size_t Machine::Body::allowance(Peer& peer, const Now& now) {
  if (!peer.bucket.limits()) {
    return std::numeric_limits<std::size_t>::max();
  }
  const std::size_t allowed = peer.bucket.available(now.steady);
  if (allowed == 0) {
    pausePeer(peer, peer.bucket.nextAt());
  }
  return allowed;
}

void Machine::Body::pausePeer(Peer& peer, SteadyTime until) {
  if (until > peer.pausedUntil) {
    peer.pausedUntil = until;
    timers.add({.due = until, .owner = peer.key, .key = 0, .kind = Timers::Kind::pause});
  }
}

void Machine::Body::endRequest(const Request& request) {
  Peer& peer = *request.peer;
  --peer.requestsInFlight;
  for (RequestId* role : {&peer.probe, &peer.exclusive, &peer.alone}) {
    if (*role == request.id) {
      *role = 0;
    }
  }
  touch(peer);
}

}  // namespace ackbox::delivery
