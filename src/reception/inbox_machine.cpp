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
// The least number of ended frames at a queue's front, or of old entries of turns, that is worth a removal.
constexpr std::size_t kEndedMin = 32;

}  // namespace

InboxMachine::InboxMachine(std::vector<PoolLimits> pools) : pools_(pools.size()) {
  for (std::size_t number = 0; number < pools.size(); ++number) {
    Pool& pool = pools_[number];
    pool.limits = std::move(pools[number]);
    if (pool.limits.isForMailboxes) {
      delivery::check(!mailPool_ && pool.limits.isOnDemand, "one pool is that of the mailboxes, and it is on demand");
      mailPool_ = number;
    }
    if (!pool.limits.isOnDemand) {
      Sections::value_type& section = sectionOf(pool, "");
      section.second.wishes[kAnything].wish = {.id = kAnything, .count = pool.limits.places, .mailbox = {}};
      pool.byWish.emplace(kAnything, &section);
    }
  }
}

void InboxMachine::arrived(const Arrival& frame) {
  if (!frame.mailbox.empty() && !mailPool_) {
    return;
  }
  Queue& queue = queueOf(frame);
  const auto first = queue.frames.begin() + static_cast<std::ptrdiff_t>(queue.first);
  if (first != queue.frames.end() && frame.key <= queue.frames.back().key &&
      std::ranges::find(first, queue.frames.end(), frame.key, &Frame::key) != queue.frames.end()) {
    return;
  }
  Types::value_type& type = typeOf(frame);
  if (!frame.mailbox.empty()) {
    Section& section = sectionOf(pools_[*mailPool_], queue.mailbox).second;
    ++section.frames;
    ++section.bySender[queue.sender];
  }
  ++type.second.count;
  ++frames_;
  queue.frames.push_back({frame.key, &type, frame.acceptedAt, frame.expiresAt});
  if (queue.frames.size() - queue.first == 1) {
    makeReady(numbers_.at(queue.name), queue);
  }
}

std::size_t InboxMachine::poolOf(std::string_view type) const {
  const auto has = [type](const Pool& pool) {
    return !pool.limits.isForMailboxes && std::ranges::any_of(pool.limits.types, [type](const std::string& pattern) {
      return fitsPattern(pattern, type);
    });
  };
  const auto found = std::ranges::find_if(pools_, has);
  delivery::check(found != pools_.end(), "each type has a pool");
  return static_cast<std::size_t>(found - pools_.begin());
}

InboxMachine::Types::value_type& InboxMachine::typeOf(const Arrival& frame) {
  Types& types = frame.mailbox.empty() ? types_ : mailTypes_;
  const auto [place, isNew] = types.try_emplace(std::string(frame.type));
  if (isNew) {
    place->second.pool = frame.mailbox.empty() ? poolOf(frame.type) : *mailPool_;
  }
  return *place;
}

InboxMachine::Sections::value_type& InboxMachine::sectionOf(Pool& pool, const std::string& mailbox) {
  return *pool.sections.try_emplace(mailbox).first;
}

void InboxMachine::list(Pool& pool, Sections::value_type& section) {
  if (!section.second.isListed) {
    section.second.isListed = true;
    pool.listed.push_back(&section);
  }
}

void InboxMachine::dropIfUnused(Pool& pool, Sections::value_type& section) {
  const Section& known = section.second;
  if (pool.limits.isForMailboxes && known.queues == 0 && known.wishes.empty() && !known.isListed && !known.isStarved) {
    pool.sections.erase(pool.sections.find(section.first));
  }
}

MailboxFill InboxMachine::fillOf(const std::string& mailbox, const std::string& sender) const {
  if (!mailPool_) {
    return {};
  }
  const auto found = pools_[*mailPool_].sections.find(mailbox);
  const auto known = senders_.find(sender);
  const bool isKnown = found != pools_[*mailPool_].sections.end();
  const bool hasFrames = isKnown && known != senders_.end() && found->second.bySender.contains(&*known);
  return {isKnown ? found->second.frames : 0, hasFrames ? found->second.bySender.at(&*known) : 0};
}

InboxMachine::Queue& InboxMachine::queueOf(const Arrival& frame) {
  const auto [number, isNew] = numbers_.try_emplace(std::string(frame.queue), lastQueue_ + 1);
  if (!isNew) {
    return queues_.at(number->second);
  }
  Queue& queue = queues_[++lastQueue_];
  queue.name = frame.queue;
  queue.session = frame.session;
  queue.mailbox = frame.mailbox;
  if (!frame.mailbox.empty()) {
    ++sectionOf(pools_[*mailPool_], queue.mailbox).second.queues;
  }
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
  Sections::value_type& section = sectionOf(pool, queue.mailbox);
  TurnQueue& turns = section.second.ready[fittingOf(section.second, queue)];
  turns.push(queue.sender->second.number, {number, queue.ticket});
  const std::size_t queues = pool.limits.isForMailboxes ? section.second.queues : queues_.size();
  if (turns.size() > 2 * queues + kEndedMin) {
    // Frames ended in it without a turn.
    turns.sweep([this](const TurnQueue::Entry& entry) { return isCurrent(entry); });
  }
  list(pool, section);
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
  const auto place = pool.byWish.find(turn.wish);
  if (place == pool.byWish.end()) {
    return;
  }
  if (Standing& standing = place->second->second.wishes.at(turn.wish); standing.inHand > 0) {
    --standing.inHand;
    standing.own -= turn.isOwn && standing.own > 0 ? 1U : 0U;
  }
  list(pool, *place->second);
}

