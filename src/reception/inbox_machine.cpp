#include "reception/inbox_machine.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/pattern.hpp"
#include "delivery/check.hpp"

namespace ackbox::reception {
namespace {

// The id of the single wish, for all frames, in a pool that is not on demand.
constexpr std::uint64_t kAnything = 0;
// The least number of ended frames at a queue's front that is worth a removal.
constexpr std::size_t kEndedMin = 32;

}  // namespace

InboxMachine::InboxMachine(std::vector<PoolLimits> pools) {
  for (PoolLimits& limits : pools) {
    Pool& pool = pools_.emplace_back();
    pool.limits = std::move(limits);
    if (!pool.limits.isOnDemand) {
      pool.wishes[kAnything].wish = {.id = kAnything, .types = "*", .sessions = "*", .count = pool.limits.places};
    }
  }
}

void InboxMachine::arrived(const Arrival& frame) {
  Queue& queue = queueOf(frame);
  Types::value_type& type = typeOf(frame.type);
  ++type.second.count;
  ++frames_;
  queue.frames.push_back({frame.key, &type, frame.acceptedAt, frame.expiresAt});
  if (queue.frames.size() - queue.first == 1) {
    makeReady(numbers_.at(queue.name), queue);
  }
}

std::size_t InboxMachine::poolOf(std::string_view type) const {
  const auto has = [type](const Pool& pool) {
    return std::ranges::any_of(pool.limits.types,
                               [type](const std::string& pattern) { return fitsPattern(pattern, type); });
  };
  const auto found = std::ranges::find_if(pools_, has);
  delivery::check(found != pools_.end(), "each type has a pool");
  return static_cast<std::size_t>(found - pools_.begin());
}

InboxMachine::Types::value_type& InboxMachine::typeOf(std::string_view type) {
  const auto [place, isNew] = types_.try_emplace(std::string(type));
  if (isNew) {
    place->second.pool = poolOf(type);
  }
  return *place;
}

InboxMachine::Queue& InboxMachine::queueOf(const Arrival& frame) {
  const auto [number, isNew] = numbers_.try_emplace(std::string(frame.queue), lastQueue_ + 1);
  if (!isNew) {
    return queues_.at(number->second);
  }
  Queue& queue = queues_[++lastQueue_];
  queue.name = frame.queue;
  queue.session = frame.session;
  const auto [sender, isNewSender] = senders_.try_emplace(std::string(frame.sender));
  if (isNewSender) {
    sender->second.number = ++lastSender_;
  }
  ++sender->second.queues;
  queue.sender = &*sender;
  return queue;
}

void InboxMachine::makeReady(QueueNumber number, Queue& queue) {
  Pool& pool = pools_[queue.head().type->second.pool];
  queue.state = State::ready;
  queue.ticket = ++lastTicket_;
  pool.ready[fittingOf(pool, queue)].push(queue.sender->second.number, {number, queue.ticket});
}

InboxMachine::Fitting InboxMachine::fittingOf(const Pool& pool, const Queue& queue) {
  Fitting fitting;
  for (const auto& [id, standing] : pool.wishes) {
    if (fitsPattern(standing.wish.types, queue.head().type->first) &&
        fitsPattern(standing.wish.sessions, queue.session)) {
      fitting.push_back(id);
    }
  }
  return fitting;
}

void InboxMachine::want(std::size_t pool, const Wish& wish) {
  delivery::check(pools_[pool].limits.isOnDemand && wish.id != kAnything, "a wish is of a pool on demand");
  const auto [place, isNew] = pools_[pool].wishes.try_emplace(wish.id);
  Wish& known = place->second.wish;
  const bool isOther = isNew || known.types != wish.types || known.sessions != wish.sessions;
  known = wish;
  if (isOther) {
    sortAnew(pools_[pool]);
  }
}

void InboxMachine::unwant(std::size_t pool, std::uint64_t id) {
  if (pools_[pool].wishes.erase(id) != 0) {
    sortAnew(pools_[pool]);
  }
}

void InboxMachine::sortAnew(Pool& pool) {
  const bool isByType =
      std::ranges::all_of(pool.wishes, [](const auto& standing) { return standing.second.wish.sessions == "*"; });
  // For each type found, the target of its queues: there may be many queues of few types.
  std::unordered_map<const Types::value_type*, TurnQueue*> known;
  for (auto& [fitting, turns] : std::exchange(pool.ready, {})) {
    while (const std::optional<TurnQueue::Entry> entry = popCurrent(turns)) {
      const Queue& queue = queues_.at(entry->queue);
      TurnQueue*& target = known[queue.head().type];
      if (target == nullptr || !isByType) {
        target = &pool.ready[fittingOf(pool, queue)];
      }
      target->push(queue.sender->second.number, *entry);
    }
  }
}

void InboxMachine::placeFreed(const Turn& turn) {
  if (turn.isOverdue) {
    return;
  }
  Pool& pool = pools_[turn.pool];
  if (!turn.isOwn) {
    delivery::check(pool.taken > 0, "a place that is freed was taken");
    --pool.taken;
  }
  if (const auto place = pool.wishes.find(turn.wish); place != pool.wishes.end() && place->second.inHand > 0) {
    --place->second.inHand;
    place->second.own -= turn.isOwn && place->second.own > 0 ? 1U : 0U;
  }
}

void InboxMachine::headEnded(QueueNumber number) {
  const auto place = queues_.find(number);
  delivery::check(place != queues_.end() && place->second.state == State::taken, "a frame that ends was taken");
  Queue& queue = place->second;
  forget(queue.head());
  ++queue.first;
  if (queue.first == queue.frames.size()) {
    erase(place);
    return;
  }
  if (queue.first >= kEndedMin && queue.first * 2 >= queue.frames.size()) {
    queue.frames.erase(queue.frames.begin(), queue.frames.begin() + static_cast<std::ptrdiff_t>(queue.first));
    queue.first = 0;
  }
  makeReady(number, queue);
}

void InboxMachine::forget(const Frame& frame) {
  if (--frame.type->second.count == 0) {
    types_.erase(types_.find(frame.type->first));
  }
  --frames_;
}

void InboxMachine::gone(std::span<const QueuedFrame> frames) {
  std::map<QueueNumber, std::vector<FrameKey>> keys;
  for (const QueuedFrame& frame : frames) {
    keys[frame.queue].push_back(frame.key);
  }
  for (auto& [number, ofQueue] : keys) {
    std::ranges::sort(ofQueue);
    dropGone(number, ofQueue);
  }
}

void InboxMachine::dropGone(QueueNumber number, const std::vector<FrameKey>& keys) {
  const auto place = queues_.find(number);
  if (place == queues_.end()) {
    return;
  }
  Queue& queue = place->second;
  const FrameKey head = queue.head().key;
  const std::size_t first = queue.first + (queue.state == State::taken ? 1 : 0);
  const auto isGone = [&](const Frame& frame) {
    const bool is = std::ranges::binary_search(keys, frame.key);
    if (is) {
      forget(frame);
    }
    return is;
  };
  const auto rest = queue.frames.begin() + static_cast<std::ptrdiff_t>(first);
  queue.frames.erase(std::remove_if(rest, queue.frames.end(), isGone), queue.frames.end());
  if (queue.first == queue.frames.size()) {
    erase(place);
  } else if (queue.head().key != head) {
    makeReady(number, queue);
  }
}

std::vector<QueuedFrame> InboxMachine::untaken() const {
  std::vector<QueuedFrame> found;
  for (const auto& [number, queue] : queues_) {
    const std::size_t first = queue.first + (queue.state == State::taken ? 1 : 0);
    for (std::size_t index = first; index < queue.frames.size(); ++index) {
      if (pools_[queue.frames[index].type->second.pool].limits.isOnDemand) {
        found.push_back({number, queue.frames[index].key});
      }
    }
  }
  return found;
}

void InboxMachine::erase(std::unordered_map<QueueNumber, Queue>::iterator place) {
  Senders::value_type* const sender = place->second.sender;
  if (--sender->second.queues == 0) {
    senders_.erase(senders_.find(sender->first));
  }
  numbers_.erase(place->second.name);
  queues_.erase(place);
}

void InboxMachine::headWaits(QueueNumber number, SteadyTime until) {
  Queue& queue = queues_.at(number);
  delivery::check(queue.state == State::taken, "a frame that waits was taken");
  queue.state = State::waiting;
  queue.ticket = ++lastTicket_;
  waits_.emplace(until, TurnQueue::Entry{number, queue.ticket});
}

void InboxMachine::headReady(QueueNumber number) {
  Queue& queue = queues_.at(number);
  delivery::check(queue.state == State::taken, "a frame that is ready again was taken");
  makeReady(number, queue);
}

void InboxMachine::timePassed(SteadyTime now) {
  while (!waits_.empty() && waits_.begin()->first <= now) {
    const TurnQueue::Entry entry = waits_.begin()->second;
    waits_.erase(waits_.begin());
    if (isCurrent(entry)) {
      makeReady(entry.queue, queues_.at(entry.queue));
    }
  }
}

void InboxMachine::endWaits() {
  timePassed(SteadyTime::max());
}

std::vector<Turn> InboxMachine::takeTurns(std::size_t limit) {
  std::vector<Turn> turns;
  std::size_t idle = 0;
  while (idle < pools_.size() && turns.size() < limit) {
    ++idle;
    const std::size_t pool = nextPool_;
    nextPool_ = (nextPool_ + 1) % pools_.size();
    if (const std::optional<Turn> turn = takeTurn(pool)) {
      turns.push_back(*turn);
      idle = 0;
    }
  }
  return turns;
}

std::optional<Turn> InboxMachine::takeTurn(std::size_t number) {
  Pool& pool = pools_[number];
  if (pool.taken >= pool.limits.places && pool.limits.ownPlaces == 0) {
    return std::nullopt;
  }
  // Groups of wishes take turns, so that none waits for a group that always has more.
  auto next = pool.ready.upper_bound(pool.lastServed);
  for (std::size_t left = pool.ready.size(); left > 0; --left) {
    if (next == pool.ready.end()) {
      next = pool.ready.begin();
    }
    Standing* const standing = leastServed(pool, next->first);
    const std::optional<Turn> turn = standing != nullptr ? takeOf(number, next->second, *standing) : std::nullopt;
    if (turn) {
      pool.lastServed = next->first;
    }
    next = next->second.empty() ? pool.ready.erase(next) : std::next(next);
    if (turn) {
      return turn;
    }
  }
  return std::nullopt;
}

bool InboxMachine::hasPlace(const Pool& pool, const Standing& standing) {
  return standing.inHand < standing.wish.count &&
         (standing.own < pool.limits.ownPlaces || pool.taken < pool.limits.places);
}

InboxMachine::Standing* InboxMachine::leastServed(Pool& pool, const Fitting& fitting) {
  Standing* least = nullptr;
  for (const std::uint64_t id : fitting) {
    Standing& standing = pool.wishes.at(id);
    if (hasPlace(pool, standing) && (least == nullptr || standing.inHand < least->inHand)) {
      least = &standing;
    }
  }
  return least;
}

std::optional<Turn> InboxMachine::takeOf(std::size_t number, TurnQueue& ready, Standing& standing) {
  const std::optional<TurnQueue::Entry> entry = popCurrent(ready);
  if (!entry) {
    return std::nullopt;
  }
  Queue& queue = queues_.at(entry->queue);
  queue.state = State::taken;
  queue.ticket = 0;
  Pool& pool = pools_[number];
  const bool isOwn = standing.own < pool.limits.ownPlaces;
  ++(isOwn ? standing.own : pool.taken);
  ++standing.inHand;
  return Turn{entry->queue, queue.head().key, number, standing.wish.id, false, isOwn};
}

bool InboxMachine::isCurrent(const TurnQueue::Entry& entry) const {
  const auto place = queues_.find(entry.queue);
  return place != queues_.end() && place->second.ticket == entry.ticket;
}

std::optional<TurnQueue::Entry> InboxMachine::popCurrent(TurnQueue& turns) const {
  return turns.pop([this](const TurnQueue::Entry& entry) { return isCurrent(entry); });
}

std::vector<Turn> InboxMachine::takeOverdue(const std::function<bool(WallTime)>& isOld, WallTime now,
                                            std::size_t limit) {
  std::vector<Turn> turns;
  for (auto place = queues_.begin(); place != queues_.end() && turns.size() < limit; ++place) {
    Queue& queue = place->second;
    const Frame& head = queue.head();
    const std::size_t pool = head.type->second.pool;
    const bool isOver = head.expiresAt <= now || (pools_[pool].limits.isOnDemand && isOld(head.acceptedAt));
    if (isOver && queue.state != State::taken) {
      queue.state = State::taken;
      queue.ticket = 0;
      turns.push_back({place->first, head.key, pool, 0, true});
    }
  }
  return turns;
}

bool InboxMachine::hasUnwanted(std::size_t pool) {
  std::map<Fitting, TurnQueue>& ready = pools_[pool].ready;
  const auto unwanted = ready.find({});
  if (unwanted == ready.end()) {
    return false;
  }
  return unwanted->second.peek([this](const TurnQueue::Entry& entry) { return isCurrent(entry); }) != nullptr;
}

std::vector<std::string> InboxMachine::unwantedTypes(std::size_t pool, std::size_t limit) const {
  std::set<std::string_view> found;
  for (const auto& [number, queue] : queues_) {
    if (found.size() == limit) {
      break;
    }
    const auto& [type, known] = *queue.head().type;
    if (queue.state == State::ready && known.pool == pool && !found.contains(type) &&
        fittingOf(pools_[pool], queue).empty()) {
      found.insert(type);
    }
  }
  return {found.begin(), found.end()};
}

SteadyTime InboxMachine::nextDue() const {
  return waits_.empty() ? SteadyTime::max() : waits_.begin()->first;
}

}  // namespace ackbox::reception
