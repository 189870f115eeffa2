#include "delivery/machine.hpp"

#include <algorithm>
#include <limits>

#include "delivery/check.hpp"
#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {

Machine::Impl::Impl(MachineOptions machineOptions, Random& machineRandom)
    : options(std::move(machineOptions)),
      random(machineRandom),
      timers([this](const Timers::Timer& timer) { return isLive(timer); }) {
  check(!options.retry.delays.empty() && !options.peerHealth.probeDelays.empty(), "delay tables are not empty");
  check(options.batchFrames >= 1, "a batch has room for a frame");
}

Peer& Machine::Impl::peerOf(PeerKey key) {
  const auto [place, isNew] = peers.try_emplace(key);
  if (isNew) {
    place->second.key = key;
    place->second.frameLimit = options.batchFrames;
  }
  return place->second;
}

void Machine::Impl::introduce(const SessionInfo& info, const Now& now) {
  const auto [place, isNew] = sessions.try_emplace(info.key);
  if (!isNew) {
    return;
  }
  Session& session = place->second;
  session.key = info.key;
  session.peer = &peerOf(info.peer);
  session.policy = info.policy;
  session.highestKey = std::numeric_limits<MessageKey>::min();
  session.priority = info.priority;
  session.unordered = info.unordered;
  if (info.dueAt > now.wall) {
    park(session, Phase::backoff, steadyDue(now, info.dueAt));
  }
}

void Machine::Impl::see(const RowSeen& row, const Now& now) {
  const auto place = sessions.find(row.session);
  check(place != sessions.end(), "a session is introduced before its first row");
  Session& session = place->second;
  if (session.unordered) {
    seeUnordered(session, row, now);
    return;
  }
  if (row.priority) {
    setPriority(session, *row.priority);
  }
  if (row.key <= session.highestKey && isInFlight(session, row.key)) {
    return;
  }
  if (row.key <= session.highestKey && session.deferred.contains(row.key)) {
    if (row.state != MessageState::pending) {
      return;
    }
    // Another process has recalled it, or its deferral is not yet in the file and the claim will find out.
    session.deferred.erase(row.key);
    timers.abandoned();
  }
  session.highestKey = std::max(session.highestKey, row.key);
  if (row.state == MessageState::sent) {
    if (!session.queue.contains(row.key)) {
      watch(session, row.key, {.deadline = steadyDue(now, row.dueAt)});
    }
  } else if (session.queue.insert(row.key) && session.phase == Phase::idle) {
    wake(session);
  }
}

bool Machine::Impl::isInFlight(const Session& session, MessageKey key) const {
  if (session.phase != Phase::inFlight) {
    return false;
  }
  const Request& request = requests.at(session.request);
  if (request.asked) {
    const auto claim = std::ranges::find(*request.asked, session.key, &SessionClaim::session);
    return claim != request.asked->end() && std::binary_search(claim->keys.begin(), claim->keys.end(), key);
  }
  return std::any_of(request.items.begin(), request.items.end(),
                     [&](const Request::Item& item) { return item.session == &session && item.row.key == key; });
}

bool Machine::Impl::isLive(const Timers::Timer& timer) const {
  switch (timer.kind) {
    case Timers::Kind::session: {
      const Session& session = sessions.at(timer.owner);
      return session.waits() && session.wakeAt == timer.due;
    }
    case Timers::Kind::row: {
      const Session& unorderedQueue = sessions.at(timer.owner);
      const auto place = unorderedQueue.delayed.find(timer.key);
      return place != unorderedQueue.delayed.end() && place->second.wakeAt == timer.due;
    }
    case Timers::Kind::deadline: {
      const Session& session = sessions.at(timer.owner);
      const auto place = session.deferred.find(timer.key);
      return place != session.deferred.end() && place->second.deadline == timer.due;
    }
    case Timers::Kind::probe: {
      const PeerHealth& health = peers.at(timer.owner).health;
      return health.down() && (health.probeAt() == timer.due || health.probeOtherAt() == timer.due);
    }
    case Timers::Kind::pause: {
      const Peer& peer = peers.at(timer.owner);
      return peer.pausedUntil == timer.due || peer.limitedUntil == timer.due;
    }
  }
  return false;
}

