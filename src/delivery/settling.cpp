#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {
namespace {

constexpr const char* kOutOfSequence = "out-of-sequence";

constexpr const char* kUnknownNumbers =
    "the peer knows messages of this session that this outbox does not: was it restored from a backup?";

std::string withNote(const std::string& error, const std::string& note) {
  if (note.empty()) {
    return error;
  }
  return error.empty() ? note : error + "; " + note;
}

// Calls `visit(first, count)` for each run of items of one session.
template <typename Visit>
void forEachSession(std::span<const Request::Item> items, Visit visit) {
  std::size_t first = 0;
  while (first < items.size()) {
    std::size_t end = first + 1;
    while (end < items.size() && items[end].session == items[first].session) {
      ++end;
    }
    visit(first, end - first);
    first = end;
  }
}

}  // namespace

void Machine::Impl::settle(const Request& request, const SendReport& report, const Now& now, Actions& actions) {
  Peer& peer = *request.peer;
  if (isOfLostStore(request, report)) {
    giveBack(request, "the store that answered is lost", now, actions);
    return;
  }
  std::optional<PeerIdentity> outdated = whetherStale(request, report);
  notePeerStore(request, report, actions);
  peer.frameLimit = std::min(options.batchFrames, peer.frameLimit * 2);
  peer.rampRequests = std::min(peer.maxRequests, peer.rampRequests) * 2;
  if (report.creditFrames > 0) {
    peer.creditFrames = report.creditFrames;
  }
  if (report.creditBytes > 0) {
    peer.creditBytes = report.creditBytes;
  }
  std::size_t run = 0;
  std::size_t nextReport = 0;
  if (actions.settlements.empty()) {
    // Only for an empty list: repeated small reservations would move the existing settlements each time.
    actions.settlements.reserve(request.items.size());
  }
  const std::span<const FrameResult> results(report.results);
  forEachSession(request.items, [&](std::size_t first, std::size_t count) {
    const Items items = Items(request.items).subspan(first, count);
    const std::uint64_t predecessor = request.predecessors[run];
    const std::uint64_t confirmed = std::max(request.confirmed[run], predecessor);
    ++run;
    const SessionReport* progress = reportOf(report, first, items, nextReport);
    if (progress == nullptr || !mistrusts(items, confirmed, *progress)) {
      if (progress != nullptr) {
        own(peer, items.front().session->key);
      }
      settleSession(items, results.subspan(first, count), predecessor, progress, now, actions);
      if (progress != nullptr && progress->accepted < predecessor) {
        reportForgotten(request, *items.front().session, predecessor, *progress, report, actions);
      }
      items.front().session->restoresSeen = peer.restores;
      return;
    }
    giveBackSession(items, kUnknownNumbers, now, actions);
    if (progress->isOther) {
      outdated = selfRestored(peer.key, *items.front().session, confirmed, progress->accepted);
    }
  });
  if (outdated) {
    disown(request, *outdated, now, actions);
  } else if (!peer.disowned.empty()) {
    keepDisowned(request, now, actions);
  } else {
    peerAnswered(peer, actions);
    peer.refusals.answered(request.id, std::ranges::any_of(results, isTaken), now.steady);
  }
}

// The state of a session's answer, updated frame by frame in order.
struct Machine::Impl::SessionAnswer {
  SessionAnswer(std::uint64_t predecessor, const SessionReport* progress)
      : hasForgotten(progress != nullptr && progress->accepted < predecessor), standsBy(predecessor) {}

  void waitFor(std::chrono::milliseconds delay) { wait = std::max(wait.value_or(delay), delay); }

  // The peer reports less of the session than it had.
  const bool hasForgotten;
  // The last number that the peer has.
  std::uint64_t standsBy;
  std::optional<std::chrono::milliseconds> wait;
  bool stopped = false;
  bool repeated = false;
  bool outOfSequence = false;
  bool reset = false;
};

