#include "transport/connection_budget.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace ackbox::transport {
namespace {

// How long a place that has not answered yet may be silent while others wait. Each silence doubles it, up to a minute.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(1);
constexpr std::uint32_t kDoublingsMax = 6;

// One grant of this many goes to a place that has not answered, if one waits.
constexpr std::uint32_t kGrantsShared = 8;

// Unused places that are remembered: more than a sender uses in turn. A peer has one place for each time that its
// certificates were loaded.
constexpr std::size_t kUnusedMax = 1'024;

// The pause before looking again for descriptors that other parts of the process have released.
constexpr std::chrono::milliseconds kShortagePause{250};

}  // namespace

ConnectionBudget::Slot::~Slot() {
  if (const std::shared_ptr<ConnectionBudget> budget = budget_.lock()) {
    budget->gone(*this);
  }
}

ConnectionBudget::ConnectionBudget(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock,
                                   std::size_t connections, std::function<bool()> evictIdle)
    : executor_(executor),
      clock_(std::move(clock)),
      max_(std::max<std::size_t>(connections, 1)),
      unprovenMax_(std::max<std::size_t>(max_ - max_ / 4, 1)),
      evictIdle_(std::move(evictIdle)),
      alarm_(clock_->makeAlarm(executor)) {}

std::shared_ptr<ConnectionBudget::Wish> ConnectionBudget::ask(const std::string& place, Grant grant, Evict evict) {
  auto wish = std::make_shared<Wish>(Wish{std::move(grant), std::move(evict)});
  Place& known = placeOf(place);
  known.waiting.push_back(wish);
  if (known.unusedSince != 0) {
    unused_.erase(std::exchange(known.unusedSince, 0));
  }
  queue(known);
  look();
  return wish;
}

void ConnectionBudget::answered(const std::string& place) {
  Place& known = placeOf(place);
  if (!known.isLive) {
    unqueue(known);
    known.isLive = true;
    known.silences = 0;
    prove(known);
    queue(known);
  }
  rest(known);
  look();
}

void ConnectionBudget::failed(const std::string& place) {
  Place& known = placeOf(place);
  unqueue(known);
  known.isLive = false;
  ++known.silences;
  queue(known);
  rest(known);
  look();
}

void ConnectionBudget::opened(bool isOpen) {
  opening_ -= std::min<std::size_t>(opening_, 1);
  if (isOpen && window_ <= max_) {
    window_ *= 2;
  }
  look();
}

void ConnectionBudget::shortage() {
  window_ = 1;
  pausedUntil_ = clock_->steadyNow() + kShortagePause;
  (void)evictIdle_();
  look();
}

void ConnectionBudget::look() {
  if (closed_ || turns_.empty() || std::exchange(isLooking_, true)) {
    return;
  }
  boost::asio::post(executor_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->isLooking_ = false;
      self->settle();
    }
  });
}

void ConnectionBudget::close() {
  closed_ = true;
  alarm_->cancel();
  turns_.clear();
}

ConnectionBudget::Place& ConnectionBudget::placeOf(const std::string& name) {
  Place& place = places_[name];
  if (place.name.empty()) {
    place.name = name;
  }
  return place;
}

// Live places first, then those with the fewest silences; among equals, the earliest turn.
ConnectionBudget::Turn ConnectionBudget::turnOf(Place& place) {
  return {!place.isLive, place.silences, place.turn, &place};
}

void ConnectionBudget::queue(Place& place) {
  const bool mayHaveMore = place.isLive || place.slot == nullptr;
  if (place.turn == 0 && !place.waiting.empty() && mayHaveMore && !closed_) {
    place.turn = ++lastTurn_;
    turns_.insert(turnOf(place));
  }
}

void ConnectionBudget::unqueue(Place& place) {
  if (place.turn != 0) {
    turns_.erase(turnOf(place));
    place.turn = 0;
  }
}

// Live places sort before the others.
ConnectionBudget::Place& ConnectionBudget::nextPlace() {
  const auto first = turns_.begin();
  if (std::get<Place*>(*first)->isLive && liveGrants_ + 1 >= kGrantsShared) {
    const auto other = turns_.lower_bound(Turn{true, 0, 0, nullptr});
    if (other != turns_.end() && mayHaveOne(*std::get<Place*>(*other))) {
      return *std::get<Place*>(*other);
    }
  }
  return *std::get<Place*>(*first);
}