void Machine::Impl::expire(const Timers::Timer& timer, const Now& now, Actions& actions) {
  switch (timer.kind) {
    case Timers::Kind::session:
      wake(sessions.at(timer.owner));
      return;
    case Timers::Kind::row:
      queueUnordered(sessions.at(timer.owner), timer.key);
      return;
    case Timers::Kind::deadline:
      askAgain(sessions.at(timer.owner), timer.key, now, actions);
      return;
    case Timers::Kind::pause: {
      Peer& peer = peers.at(timer.owner);
      peer.limitedUntil = peer.limitedUntil == timer.due ? SteadyTime{} : peer.limitedUntil;
      touch(peer);
      return;
    }
    case Timers::Kind::probe:
      touch(peers.at(timer.owner));
      return;
  }
}

void Machine::Impl::recall(Session& session, MessageKey key, const char* why, const Now& now, Actions& actions) {
  const auto place = session.deferred.find(key);
  Settlement settlement = returning(session, *place, now);
  settlement.transition = Transition::retry;
  settlement.error = why;
  ++settlement.retryCount;
  actions.settlements.push_back(std::move(settlement));
  session.reasks.erase(key);
  sendAgain(session, place);
}

// The peer has the message: nothing has failed, so nothing is charged.
void Machine::Impl::askAgain(Session& session, MessageKey key, const Now& now, Actions& actions) {
  const auto place = session.deferred.find(key);
  Settlement settlement = returning(session, *place, now);
  settlement.transition = Transition::release;
  actions.settlements.push_back(std::move(settlement));
  if (std::uint8_t& reasks = session.reasks[key]; reasks < kReaskDoublingsMax) {
    ++reasks;
  }
  sendAgain(session, place);
}

Settlement Machine::Impl::returning(const Session& session, const std::pair<const MessageKey, Deferred>& deferred,
                                    const Now& now) {
  Settlement settlement;
  settlement.key = deferred.first;
  settlement.session = session.key;
  settlement.sequence = deferred.second.sequence;
  settlement.from = MessageState::sent;
  settlement.dueAt = now.wall;
  settlement.retryCount = deferred.second.retryCount;
  return settlement;
}

void Machine::Impl::sendAgain(Session& session, std::map<MessageKey, Deferred>::iterator place) {
  session.queue.insert(place->first);
  session.deferred.erase(place);
  if (session.phase == Phase::idle) {
    wake(session);
  }
}

Session& Machine::Impl::keeperOf(Session& session) {
  return session.unorderedQueue == nullptr ? session : *session.unorderedQueue;
}

std::chrono::milliseconds Machine::Impl::ackWait(Session& session, MessageKey key) const {
  const std::map<MessageKey, std::uint8_t>& reasks = keeperOf(session).reasks;
  const auto place = reasks.find(key);
  const std::uint8_t doublings = place == reasks.end() ? std::uint8_t{0} : place->second;
  // Doubling stops at `kWaitMax`; a longer `ackTimeout` is kept as it is.
  return std::max(options.ackTimeout, boundedWait(options.ackTimeout * (1U << doublings)));
}

void Machine::Impl::watch(Session& session, MessageKey key, const Deferred& deferred) {
  Session& keeper = keeperOf(session);
  keeper.deferred.insert_or_assign(key, deferred);
  timers.add({.due = deferred.deadline, .owner = keeper.key, .key = key, .kind = Timers::Kind::deadline});
}

Machine::Machine(MachineOptions options, Random& random) : impl_(std::make_unique<Impl>(std::move(options), random)) {}

Machine::~Machine() = default;