void Machine::Impl::settleSession(Items items, std::span<const FrameResult> results, std::uint64_t predecessor,
                                  const SessionReport* progress, const Now& now, Actions& actions) {
  Session& session = *items.front().session;
  SessionAnswer answer(predecessor, progress);
  for (std::size_t index = 0; index < items.size(); ++index) {
    settleFrame(session, items[index], results[index], answer, now, actions);
  }
  session.frameLimit = 0;
  session.refusedAt = 0;
  session.sequenceReset = answer.outOfSequence && (answer.reset || session.sequenceReset);
  SessionRelease ended;
  if (answer.hasForgotten) {
    ended.previousSequence = progress->accepted;
  } else if (answer.reset) {
    // The peer does not report what it has accepted, so no predecessor is stated.
    ended.previousSequence = 0;
    recallDeferred(session, items, now, actions);
  } else if (answer.standsBy > predecessor) {
    ended.previousSequence = answer.standsBy;
  }
  if (answer.wait) {
    ended.dueAt = now.wall + *answer.wait;
    ended.isFirm = *answer.wait > kWaitMax;
    park(session, Phase::backoff, now.steady + *answer.wait);
  } else {
    wake(session);
  }
  release(session, ended, actions);
}

Verdict Machine::Impl::verdictOn(Session& session, const Request::Item& item, const FrameResult& result,
                                 SessionAnswer& answer, const Now& now) {
  const ClaimedRow& row = item.row;
  Verdict verdict;
  switch (result.outcome) {
    case Outcome::ack:
      verdict.transition = Transition::ack;
      break;
    case Outcome::defer:
      verdict.transition = Transition::defer;
      verdict.delay = ackWait(session, row.key);
      break;
    case Outcome::term:
      if (!isStale(result)) {
        verdict = termVerdict(result);
        decide(session, row, result, now, verdict);
      }
      break;
    case Outcome::nack: {
      const bool refusedForSequence = result.code == kOutOfSequence;
      if (answer.outOfSequence || (result.held && (answer.stopped || answer.repeated))) {
        // The frame was not attempted: the verdict stays `release`.
      } else if (refusedForSequence && item.previousSequence != 0 && (answer.hasForgotten || !session.sequenceReset)) {
        answer.reset = true;
      } else if (isOverLimit(result)) {
        verdict = unchargedVerdict(row, result, isPastHorizon(session, row, now), random);
        if (verdict.transition == Transition::fail || result.decision) {
          decide(session, row, result, now, verdict);
        }
      } else {
        // Includes a frame that is held without a known cause: a peer cannot hold a message for ever uncharged.
        verdict = chargedVerdict(retryOf(session), row, result, isPastHorizon(session, row, now), now.wall, random);
        decide(session, row, result, now, verdict);
      }
      answer.outOfSequence = answer.outOfSequence || refusedForSequence;
      break;
    }
  }
  answer.stopped = answer.stopped || result.outcome != Outcome::ack;
  answer.repeated = answer.repeated || result.duplicate;
  return verdict;
}

void Machine::Impl::settleFrame(Session& session, const Request::Item& item, const FrameResult& result,
                                SessionAnswer& answer, const Now& now, Actions& actions) {
  const ClaimedRow& row = item.row;
  Verdict verdict = verdictOn(session, item, result, answer, now);
  absolve(*session.peer, row.key);
  if (verdict.transition == Transition::ack || verdict.transition == Transition::defer) {
    answer.standsBy = std::max(answer.standsBy, row.sequence);
  } else if (verdict.transition != Transition::fail) {
    session.queue.insert(row.key);
  }
  if (verdict.transition == Transition::retry ||
      (verdict.transition == Transition::release && verdict.delay.count() > 0)) {
    answer.waitFor(verdict.delay);
  } else if (verdict.transition == Transition::defer) {
    watch(session, row.key,
          {.deadline = now.steady + verdict.delay, .sequence = row.sequence, .retryCount = row.retryCount});
  }
  if (verdict.transition != Transition::defer && verdict.transition != Transition::release) {
    keeperOf(session).reasks.erase(row.key);
  }
  std::string error = withNote(errorText(result), verdict.note);
  Settlement settlement = settlementOf(session.key, row, std::move(verdict), now.wall);
  settlement.error = std::move(error);
  settlement.duplicate = result.duplicate;
  settlement.result = result.result;
  if (result.unattended) {
    settlement.unattendedSince = now.wall - *result.unattended;
  }
  actions.settlements.push_back(std::move(settlement));
}

// A peer that does not know the predecessor has lost its deferred frames, too; once it accepts a later frame, it would
// answer them as duplicates. If it reports what it has accepted, the store puts them back for any process.
void Machine::Impl::recallDeferred(Session& session, Items items, const Now& now, Actions& actions) {
  std::vector<MessageKey> others;
  for (const auto& deferred : session.deferred) {
    const MessageKey key = deferred.first;
    if (std::none_of(items.begin(), items.end(), [&](const Request::Item& item) { return item.row.key == key; })) {
      others.push_back(key);
    }
  }
  for (const MessageKey key : others) {
    recall(session, key, "the peer no longer knows its session", now, actions);
    timers.abandoned();
  }
}