void InboxMachine::headEnded(QueueNumber number) {
  const auto place = queues_.find(number);
  delivery::check(place != queues_.end() && place->second.state == State::taken, "a frame that ends was taken");
  Queue& queue = place->second;
  forget(queue, queue.head());
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

void InboxMachine::forget(const Queue& queue, const Frame& frame) {
  if (!queue.mailbox.empty()) {
    Section& section = sectionOf(pools_[*mailPool_], queue.mailbox).second;
    --section.frames;
    if (const auto sender = section.bySender.find(queue.sender); --sender->second == 0) {
      section.bySender.erase(sender);
    }
  }
  if (--frame.type->second.count == 0) {
    Types& types = typesOf(frame.type->second);
    types.erase(types.find(frame.type->first));
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
      forget(queue, frame);
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
  if (!place->second.mailbox.empty()) {
    Pool& pool = pools_[*mailPool_];
    Sections::value_type& section = sectionOf(pool, place->second.mailbox);
    --section.second.queues;
    dropIfUnused(pool, section);
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
  while (Sections::value_type* const section = nextSection(pool)) {
    if (const std::optional<Turn> turn = takeFrom(number, section->second)) {
      list(pool, *section);
      return turn;
    }
    if (lacksPlace(pool, section->second) && !section->second.isStarved) {
      section->second.isStarved = true;
      pool.starved.push_back(section);
    }
    dropIfUnused(pool, *section);
  }
  return std::nullopt;
}

InboxMachine::Sections::value_type* InboxMachine::nextSection(Pool& pool) {
  const bool isStarved = pool.taken < pool.limits.places && !pool.starved.empty();
  std::deque<Sections::value_type*>& from = isStarved ? pool.starved : pool.listed;
  if (from.empty()) {
    return nullptr;
  }
  Sections::value_type* const section = from.front();
  from.pop_front();
  (isStarved ? section->second.isStarved : section->second.isListed) = false;
  return section;
}

std::optional<Turn> InboxMachine::takeFrom(std::size_t number, Section& section) {
  Pool& pool = pools_[number];
  // Groups of wishes take turns, so that none waits for a group that always has more.
  auto next = section.ready.upper_bound(section.lastServed);
  for (std::size_t left = section.ready.size(); left > 0; --left) {
    if (next == section.ready.end()) {
      next = section.ready.begin();
    }
    Standing* const standing = leastServed(pool, section, next->first);
    const std::optional<Turn> turn = standing != nullptr ? takeOf(number, next->second, *standing) : std::nullopt;
    if (turn) {
      section.lastServed = next->first;
    }
    next = next->second.empty() ? section.ready.erase(next) : std::next(next);
    if (turn) {
      return turn;
    }
  }
  return std::nullopt;
}

bool InboxMachine::lacksPlace(const Pool& pool, const Section& section) {
  const auto hasRoom = [](const auto& standing) { return standing.second.inHand < standing.second.wish.count; };
  const auto isWanted = [](const auto& group) { return !group.first.empty(); };
  return pool.taken >= pool.limits.places && std::ranges::any_of(section.wishes, hasRoom) &&
         std::ranges::any_of(section.ready, isWanted);
}

bool InboxMachine::hasPlace(const Pool& pool, const Standing& standing) {
  return standing.inHand < standing.wish.count &&
         (standing.own < pool.limits.ownPlaces || pool.taken < pool.limits.places);
}

InboxMachine::Standing* InboxMachine::leastServed(const Pool& pool, Section& section, const Fitting& fitting) {
  Standing* least = nullptr;
  for (const std::uint64_t id : fitting) {
    Standing& standing = section.wishes.at(id);
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
  std::map<Fitting, TurnQueue>& ready = sectionOf(pools_[pool], "").second.ready;
  const auto unwanted = ready.find({});
  if (unwanted == ready.end()) {
    return false;
  }
  return unwanted->second.peek([this](const TurnQueue::Entry& entry) { return isCurrent(entry); }) != nullptr;
}

std::vector<std::string> InboxMachine::unwantedTypes(std::size_t pool, std::size_t limit) const {
  std::set<std::string_view> found;
  const auto section = pools_[pool].sections.find("");
  if (section == pools_[pool].sections.end()) {
    return {};
  }
  // Those that fit no wish are a group. Mostly few types are in thousands of queues.
  const auto unwanted = section->second.ready.find({});
  const std::size_t most = std::min(limit, types_.size());
  if (unwanted != section->second.ready.end() && most > 0) {
    unwanted->second.visit([&](const TurnQueue::Entry& entry) {
      if (isCurrent(entry)) {
        found.insert(queues_.at(entry.queue).head().type->first);
      }
      return found.size() < most;
    });
  }
  return {found.begin(), found.end()};
}

std::size_t InboxMachine::turnsKept() const {
  std::size_t kept = 0;
  for (const Pool& pool : pools_) {
    for (const auto& [mailbox, section] : pool.sections) {
      for (const auto& [fitting, turns] : section.ready) {
        kept += turns.size();
      }
    }
  }
  return kept;
}

SteadyTime InboxMachine::nextDue() const {
  return waits_.empty() ? SteadyTime::max() : waits_.begin()->first;
}

}  // namespace ackbox::reception