void Machine::peerAdded(PeerKey peer, std::uint32_t maxRequests, std::uint32_t creditFrames,
                        const RateLimit& rateLimit) {
  check(maxRequests >= 1 && creditFrames >= 1, "a peer may have at least one request of one frame");
  Peer& known = impl_->peerOf(peer);
  known.maxRequests = maxRequests;
  known.creditFrames = creditFrames;
  if (known.bucket.setLimit(rateLimit) && known.limitedUntil != SteadyTime{}) {
    // The wait was for the earlier limit.
    known.limitedUntil = {};
    impl_->timers.abandoned();
  }
  impl_->touch(known);
}

void Machine::rowsSeen(std::span<const SessionInfo> sessions, std::span<const RowSeen> rows, const Now& now,
                       Actions& actions, std::optional<std::int64_t> recalls) {
  impl_->openClock().look(now);
  for (const SessionInfo& session : sessions) {
    impl_->introduce(session, now);
  }
  for (const RowSeen& row : rows) {
    impl_->see(row, now);
  }
  // Set before the next claim is decided, and after all claims that were decided without these rows.
  impl_->recalls = recalls.value_or(impl_->recalls);
  impl_->startRequests(now, actions);
}

void Machine::forget(SessionKey session, MessageKey key) {
  const auto place = impl_->sessions.find(session);
  if (place == impl_->sessions.end()) {
    return;
  }
  Session& known = place->second;
  if (known.deferred.erase(key) > 0) {
    impl_->timers.abandoned();
  }
  known.reasks.erase(key);
  known.queue.erase(key);
  if (known.unordered) {
    impl_->forgetUnordered(known, key);
  }
  Impl::absolve(*known.peer, key);
  impl_->timers.settle();
}

void Machine::recalled(SessionKey session, MessageKey key, const Now& now, Actions& actions) {
  const auto place = impl_->sessions.find(session);
  if (place == impl_->sessions.end() || !place->second.deferred.contains(key)) {
    return;
  }
  impl_->recall(place->second, key, "the peer asks for it again", now, actions);
  impl_->timers.abandoned();
  impl_->timers.settle();
  impl_->startRequests(now, actions);
}

void Machine::tick(const Now& now, Actions& actions) {
  impl_->openClock().look(now);
  while (const auto timer = impl_->timers.takeDue(now.steady)) {
    impl_->expire(*timer, now, actions);
  }
  impl_->startRequests(now, actions);
}

void Machine::setClaiming(bool on) {
  if (on && !impl_->claiming) {
    for (auto& [key, peer] : impl_->peers) {
      impl_->touch(peer);
    }
  }
  impl_->claiming = on;
}

void Machine::setClaimBudget(std::size_t requests) {
  impl_->claimBudget = requests;
}

std::optional<SteadyTime> Machine::nextWake() const {
  // A peer was added, or claiming was turned on, and no event has come since.
  if (impl_->claiming && !impl_->touched.empty()) {
    return SteadyTime{};
  }
  return impl_->timers.next();
}

std::size_t Machine::requestsInFlight() const {
  return impl_->requests.size();
}

std::vector<RequestId> Machine::requestsSent() const {
  std::vector<RequestId> sent;
  for (const auto& [id, request] : impl_->requests) {
    if (!request.claiming()) {
      sent.push_back(id);
    }
  }
  std::sort(sent.begin(), sent.end());
  return sent;
}

std::optional<PeerView> Machine::peer(PeerKey key) const {
  const auto place = impl_->peers.find(key);
  if (place == impl_->peers.end()) {
    return std::nullopt;
  }
  const Peer& peer = place->second;
  PeerRecord record = peer.health.record(key);
  return PeerView{
      .down = record.down,
      .failures = record.failures,
      .downSince = record.downSince,
      .nextProbeAt = record.nextProbeAt,
      .error = std::move(record.error),
      .hold = record.hold,
      .isPaused = peer.isPaused,
      .requestsInFlight = peer.requestsInFlight,
      .readySessions = peer.ready.size() + peer.suspectReady.size() + peer.refusedReady.size() + peer.lateReady.size(),
      .limitedUntil = peer.limitedUntil,
      .rateLimited = peer.rateLimited};
}

}  // namespace ackbox::delivery
