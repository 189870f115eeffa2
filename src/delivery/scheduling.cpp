#include <algorithm>
#include <limits>
#include <utility>

#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {

void Machine::Impl::touch(Peer& peer) {
  if (!peer.dirty) {
    peer.dirty = true;
    touched.push_back(&peer);
  }
}

void Machine::Impl::wake(Session& session) {
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

// An unordered queue's suspects are units, separate from it. Precondition: a message waits in `session`.
Machine::Impl::Turn Machine::Impl::turnOf(const Session& session) {
  if (session.unordered) {
    return Turn::ordinary;
  }
  const MessageKey head = session.queue.front();
  if (session.peer->suspects.contains(head)) {
    return Turn::suspect;
  }
  if (!session.peer->refusals.contains(head)) {
    return Turn::ordinary;
  }
  return session.peer->refusals.isLate(head) ? Turn::late : Turn::refused;
}

ReadyQueue& Machine::Impl::queueOf(Peer& peer, Turn turn) {
  switch (turn) {
    case Turn::suspect:
      return peer.suspectReady;
    case Turn::refused:
      return peer.refusedReady;
    case Turn::late:
      return peer.lateReady;
    case Turn::ordinary:
      break;
  }
  return peer.ready;
}

// Precondition: a message waits in `session`.
void Machine::Impl::enqueueReady(Session& session) {
  Peer& peer = *session.peer;
  queueOf(peer, turnOf(session)).push(session);
  touch(peer);
}

void Machine::Impl::absolve(Peer& peer, MessageKey key) {
  peer.suspects.clear(key);
  peer.refusals.clear(key);
}

void Machine::Impl::setPriority(Session& session, std::uint8_t priority) {
  if (std::exchange(session.priority, priority) != priority && session.phase == Phase::ready &&
      !session.queue.empty()) {
    enqueueReady(session);
  }
}

void Machine::Impl::park(Session& session, Phase phase, SteadyTime until) {
  session.request = 0;
  if (session.unorderedQueue != nullptr) {
    parkUnit(session, until);
    return;
  }
  session.phase = phase;
  session.wakeAt = until;
  timers.add({.due = until, .owner = session.key, .key = 0, .kind = Timers::Kind::session});
}

void Machine::Impl::startRequests(const Now& now, Actions& actions) {
  // Peers get one request each in turn, beginning with another peer every time, so that they share a small budget.
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

bool Machine::Impl::startRequest(Peer& peer, const Now& now, Actions& actions) {
  if (peer.requestsInFlight >= std::min(peer.maxRequests, peer.rampRequests) || peer.exclusive != 0 || peer.isPaused ||
      now.steady < std::max(peer.pausedUntil, peer.limitedUntil)) {
    return false;
  }
  const bool down = peer.health.down();
  const std::optional<Turn> turn = nextTurn(peer, now);
  if (!turn) {
    return false;
  }
  const bool goesAlone = turn == Turn::suspect;
  const std::size_t allowed = allowance(peer, now);
  if (allowed == 0) {
    return false;
  }

  Request request;
  request.id = ++lastRequest;
  request.peer = &peer;
  request.epoch = peer.health.epoch();
  request.recalls = recalls;
  if (turn == Turn::ordinary) {
    assemble(request, allowed, now);
  } else {
    request.framesMax = 1;
    request.asked = std::make_shared<const std::vector<SessionClaim>>(takeHead(queueOf(peer, *turn), now));
  }
  peer.ordinarySinceSuspect = goesAlone ? 0 : peer.ordinarySinceSuspect + 1;
  peer.ordinarySinceRefused = turn == Turn::refused ? 0 : peer.ordinarySinceRefused + 1;
  peer.ordinarySinceLate = turn == Turn::late ? 0 : peer.ordinarySinceLate + 1;
  request.isLate = turn == Turn::late;
  peer.lateInFlight += request.isLate ? 1U : 0U;
  peer.exclusive = goesAlone ? request.id : 0;
  peer.probe = down ? request.id : peer.probe;
  peer.alone = peer.requestsInFlight == 0 ? request.id : 0;
  ++peer.requestsInFlight;
  for (const SessionClaim& claim : *request.asked) {
    Session& session = sessions.at(claim.session);
    session.phase = Phase::inFlight;
    session.request = request.id;
  }
  if (peer.bucket.limits()) {
    peer.bucket.take(request.framesMax);
  }
  actions.claims.push_back({.request = request.id,
                            .peer = peer.key,
                            .bytesMax = bytesMax(peer),
                            .framesMax = request.framesMax,
                            .sessions = request.asked,
                            .recalls = recalls});
  requests.emplace(request.id, std::move(request));
  return true;
}

std::optional<Machine::Impl::Turn> Machine::Impl::nextTurn(Peer& peer, const Now& now) {
  tidy(peer);
  if (peer.health.down()) {
    return nextProbe(peer, now);
  }
  const bool goesRefused = mayAskAgain(peer);
  const bool goesLate = mayAskLate(peer, goesRefused || !peer.ready.empty());
  const bool isRefusedNext = (goesRefused || goesLate) && peer.ordinarySinceSuspect == 0;
  if (!peer.suspectReady.empty() &&
      (peer.ordinarySinceSuspect >= peer.maxRequests || (peer.ready.empty() && !isRefusedNext))) {
    return peer.requestsInFlight > 0 ? std::nullopt : std::optional(Turn::suspect);
  }
  if (goesLate) {
    return Turn::late;
  }
  if (goesRefused) {
    return Turn::refused;
  }
  return peer.ready.empty() ? std::nullopt : std::optional(Turn::ordinary);
}

// Whether a refused message has its turn: alternating with others, if one was answered since, or as the last message.
bool Machine::Impl::mayAskAgain(Peer& peer) {
  if (peer.refusedReady.empty() || (peer.ordinarySinceRefused == 0 && !peer.ready.empty())) {
    return false;
  }
  const bool isLast = peer.ready.empty() && peer.suspectReady.empty() && peer.requestsInFlight == 0;
  const MessageKey head = peer.refusedReady.front().queue.front();
  return isLast || peer.refusals.isItsOwn(head, 0) || peer.refusals.isAloneRefused(head);
}

// Whether a late message, one that took long before it was refused, has its turn: behind messages that can go now, for
// a limited number of turns, and in at most half of the requests, so that messages never tried have room.
bool Machine::Impl::mayAskLate(Peer& peer, bool areOthersNext) {
  const std::uint32_t places = std::max(1U, std::min(peer.maxRequests, peer.rampRequests) / 2);
  if (peer.lateReady.empty() || peer.lateInFlight >= places ||
      (areOthersNext && peer.ordinarySinceLate < ReadyQueue::kPatience)) {
    return false;
  }
  const bool isLast =
      peer.ready.empty() && peer.suspectReady.empty() && peer.refusedReady.empty() && peer.requestsInFlight == 0;
  const MessageKey head = peer.lateReady.front().queue.front();
  return isLast || peer.refusals.isItsOwn(head, 0) || peer.refusals.isAloneRefused(head);
}

// Probes with another message each time: messages already refused show nothing new, and go when there are no others.
std::optional<Machine::Impl::Turn> Machine::Impl::nextProbe(Peer& peer, const Now& now) {
  const bool hasUntried = !peer.ready.empty() || !peer.suspectReady.empty();
  const SteadyTime due = hasUntried ? peer.health.probeOtherAt() : peer.health.probeAt();
  if (peer.probe != 0 || now.steady < due) {
    if (peer.probe == 0 && hasUntried && due != std::exchange(peer.wakesAt, due)) {
      timers.add({.due = due, .owner = peer.key, .key = 0, .kind = Timers::Kind::probe});
    }
    return std::nullopt;
  }
  const bool isRefusedNext = peer.ordinarySinceSuspect == 0 &&
                             (!peer.refusedReady.empty() || !peer.lateReady.empty()) &&
                             now.steady >= peer.health.probeAt();
  if (!peer.suspectReady.empty() && (peer.ordinarySinceSuspect > 0 || (peer.ready.empty() && !isRefusedNext))) {
    return peer.requestsInFlight > 0 ? std::nullopt : std::optional(Turn::suspect);
  }
  if (!peer.ready.empty()) {
    return Turn::ordinary;
  }
  // Late and refused messages take turns: any message that the peer takes shows that it is up.
  if (!peer.lateReady.empty() && (peer.refusedReady.empty() || peer.ordinarySinceLate > 0)) {
    return Turn::late;
  }
  return peer.refusedReady.empty() ? std::nullopt : std::optional(Turn::refused);
}

bool Machine::Impl::hasOthersToAsk(Peer& peer) {
  tidy(peer);
  return !peer.ready.empty() || !peer.suspectReady.empty() || peer.requestsInFlight > 1;
}

std::uint64_t Machine::Impl::bytesMax(const Peer& peer) const {
  return peer.creditBytes > 0 ? std::min<std::uint64_t>(options.batchBytes, peer.creditBytes) : options.batchBytes;
}

// Ensures that the first session of each queue belongs there: since it was queued, messages may have been forgotten, or
// have come back in front of others. A session that one pass moves may be the first in its new queue.
void Machine::Impl::tidy(Peer& peer) {
  using enum Turn;
  for (const Turn turn : {ordinary, suspect, refused, late, ordinary, suspect, refused}) {
    tidy(peer, turn);
  }
}

void Machine::Impl::tidy(Peer& peer, Turn turn) {
  ReadyQueue& queue = queueOf(peer, turn);
  while (!queue.empty()) {
    Session& first = queue.front();
    if (queue.frontIsStale()) {
      queue.dropFront();
      continue;
    }
    const std::optional<Turn> right = first.queue.empty() ? std::nullopt : std::optional(turnOf(first));
    if (right == turn) {
      return;
    }
    queue.dropFront();
    if (right) {
      queueOf(peer, *right).push(first);
    } else if (first.unorderedQueue != nullptr) {
      retire(first);
    } else {
      first.phase = Phase::idle;
    }
  }
}

// Precondition: the queue is tidy and not empty, so at least one frame is found.
void Machine::Impl::assemble(Request& request, std::size_t allowed, const Now& now) {
  Peer& peer = *request.peer;
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
    const std::size_t room = limit - frames;
    const std::size_t namedMax = room + peer.surplus;
    std::size_t named = 0;
    if (session.unordered) {
      for (; named < namedMax && !session.queue.empty(); ++named) {
        claims.push_back(takeUnit(session, now));
      }
      frames += std::min(named, room);
      // The remaining messages queue behind the other sessions of their priority.
      wake(session);
      continue;
    }
    SessionClaim claim{.session = session.key, .keys = {}};
    for (; named < namedMax && !session.queue.empty() && turnOf(session) == Turn::ordinary; ++named) {
      claim.keys.push_back(session.queue.front());
      session.queue.popFront();
    }
    frames += std::min(named, room);
    noteWaited(session, claim, now);
    claim.doubt = session.doubt;
    claims.push_back(std::move(claim));
  }
  request.framesMax = frames;
  request.asked = std::make_shared<const std::vector<SessionClaim>>(std::move(claims));
}

// Precondition: the queue is tidy and not empty.
std::vector<SessionClaim> Machine::Impl::takeHead(ReadyQueue& queue, const Now& now) {
  Session& session = queue.front();
  queue.popFront();
  std::vector<SessionClaim> claims{{.session = session.key, .keys = {session.queue.front()}}};
  noteWaited(session, claims.back(), now);
  claims.back().doubt = session.doubt;
  session.queue.popFront();
  return claims;
}

std::size_t Machine::Impl::allowance(Peer& peer, const Now& now) {
  if (!peer.bucket.limits()) {
    return std::numeric_limits<std::size_t>::max();
  }
  const std::size_t allowed = peer.bucket.available(now.steady);
  if (allowed == 0) {
    // No other wait is under way: such a peer is not asked.
    peer.limitedUntil = peer.bucket.nextAt();
    peer.rateLimited += peer.limitedUntil - now.steady;
    timers.add({.due = peer.limitedUntil, .owner = peer.key, .key = 0, .kind = Timers::Kind::pause});
  }
  return allowed;
}

void Machine::Impl::pausePeer(Peer& peer, SteadyTime until) {
  if (until > peer.pausedUntil) {
    peer.pausedUntil = until;
    timers.add({.due = until, .owner = peer.key, .key = 0, .kind = Timers::Kind::pause});
  }
}

void Machine::Impl::endRequest(const Request& request) {
  Peer& peer = *request.peer;
  --peer.requestsInFlight;
  peer.lateInFlight -= request.isLate ? 1U : 0U;
  for (RequestId* role : {&peer.probe, &peer.exclusive, &peer.alone}) {
    if (*role == request.id) {
      *role = 0;
    }
  }
  touch(peer);
}

}  // namespace ackbox::delivery
