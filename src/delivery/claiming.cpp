#include <algorithm>
#include <utility>

#include "delivery/check.hpp"
#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {
namespace {

// The pause before the next claim if the store answers `notDue` for an instant that has passed here.
constexpr std::chrono::milliseconds kAskAgainMin(1);

// A claim that names this many more than it may take finds the first waiting message of most sessions, however many
// processes deliver; a longer one costs the store more than a second claim.
constexpr std::uint32_t kSurplusMax = 64;
// After a session that another process holds, the machine goes on behind less than this many others. Otherwise all
// processes come by the same sessions in the same order, and the slower ones meet the first one's again and again.
constexpr std::uint64_t kPassedOverMax = 64;

}  // namespace

void Machine::claimed(RequestId request, std::span<const SessionClaimed> sessions, std::uint64_t ownEpoch,
                      const Now& now, Actions& actions) {
  const auto place = impl_->requests.find(request);
  if (place == impl_->requests.end() || !place->second.claiming()) {
    return;
  }
  Request& known = place->second;
  known.ownEpoch = ownEpoch;
  check(std::ranges::equal(sessions, *known.asked, {}, &SessionClaimed::session, &SessionClaim::session),
        "a claim is answered for each session asked for, in that order");
  Peer& peer = *known.peer;
  Impl::Filling filling;
  filling.bytesMax = impl_->bytesMax(peer);
  const auto answered = std::exchange(known.asked, nullptr);
  const std::vector<SessionClaim>& asked = *answered;
  for (std::size_t index = 0; index < asked.size(); ++index) {
    impl_->take(known, asked[index], sessions[index], filling, now, actions);
  }
  if (peer.bucket.limits()) {
    peer.bucket.giveBack(known.framesMax - known.items.size());
  }
  if (known.outdated) {
    const Request disowned = std::move(known);
    impl_->requests.erase(place);
    impl_->giveBack(disowned, {}, now, actions);
    impl_->disown(disowned, *disowned.outdated, now, actions);
    impl_->endRequest(disowned);
  } else if (known.items.empty()) {
    impl_->endRequest(known);
    impl_->requests.erase(place);
  } else {
    known.sentAt = now.steady;
    Actions::Send send{.request = request, .peer = peer.key, .items = {}};
    send.items.reserve(known.items.size());
    for (const Request::Item& item : known.items) {
      send.items.push_back(
          {.session = item.session->key, .key = item.row.key, .previousSequence = item.previousSequence});
    }
    actions.sends.push_back(std::move(send));
  }
  impl_->startRequests(now, actions);
}

void Machine::claimFailed(RequestId request, std::chrono::milliseconds pause, const Now& now, Actions& actions,
                          bool isTooLarge) {
  const auto place = impl_->requests.find(request);
  if (place == impl_->requests.end() || !place->second.claiming()) {
    return;
  }
  const Request known = std::move(place->second);
  impl_->requests.erase(place);
  for (const SessionClaim& claim : *known.asked) {
    Session& session = impl_->sessions.at(claim.session);
    impl_->putBack(session, claim.keys);
    impl_->wake(session);
  }
  impl_->endRequest(known);
  Peer& peer = *known.peer;
  if (peer.bucket.limits()) {
    peer.bucket.giveBack(known.framesMax);
  }
  if (isTooLarge) {
    peer.frameLimit = std::max(1U, std::min(peer.frameLimit, static_cast<std::uint32_t>(known.framesMax)) / 2);
    peer.rampRequests = 1;
  }
  impl_->pausePeer(peer, now.steady + boundedWait(pause));
  impl_->startRequests(now, actions);
}

void Machine::Impl::take(Request& request, const SessionClaim& asked, const SessionClaimed& got, Filling& filling,
                         const Now& now, Actions& actions) {
  Session& session = sessions.at(asked.session);
  setPriority(session, got.priority.value_or(session.priority));
  switch (got.status) {
    case ClaimStatus::busy:
      putBack(session, asked.keys);
      park(session, Phase::foreign, now.steady + options.sharedPollInterval);
      session.peer->ready.passOver(random.next() % kPassedOverMax);
      return;
    case ClaimStatus::notDue:
      putBack(session, asked.keys);
      if (got.delayed != 0) {
        // A later answer may be better: the calendar may have been wrong at the first one.
        const SteadyTime until = steadyFar(now, got.dueAt);
        session.delayedUntil = session.delayedKey == got.delayed ? std::min(session.delayedUntil, until) : until;
        session.delayedKey = got.delayed;
      }
      park(session, Phase::backoff, std::max(steadyDue(now, got.dueAt), now.steady + kAskAgainMin));
      return;
    case ClaimStatus::halted:
      putBack(session, asked.keys);
      session.request = 0;
      session.phase = Phase::halted;
      halted.insert(session.key);
      return;
    case ClaimStatus::full:
      putBack(session, asked.keys);
      wake(session);
      return;
    case ClaimStatus::outdated:
      putBack(session, asked.keys);
      wake(session);
      // The next probe checks again, because the peer's file may be another one by then.
      session.doubt.reset();
      request.outdated = selfRestored(session.peer->key, session, got.confirmedSequence, asked.doubt->sequence);
      return;
    case ClaimStatus::claimed:
      break;
  }
  if (asked.doubt) {
    own(*session.peer, session.key);
  }
  session.doubt.reset();
  putBackUnclaimed(session, asked, got);
  for (const DeferredRow& row : got.deferred) {
    absolve(*session.peer, row.key);
    watch(session, row.key, {.deadline = steadyDue(now, row.dueAt)});
  }
  const std::size_t before = request.items.size();
  takeRows(request, session, got, filling, now, actions);
  if (request.items.size() == before) {
    release(session, {}, actions);
    wake(session);
  } else {
    request.predecessors.push_back(got.previousSequence);
    request.confirmed.push_back(got.confirmedSequence);
  }
}