void Machine::Impl::giveBack(const Request& request, const std::string& error, const Now& now, Actions& actions) {
  forEachSession(request.items, [&](std::size_t first, std::size_t count) {
    giveBackSession(Items(request.items).subspan(first, count), error, now, actions);
  });
}

void Machine::Impl::giveBackSession(Items items, const std::string& error, const Now& now, Actions& actions) {
  Session& session = *items.front().session;
  // From the back, so that each key goes into the slot in front of the previous one.
  for (std::size_t index = items.size(); index > 0; --index) {
    session.queue.insert(items[index - 1].row.key);
  }
  for (const Request::Item& item : items) {
    actions.settlements.push_back(settlementOf(session.key, item.row, {}, now.wall));
    actions.settlements.back().error = error;
  }
  release(session, {}, actions);
  wake(session);
}

void Machine::Impl::giveBackLater(const Request& request, const std::string& error, std::chrono::milliseconds delay,
                                  const Now& now, Actions& actions) {
  const Request::Item& only = request.items.front();
  Session& session = *only.session;
  session.queue.insert(only.row.key);
  // Outside sessions, `explain` shows the row's own wait.
  Verdict waits;
  waits.delay = isUnit(session.key) ? delay : std::chrono::milliseconds(0);
  actions.settlements.push_back(settlementOf(session.key, only.row, waits, now.wall));
  actions.settlements.back().error = error;
  SessionRelease ended;
  ended.dueAt = now.wall + delay;
  release(session, ended, actions);
  park(session, Phase::backoff, now.steady + delay);
}

void Machine::Impl::failOnly(const Request& request, const char* reason, const std::string& error, const Now& now,
                             Actions& actions) {
  const Request::Item& only = request.items.front();
  absolve(*request.peer, only.row.key);
  Verdict verdict{.transition = Transition::fail, .reason = reason, .delay = {}, .note = {}};
  FrameResult result;
  result.code = reason;
  result.detail = error;
  decide(*only.session, only.row, result, now, verdict);
  settleOnly(request, std::move(verdict), error, now, actions);
}

void Machine::Impl::settleOnly(const Request& request, Verdict verdict, const std::string& error, const Now& now,
                               Actions& actions) {
  const Request::Item& only = request.items.front();
  Session& session = *only.session;
  SessionRelease ended;
  session.frameLimit = 0;
  session.refusedAt = 0;
  std::string noted = withNote(error, verdict.note);
  const bool retries = verdict.transition == Transition::retry;
  keeperOf(session).reasks.erase(only.row.key);
  const std::chrono::milliseconds delay = verdict.delay;
  actions.settlements.push_back(settlementOf(session.key, only.row, std::move(verdict), now.wall));
  actions.settlements.back().error = std::move(noted);
  if (retries) {
    session.queue.insert(only.row.key);
    ended.dueAt = now.wall + delay;
    ended.isFirm = delay > kWaitMax;
    release(session, ended, actions);
    park(session, Phase::backoff, now.steady + delay);
  } else {
    release(session, ended, actions);
    wake(session);
  }
}

void Machine::Impl::decide(const Session& session, const ClaimedRow& row, const FrameResult& result, const Now& now,
                           Verdict& verdict) const {
  if (result.decision) {
    apply(*result.decision, now.wall, verdict);
  } else if (options.onFailure) {
    try {
      apply(options.onFailure({.session = session.unorderedQueue == nullptr ? session.key : session.unorderedQueue->key,
                               .row = row,
                               .now = now.wall,
                               .code = result.code,
                               .detail = result.detail,
                               .isFinal = verdict.transition == Transition::fail,
                               .reason = verdict.reason}),
            now.wall, verdict);
    } catch (const std::exception& error) {
      verdict.note = std::string("the failure function threw: ") + error.what();
    } catch (...) {
      verdict.note = "the failure function threw";
    }
  }
  verdict.blocks = verdict.blocks || (session.policy.gap == GapPolicy::block &&
                                      verdict.transition == Transition::fail && !verdict.discards);
}

}  // namespace ackbox::delivery
