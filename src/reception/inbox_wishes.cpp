// The wishes of `InboxMachine`, and the groups of ready queues by the wishes that they fit.

#include <algorithm>
#include <utility>

#include "base/pattern.hpp"
#include "delivery/check.hpp"
#include "reception/inbox_machine.hpp"

namespace ackbox::reception {

bool InboxMachine::fits(const Wish& wish, const Queue& queue) {
  return fitsPattern(wish.types, queue.head().type->first) && fitsPattern(wish.sessions, queue.session);
}

InboxMachine::Fitting InboxMachine::fittingOf(const Section& section, const Queue& queue) {
  Fitting fitting;
  for (const auto& [id, standing] : section.wishes) {
    if (fits(standing.wish, queue)) {
      fitting.push_back(id);
    }
  }
  return fitting;
}

void InboxMachine::want(std::size_t number, const Wish& wish) {
  Pool& pool = pools_[number];
  delivery::check(pool.limits.isOnDemand && wish.id != 0, "a wish is of a pool on demand");
  delivery::check(pool.limits.isForMailboxes != wish.mailbox.empty(),
                  "a wish of the mailboxes' pool names its mailbox");
  Sections::value_type& section = sectionOf(pool, wish.mailbox);
  const auto [place, isNew] = section.second.wishes.try_emplace(wish.id);
  Wish& known = place->second.wish;
  const bool isOther = isNew || known.types != wish.types || known.sessions != wish.sessions;
  known = wish;
  pool.byWish[wish.id] = &section;
  if (isOther) {
    sortAnew(section.second, wish.id);
  }
  list(pool, section);
}

void InboxMachine::unwant(std::size_t number, std::uint64_t id) {
  Pool& pool = pools_[number];
  const auto place = pool.byWish.find(id);
  if (place == pool.byWish.end()) {
    return;
  }
  Sections::value_type& section = *place->second;
  pool.byWish.erase(place);
  section.second.wishes.erase(id);
  sortAnew(section.second, id);
  list(pool, section);
}

void InboxMachine::sortAnew(Section& section, std::uint64_t id) {
  const auto place = section.wishes.find(id);
  const Wish* const wish = place == section.wishes.end() ? nullptr : &place->second.wish;
  const bool fitsAll = wish != nullptr && wish->types == "*" && wish->sessions == "*";
  auto before = std::exchange(section.ready, {});
  while (!before.empty()) {
    auto group = before.extract(before.begin());
    Fitting without = std::move(group.key());
    std::erase(without, id);
    Fitting with = without;
    with.insert(std::ranges::upper_bound(with, id), id);
    if (wish == nullptr || fitsAll) {
      addGroup(section, fitsAll ? with : without, std::move(group.mapped()));
      continue;
    }
    TurnQueue fitting;
    TurnQueue others;
    while (const std::optional<TurnQueue::Entry> entry = popCurrent(group.mapped())) {
      const Queue& queue = queues_.at(entry->queue);
      (fits(*wish, queue) ? fitting : others).push(queue.sender->second.number, *entry);
    }
    addGroup(section, with, std::move(fitting));
    addGroup(section, without, std::move(others));
  }
}

void InboxMachine::addGroup(Section& section, const Fitting& fitting, TurnQueue&& turns) {
  if (turns.empty()) {
    return;
  }
  const auto [group, isNew] = section.ready.try_emplace(fitting, std::move(turns));
  while (!isNew) {
    const std::optional<TurnQueue::Entry> entry = popCurrent(turns);
    if (!entry) {
      return;
    }
    group->second.push(queues_.at(entry->queue).sender->second.number, *entry);
  }
}

}  // namespace ackbox::reception