void Machine::Impl::takeRows(Request& request, Session& session, const SessionClaimed& got, Filling& filling,
                             const Now& now, Actions& actions) {
  if (!got.rows.empty()) {
    session.delayedKey = 0;
  }
  std::uint64_t predecessor = got.previousSequence;
  bool cut = false;
  for (const ClaimedRow& row : got.rows) {
    // The peer is asked for the end of a message that it has deferred: it may have taken effect before its expiry.
    const bool isWithPeer = keeperOf(session).reasks.contains(row.key);
    std::string reason = cut ? std::string() : whyNotSend(row, isWithPeer, isPastHorizon(session, row, now), now.wall);
    if (!reason.empty()) {
      absolve(*session.peer, row.key);
      keeperOf(session).reasks.erase(row.key);
      const bool blocks = session.policy.gap == GapPolicy::block;
      actions.settlements.push_back(settlementOf(
          session.key, row,
          {.transition = Transition::fail, .reason = std::move(reason), .blocks = blocks, .delay = {}, .note = {}},
          now.wall));
      // No row passes a dead letter that blocks; the rows before it are still sent.
      cut = blocks;
      continue;
    }
    // After a row that does not fit, none is sent: a later, smaller row would overtake it.
    const std::uint64_t bytes = wireBytes(row.dataBytes);
    filling.full = filling.full || (!request.items.empty() && filling.bytes + bytes > filling.bytesMax);
    cut = cut || filling.full;
    if (cut) {
      actions.settlements.push_back(settlementOf(session.key, row, {}, now.wall));
      session.queue.insert(row.key);
      continue;
    }
    filling.bytes += bytes;
    // A repeated frame must not name itself or a successor as its predecessor.
    request.items.push_back({.session = &session,
                             .row = row,
                             .previousSequence = std::min(predecessor, std::max<std::uint64_t>(row.sequence, 1) - 1)});
    predecessor = std::max(predecessor, row.sequence);
  }
}

// A requested row that is missing before the last row found is gone. Rows behind that one may be gone or just not
// reached, so they are asked for again, unless no row was found at all.
void Machine::Impl::putBackUnclaimed(Session& session, const SessionClaim& asked, const SessionClaimed& got) {
  const bool foundNone = got.rows.empty() && got.deferred.empty();
  MessageKey last = got.rows.empty() ? 0 : got.rows.back().key;
  for (const DeferredRow& row : got.deferred) {
    last = got.rows.empty() && &row == &got.deferred.front() ? row.key : std::max(last, row.key);
  }
  std::size_t nextRow = 0;
  std::uint32_t gone = 0;
  for (const MessageKey key : asked.keys) {
    if (nextRow < got.rows.size() && got.rows[nextRow].key == key) {
      ++nextRow;
    } else if (!foundNone && key > last) {
      session.queue.insert(key);
    } else {
      const bool isDeferred = std::any_of(got.deferred.begin(), got.deferred.end(),
                                          [key](const DeferredRow& row) { return row.key == key; });
      if (!isDeferred) {
        absolve(*session.peer, key);
        ++gone;
      }
    }
  }
  // So that it grows where other processes deliver a third of the messages, and not where an operator has deleted some.
  std::uint32_t& surplus = session.peer->surplus;
  surplus = std::min(surplus + 2 * gone, kSurplusMax);
  surplus -= std::min(surplus, static_cast<std::uint32_t>(got.rows.size()));
}

void Machine::Impl::release(const Session& session, SessionRelease release, Actions& actions) {
  if (!isUnit(session.key)) {
    release.session = session.key;
    release.head = session.queue.empty() ? 0 : session.queue.front();
    actions.releases.push_back(release);
  }
}

void Machine::Impl::putBack(Session& session, std::span<const MessageKey> keys) {
  // From the back, so that each key goes into the slot in front of the previous one.
  for (std::size_t index = keys.size(); index > 0; --index) {
    session.queue.insert(keys[index - 1]);
  }
}

}  // namespace ackbox::delivery
