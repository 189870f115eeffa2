// The machine's unordered messages. An unordered queue keeps eight bytes for each waiting message. A message is a
// session of its own, a unit, only while it is in a request or must go alone, and only then needs a session's memory.

#include <algorithm>

#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {

void Machine::Impl::seeUnordered(Session& unorderedQueue, const RowSeen& row, const Now& now) {
  if (row.key <= unorderedQueue.highestKey &&
      (sessions.contains(unitOf(row.key)) || unorderedQueue.queue.contains(row.key) ||
       !isNews(unorderedQueue, row, now))) {
    return;
  }
  unorderedQueue.highestKey = std::max(unorderedQueue.highestKey, row.key);
  if (row.state == MessageState::sent) {
    watch(unorderedQueue, row.key, {.deadline = steadyDue(now, row.dueAt)});
  } else if (row.dueAt > now.wall) {
    delay(unorderedQueue, row.key, {.wakeAt = steadyDue(now, row.dueAt), .until = steadyFar(now, row.dueAt)});
  } else {
    queueUnordered(unorderedQueue, row.key);
  }
}

// Whether the file's state of a row ends its wait here: another process may have put back a deferred message, or
// shortened a wait.
bool Machine::Impl::isNews(Session& unorderedQueue, const RowSeen& row, const Now& now) {
  const bool isPending = row.state == MessageState::pending;
  if (unorderedQueue.deferred.contains(row.key)) {
    if (isPending) {
      unorderedQueue.deferred.erase(row.key);
      timers.abandoned();
    }
    return isPending;
  }
  const auto delayed = unorderedQueue.delayed.find(row.key);
  if (delayed == unorderedQueue.delayed.end()) {
    return true;
  }
  const bool isSooner = isPending && steadyDue(now, row.dueAt) < delayed->second.wakeAt;
  if (isSooner) {
    unorderedQueue.delayed.erase(delayed);
    timers.abandoned();
  }
  return isSooner;
}

void Machine::Impl::queueUnordered(Session& unorderedQueue, MessageKey key) {
  if (unorderedQueue.queue.insert(key) && unorderedQueue.phase == Phase::idle) {
    wake(unorderedQueue);
  }
}

void Machine::Impl::delay(Session& unorderedQueue, MessageKey key, const Delay& delay) {
  unorderedQueue.delayed.insert_or_assign(key, delay);
  timers.add({.due = delay.wakeAt, .owner = unorderedQueue.key, .key = key, .kind = Timers::Kind::row});
}

// Takes the unordered queue's first message out as a session of its own, with the delay that it has already waited out.
SessionClaim Machine::Impl::takeUnit(Session& unorderedQueue, const Now& now) {
  const MessageKey key = unorderedQueue.queue.front();
  unorderedQueue.queue.popFront();
  Session& unit = sessions.try_emplace(unitOf(key)).first->second;
  unit.key = unitOf(key);
  unit.peer = unorderedQueue.peer;
  unit.unorderedQueue = &unorderedQueue;
  unit.priority = unorderedQueue.priority;
  // No message comes after it, so it cannot block any.
  unit.policy = {.retry = unorderedQueue.policy.retry, .gap = GapPolicy::skip};
  unit.highestKey = key;
  unit.delayedKey = 0;
  if (const auto delayed = unorderedQueue.delayed.find(key); delayed != unorderedQueue.delayed.end()) {
    unit.delayedKey = key;
    unit.delayedUntil = delayed->second.until;
    unorderedQueue.delayed.erase(delayed);
  }
  SessionClaim claim{.session = unit.key, .keys = {key}};
  noteWaited(unit, claim, now);
  return claim;
}

void Machine::Impl::noteWaited(const Session& session, SessionClaim& claim, const Now& now) {
  if (session.delayedKey != 0 && now.steady >= session.delayedUntil &&
      std::binary_search(claim.keys.begin(), claim.keys.end(), session.delayedKey)) {
    claim.waited = session.delayedKey;
  }
}

// Retires a unit that is no longer needed as a session. It is erased at the end of the event, because the event may
// still hold references to it.
void Machine::Impl::retire(Session& unit) {
  unit.phase = Phase::idle;
  retired.push_back(unit.key);
}

// After its request, returns a unit to its unordered queue, unless it must go alone or in a small request.
bool Machine::Impl::rejoinQueue(Session& unit) {
  if (unit.queue.empty()) {
    retire(unit);
    return true;
  }
  const MessageKey key = unit.queue.front();
  if (turnOf(unit) != Turn::ordinary || unit.frameLimit > 0) {
    return false;
  }
  unit.queue.popFront();
  if (unit.delayedKey == key) {
    unit.unorderedQueue->delayed.insert_or_assign(key, Delay{.wakeAt = {}, .until = unit.delayedUntil});
  }
  retire(unit);
  queueUnordered(*unit.unorderedQueue, key);
  return true;
}

// A unit waits in its unordered queue, unless it must go alone: from the unordered queue it would be sent together with
// others.
void Machine::Impl::parkUnit(Session& unit, SteadyTime until) {
  if (!unit.queue.empty() && turnOf(unit) != Turn::ordinary) {
    unit.delayedUntil = unit.delayedKey == unit.queue.front() ? std::max(until, unit.delayedUntil) : until;
    unit.delayedKey = unit.queue.front();
    unit.phase = Phase::backoff;
    unit.wakeAt = until;
    timers.add({.due = until, .owner = unit.key, .key = 0, .kind = Timers::Kind::session});
    return;
  }
  if (!unit.queue.empty()) {
    const MessageKey key = unit.queue.front();
    unit.queue.popFront();
    delay(*unit.unorderedQueue, key,
          {.wakeAt = until, .until = unit.delayedKey == key ? std::max(until, unit.delayedUntil) : until});
  }
  retire(unit);
}

void Machine::Impl::forgetUnordered(Session& unorderedQueue, MessageKey key) {
  if (unorderedQueue.delayed.erase(key) > 0) {
    timers.abandoned();
  }
  if (const auto unit = sessions.find(unitOf(key)); unit != sessions.end()) {
    unit->second.queue.erase(key);
  }
}

void Machine::Impl::sweepRetired() {
  for (const SessionKey key : retired) {
    const auto place = sessions.find(key);
    if (place != sessions.end() && place->second.phase == Phase::idle && place->second.queue.empty()) {
      sessions.erase(place);
    }
  }
  retired.clear();
}

}  // namespace ackbox::delivery
