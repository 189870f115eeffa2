// The machine's unordered messages. A lane keeps what waits as eight bytes a message; one becomes a session of its own,
// a unit, while it is in a request, or must go alone, and only then costs what a session costs.

#include <algorithm>

#include "delivery/due.hpp"
#include "delivery/machine_body.hpp"

namespace ackbox::delivery {

void Machine::Body::seeUnordered(Session& lane, const RowSeen& row, const Now& now) {
  const bool mayBeKnown = row.key <= lane.highestKey;
  if (mayBeKnown && (lane.deferred.contains(row.key) || lane.delayed.contains(row.key) ||
                     sessions.contains(unitOf(row.key)) || lane.queue.contains(row.key))) {
    return;
  }
  lane.highestKey = std::max(lane.highestKey, row.key);
  if (row.state == MessageState::sent) {
    watch(lane, row.key, {.deadline = steadyDue(now, row.dueAt)});
  } else if (row.dueAt > now.wall) {
    delay(lane, row.key, {.wakeAt = steadyDue(now, row.dueAt), .until = steadyFar(now, row.dueAt)});
  } else {
    queueUnordered(lane, row.key);
  }
}

void Machine::Body::queueUnordered(Session& lane, MessageKey key) {
  if (lane.queue.insert(key) && lane.phase == Phase::idle) {
    wake(lane);
  }
}

void Machine::Body::delay(Session& lane, MessageKey key, const Delay& delay) {
  lane.delayed.insert_or_assign(key, delay);
  timers.add({.due = delay.wakeAt, .owner = lane.key, .key = key, .kind = Timers::Kind::row});
}

// Takes the lane's first message out as a session of its own. What it has waited out so far goes with it.
SessionClaim Machine::Body::takeUnit(Session& lane, const Now& now) {
  const MessageKey key = lane.queue.front();
  lane.queue.popFront();
  Session& unit = sessions.try_emplace(unitOf(key)).first->second;
  unit.key = unitOf(key);
  unit.peer = lane.peer;
  unit.lane = &lane;
  unit.priority = lane.priority;
  // Nothing comes after it, so there is nothing that it could block.
  unit.policy = {.retry = lane.policy.retry, .gap = GapPolicy::skip};
  unit.highestKey = key;
  unit.delayedKey = 0;
  if (const auto delayed = lane.delayed.find(key); delayed != lane.delayed.end()) {
    unit.delayedKey = key;
    unit.delayedUntil = delayed->second.until;
    lane.delayed.erase(delayed);
  }
  SessionClaim claim{.session = unit.key, .keys = {key}};
  noteWaited(unit, claim, now);
  return claim;
}

void Machine::Body::noteWaited(const Session& session, SessionClaim& claim, const Now& now) {
  if (session.delayedKey != 0 && now.steady >= session.delayedUntil &&
      std::binary_search(claim.keys.begin(), claim.keys.end(), session.delayedKey)) {
    claim.waited = session.delayedKey;
  }
}

// A unit that has nothing to do as a session any more. It is forgotten at the end of the event, which may still hold
// references to it.
void Machine::Body::retire(Session& unit) {
  unit.phase = Phase::idle;
  retired.push_back(unit.key);
}

// A unit whose request is over: back to the lane with it, unless it must go alone or in a small company.
bool Machine::Body::rejoinLane(Session& unit) {
  if (unit.queue.empty()) {
    retire(unit);
    return true;
  }
  const MessageKey key = unit.queue.front();
  if (unit.peer->suspects.contains(key) || unit.frameLimit > 0) {
    return false;
  }
  unit.queue.popFront();
  if (unit.delayedKey == key) {
    unit.lane->delayed.insert_or_assign(key, Delay{.wakeAt = {}, .until = unit.delayedUntil});
  }
  retire(unit);
  queueUnordered(*unit.lane, key);
  return true;
}

// A unit that waits does so in its lane, unless it must go alone: from the lane it would come back in company.
void Machine::Body::parkUnit(Session& unit, SteadyTime until) {
  if (!unit.queue.empty() && unit.peer->suspects.contains(unit.queue.front())) {
    unit.phase = Phase::backoff;
    unit.wakeAt = until;
    timers.add({.due = until, .owner = unit.key, .key = 0, .kind = Timers::Kind::session});
    return;
  }
  if (!unit.queue.empty()) {
    const MessageKey key = unit.queue.front();
    unit.queue.popFront();
    delay(*unit.lane, key,
          {.wakeAt = until, .until = unit.delayedKey == key ? std::max(until, unit.delayedUntil) : until});
  }
  retire(unit);
}

void Machine::Body::forgetUnordered(Session& lane, MessageKey key) {
  if (lane.delayed.erase(key) > 0) {
    timers.abandoned();
  }
  if (const auto unit = sessions.find(unitOf(key)); unit != sessions.end()) {
    unit->second.queue.erase(key);
  }
}

void Machine::Body::sweepRetired() {
  for (const SessionKey key : retired) {
    const auto place = sessions.find(key);
    if (place != sessions.end() && place->second.phase == Phase::idle && place->second.queue.empty()) {
      sessions.erase(place);
    }
  }
  retired.clear();
}

}  // namespace ackbox::delivery