bool ConnectionBudget::mayHaveOne(const Place& place) const noexcept {
  return place.isLive || unproven_.size() < unprovenMax_;
}

// A place's state (whether it answers, and how often it was silent) is kept while it has a connection or wants one. Of
// the others, only the `kUnusedMax` newest are kept.
void ConnectionBudget::rest(Place& place) {
  if (place.slots != 0 || !place.waiting.empty() || place.turn != 0) {
    return;
  }
  if (place.unusedSince == 0) {
    place.unusedSince = ++lastUnused_;
    unused_.emplace(place.unusedSince, &place);
  }
  while (unused_.size() > kUnusedMax) {
    const auto oldest = unused_.begin();
    // A copy: the place owns its name, and is erased below.
    const std::string name = oldest->second->name;
    unused_.erase(oldest);
    places_.erase(name);
  }
}

void ConnectionBudget::settle() {
  while (!closed_ && !turns_.empty() && opening_ < window_ && clock_->steadyNow() >= pausedUntil_) {
    Place& place = nextPlace();
    const std::uint64_t turn = place.turn;
    unqueue(place);
    std::shared_ptr<Wish> wish;
    while (!wish && !place.waiting.empty()) {
      wish = place.waiting.front().lock();
      place.waiting.pop_front();
    }
    if (!wish) {
      rest(place);
      continue;
    }
    // An idle connection is closed only for a place that may have one.
    if (!mayHaveOne(place) || (used_ >= max_ && !evictIdle_())) {
      place.waiting.push_front(wish);
      // The place keeps its turn, as no other place was served before it.
      place.turn = turn;
      turns_.insert(turnOf(place));
      makeRoom();
      break;
    }
    grant(place, wish);
    queue(place);
  }
  setAlarm();
}

void ConnectionBudget::grant(Place& place, const std::shared_ptr<Wish>& wish) {
  const auto slot = std::make_shared<Slot>(weak_from_this(), place, wish);
  ++used_;
  ++place.slots;
  ++opening_;
  liveGrants_ = place.isLive ? std::min(liveGrants_ + 1, kGrantsShared) : 0;
  if (!place.isLive) {
    place.slot = slot.get();
    slot->isUnproven_ = true;
    slot->evictAt_ = clock_->steadyNow() + kPatience * (1U << std::min(place.silences, kDoublingsMax));
    unproven_.emplace(slot->evictAt_, slot.get());
  }
  wish->grant(slot);
}

void ConnectionBudget::gone(Slot& slot) noexcept {
  --used_;
  --slot.place_.slots;
  if (slot.isUnproven_) {
    unproven_.erase({slot.evictAt_, &slot});
    slot.place_.slot = nullptr;
  }
  try {
    queue(slot.place_);
    rest(slot.place_);
    look();
  } catch (...) {
    // The next call of `look` finds it.
    return;
  }
}

void ConnectionBudget::prove(Place& place) {
  if (Slot* const slot = std::exchange(place.slot, nullptr)) {
    unproven_.erase({slot->evictAt_, slot});
    slot->isUnproven_ = false;
  }
}

// Evicts up to as many connections as there are places that wait, from those with expired patience.
void ConnectionBudget::makeRoom() {
  const SteadyTime now = clock_->steadyNow();
  for (std::size_t wanted = turns_.size(); wanted > 0 && !unproven_.empty(); --wanted) {
    Slot& oldest = *unproven_.begin()->second;
    if (oldest.evictAt_ > now) {
      return;
    }
    prove(oldest.place_);
    Place& place = oldest.place_;
    unqueue(place);
    ++place.silences;
    if (const std::shared_ptr<Wish> wish = oldest.wish_.lock()) {
      wish->evict();
    }
    queue(place);
  }
}

void ConnectionBudget::setAlarm() {
  if (closed_ || turns_.empty()) {
    alarm_->cancel();
    return;
  }
  const SteadyTime now = clock_->steadyNow();
  // Connections with expired patience are evicted already, or will be when an opening connection reports its end.
  const auto next = std::ranges::find_if(unproven_, [now](const auto& entry) { return entry.first > now; });
  const SteadyTime due = now < pausedUntil_ ? pausedUntil_ : next == unproven_.end() ? SteadyTime() : next->first;
  if (due == SteadyTime()) {
    // Each slot that is given back calls `gone`.
    alarm_->cancel();
    return;
  }
  alarm_->set(due, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->settle();
    }
  });
}

}  // namespace ackbox::transport
