#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "delivery/due.hpp"
#include "delivery/machine_body.hpp"

namespace ackbox::delivery {
namespace {

// Before a peer is tried again that this process had nothing left to reach it with.
constexpr std::chrono::milliseconds kNotSentPause{250};

constexpr const char* kOutOfSequence = "out-of-sequence";

constexpr const char* kUnknownNumbers =
    "the peer knows messages of this session that this file does not: was the file restored from a backup?";

constexpr const char* kWrongAudience = "wrong-audience";

constexpr const char* kOtherAgent =
    "wrong-audience: the receiver is another agent than PeerOptions::agent says: correct it, or PeerOptions::url";

bool isTaken(const FrameResult& result) {
  return result.outcome == Outcome::ack || result.outcome == Outcome::defer;
}

// All frames of a request are for the same agent, so a receiver that is another one takes none of them: the peer's
// configuration is wrong, and no message is. Codes set by this process are skipped. Returns
// what the receiver says of it; null: it does not say so.
const FrameResult* otherAgent(std::span<const FrameResult> results) {
  const auto found = std::ranges::find_if(results, [](const FrameResult& result) {
    return result.outcome == Outcome::term && result.code == kWrongAudience && !result.decision;
  });
  return found == results.end() || std::ranges::any_of(results, isTaken) ? nullptr : &*found;
}

std::string withNote(const std::string& error, const std::string& note) {
  if (note.empty()) {
    return error;
  }
  return error.empty() ? note : error + "; " + note;
}

// An answer that does not say what became of each frame says nothing.
SendReport mismatch(const SendReport& answer) {
  SendReport report;
  report.outcome = RequestOutcome::peerUnavailable;
  report.status = answer.status;
  report.error = "the answer does not match the request";
  report.isUnclear = true;
  return report;
}

// How much had been decided before an answer.
struct Before {
  explicit Before(const Actions& actions)
      : identities(actions.identities.size()),
        settlements(actions.settlements.size()),
        releases(actions.releases.size()) {}
  std::size_t identities;
  std::size_t settlements;
  std::size_t releases;
};

bool showsReset(std::span<const PeerIdentity> identities) {
  return std::ranges::any_of(identities, [](const PeerIdentity& identity) {
    return identity.found == PeerResetKind::peerLost || identity.found == PeerResetKind::peerRestored;
  });
}

// What an answer settles was claimed with what the request knew.
void stamp(const Request& request, const SendReport& report, const Before& before, const Now& now, Actions& actions) {
  const bool isAfterReset = showsReset(std::span(actions.identities).subspan(before.identities));
  const auto settlements = std::span(actions.settlements).subspan(before.settlements);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now.steady - request.sentAt);
  for (Settlement& settlement : settlements) {
    settlement.took = took;
    settlement.status = report.status;
    settlement.recalls = request.recalls;
    settlement.isAfterReset = isAfterReset;
  }
  for (SessionRelease& release : std::span(actions.releases).subspan(before.releases)) {
    release.recalls = request.recalls;
    release.isAfterReset =
        isAfterReset && std::ranges::any_of(settlements, [&](const Settlement& settlement) {
          return settlement.session == release.session &&
                 (settlement.transition == Transition::ack || settlement.transition == Transition::defer);
        });
  }
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

void Machine::answered(RequestId request, const SendReport& report, const Now& now, Actions& actions) {
  const auto place = body_->requests.find(request);
  if (place == body_->requests.end() || place->second.claiming()) {
    return;
  }
  const Request known = std::move(place->second);
  body_->requests.erase(place);
  const Before before(actions);
  switch (report.outcome) {
    case RequestOutcome::answered:
      if (const FrameResult* const word = otherAgent(report.results)) {
        SendReport refusal;
        refusal.outcome = RequestOutcome::peerRefused;
        refusal.error = word->detail.empty() ? kOtherAgent : kOtherAgent + ("; it answers: " + word->detail);
        body_->giveBack(known, refusal.error, now, actions);
        body_->peerFailed(known, PeerHealth::Failure::refused, refusal, now, actions);
        break;
      }
      if (report.results.size() == known.items.size()) {
        body_->settle(known, report, now, actions);
        break;
      }
      body_->notTaken(known, PeerHealth::Failure::unavailable, mismatch(report), now, actions);
      break;
    case RequestOutcome::peerUnavailable:
      body_->notTaken(known, PeerHealth::Failure::unavailable, report, now, actions);
      break;
    case RequestOutcome::peerRefused:
      body_->notTaken(known, PeerHealth::Failure::refused, report, now, actions);
      break;
    case RequestOutcome::peerGone:
      body_->notTaken(known, PeerHealth::Failure::gone, report, now, actions);
      break;
    case RequestOutcome::connectionLost:
      body_->connectionLost(known, report, now, actions);
      break;
    case RequestOutcome::requestRejected:
      body_->requestRejected(known, report, now, actions);
      break;
    case RequestOutcome::cancelled:
      body_->giveBack(known, {}, now, actions);
      break;
    case RequestOutcome::notSent:
      // If it is memory that is short, less of it helps.
      known.peer->frameLimit = std::max(1U, static_cast<std::uint32_t>(known.items.size()) / 2);
      body_->giveBack(known, report.error, now, actions);
      body_->pausePeer(*known.peer, now.steady + kNotSentPause);
      break;
  }
  stamp(known, report, before, now, actions);
  body_->endRequest(known);
  body_->startRequests(now, actions);
}

void Machine::Body::settle(const Request& request, const SendReport& report, const Now& now, Actions& actions) {
  Peer& peer = *request.peer;
  if (isOfLostStore(request, report)) {
    giveBack(request, "the store that answered is lost", now, actions);
    return;
  }
  std::optional<PeerIdentity> outdated = whetherStale(request, report);
  meet(request, report, actions);
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
    // Not where others wait: to make room for a few at a time, again and again, would move them each time.
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

void Machine::Body::settleSession(Items items, std::span<const FrameResult> results, std::uint64_t predecessor,
                                  const SessionReport* progress, const Now& now, Actions& actions) {
  Session& session = *items.front().session;
  const bool hasForgotten = progress != nullptr && progress->accepted < predecessor;
  std::uint64_t standsBy = predecessor;
  std::optional<std::chrono::milliseconds> wait;
  const auto waitFor = [&wait](std::chrono::milliseconds delay) { wait = std::max(wait.value_or(delay), delay); };
  bool stopped = false;
  bool repeated = false;
  bool outOfSequence = false;
  bool reset = false;
  for (std::size_t index = 0; index < items.size(); ++index) {
    const ClaimedRow& row = items[index].row;
    const FrameResult& result = results[index];
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
        if (outOfSequence || (result.held && (stopped || repeated))) {
          // It was not attempted: released as the verdict stands.
        } else if (refusedForSequence && items[index].previousSequence != 0 &&
                   (hasForgotten || !session.sequenceReset)) {
          reset = true;
        } else if (isOverLimit(result)) {
          verdict = unchargedVerdict(row, result, isPastHorizon(session, row, now), random);
          if (verdict.transition == Transition::fail || result.decision) {
            decide(session, row, result, now, verdict);
          }
        } else {
          // Also what claims to be held by nothing that we know of: a peer cannot keep a message for ever for free.
          verdict = chargedVerdict(retryOf(session), row, result, isPastHorizon(session, row, now), now.wall, random);
          decide(session, row, result, now, verdict);
        }
        outOfSequence = outOfSequence || refusedForSequence;
        break;
      }
    }
    stopped = stopped || result.outcome != Outcome::ack;
    repeated = repeated || result.duplicate;
    absolve(*session.peer, row.key);
    if (verdict.transition == Transition::ack || verdict.transition == Transition::defer) {
      standsBy = std::max(standsBy, row.sequence);
    } else if (verdict.transition != Transition::fail) {
      session.queue.insert(row.key);
    }
    if (verdict.transition == Transition::retry ||
        (verdict.transition == Transition::release && verdict.delay.count() > 0)) {
      waitFor(verdict.delay);
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

  session.frameLimit = 0;
  session.refusedAt = 0;
  session.sequenceReset = outOfSequence && (reset || session.sequenceReset);
  SessionRelease ended;
  if (hasForgotten) {
    ended.previousSequence = progress->accepted;
  } else if (reset) {
    // It does not say what it knows, so nothing is claimed of it.
    ended.previousSequence = 0;
    recallDeferred(session, items, now, actions);
  } else if (standsBy > predecessor) {
    ended.previousSequence = standsBy;
  }
  if (wait) {
    ended.dueAt = now.wall + *wait;
    ended.isFirm = *wait > kWaitMax;
    park(session, Phase::backoff, now.steady + *wait);
  } else {
    wake(session);
  }
  release(session, ended, actions);
}

// A peer that does not know our predecessor has lost what it deferred, too; with a later frame accepted it would call
// those duplicates. Where it says what it knows, the store puts them back, for whichever process waits for them.
void Machine::Body::recallDeferred(Session& session, Items items, const Now& now, Actions& actions) {
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

void Machine::Body::giveBack(const Request& request, const std::string& error, const Now& now, Actions& actions) {
  forEachSession(request.items, [&](std::size_t first, std::size_t count) {
    giveBackSession(Items(request.items).subspan(first, count), error, now, actions);
  });
}

void Machine::Body::giveBackSession(Items items, const std::string& error, const Now& now, Actions& actions) {
  Session& session = *items.front().session;
  // From the back, so that each key lands in the slot in front of the other.
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

void Machine::Body::giveBackLater(const Request& request, const std::string& error, std::chrono::milliseconds delay,
                                  const Now& now, Actions& actions) {
  const Request::Item& only = request.items.front();
  Session& session = *only.session;
  session.queue.insert(only.row.key);
  // Outside sessions the row's own wait is what `explain` shows.
  Verdict waits;
  waits.delay = isUnit(session.key) ? delay : std::chrono::milliseconds(0);
  actions.settlements.push_back(settlementOf(session.key, only.row, waits, now.wall));
  actions.settlements.back().error = error;
  SessionRelease ended;
  ended.dueAt = now.wall + delay;
  release(session, ended, actions);
  park(session, Phase::backoff, now.steady + delay);
}

void Machine::Body::failOnly(const Request& request, const char* reason, const std::string& error, const Now& now,
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

void Machine::Body::settleOnly(const Request& request, Verdict verdict, const std::string& error, const Now& now,
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

void Machine::Body::decide(const Session& session, const ClaimedRow& row, const FrameResult& result, const Now& now,
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

void Machine::Body::peerFailed(const Request& request, PeerHealth::Failure failure, const SendReport& report,
                               const Now& now, Actions& actions) {
  Peer& peer = *request.peer;
  const std::string error = report.error.empty() ? std::string(toString(report.outcome)) : report.error;
  const std::uint32_t inRow = peer.refusals.inRow();
  const std::uint32_t repeated = std::max(inRow, 1U) - 1;
  const PeerHealth::Evidence evidence{.refused = inRow - std::min(repeated, peer.refusals.inRowByChance()),
                                      .hasOthers = hasOthersToAsk(peer),
                                      .byChance = std::min(repeated, peer.refusals.inRowByOwn()),
                                      .isUnclear = isUnclear(report)};
  if (!peer.health.failed(request.epoch, failure, error, report.retryAfter, evidence, options.peerHealth, random,
                          now)) {
    return;
  }
  peer.recordedDown = true;
  peer.sawDisabled = failure == PeerHealth::Failure::gone;
  // It comes back gently: one frame, one request, doubled by each answer.
  peer.rampRequests = 1;
  peer.frameLimit = 1;
  actions.peers.push_back(peer.health.record(peer.key));
  if (peer.health.hold() != PeerHold::disabled) {
    timers.add({.due = peer.health.probeAt(), .owner = peer.key, .key = 0, .kind = Timers::Kind::probe});
  }
}

void Machine::Body::peerAnswered(Peer& peer, Actions& actions) {
  if (peer.health.succeeded() || peer.recordedDown) {
    peer.recordedDown = false;
    actions.peers.push_back(peer.health.record(peer.key));
  }
}

// A request of many is halved until the one that loses the connection, if it is one, is alone in a request; only then
// is it a suspect, which the peer's other requests stand back for. So a network that loses connections makes requests
// smaller for a while, and no more.
void Machine::Body::connectionLost(const Request& request, const SendReport& report, const Now& now, Actions& actions) {
  Peer& peer = *request.peer;
  const Request::Item& only = request.items.front();
  const auto frames = static_cast<std::uint32_t>(request.items.size());
  const bool isClosedIn = frames == 1 && only.session->frameLimit == 1;
  for (const Request::Item& item : request.items) {
    item.session->frameLimit = std::max(1U, frames / 2);
  }
  Suspects::Strike strike;
  if (isClosedIn) {
    peer.suspects.add(only.row.key);
    if (peer.alone == request.id) {
      strike = peer.suspects.strike(only.row.key, options.peerHealth, now.steady);
    }
  }
  if (strike.isKiller) {
    failOnly(request, "peer-killer", report.error, now, actions);
  } else if (strike.count > 0) {
    // Uncharged, but no quicker than if it were charged: what kills a peer must not be thrown at it again and again.
    giveBackLater(request, report.error, boundedWait(retryDelay(retryOf(*only.session), strike.count, random)), now,
                  actions);
  } else {
    giveBack(request, report.error, now, actions);
  }
  if (peer.health.lost(request.epoch, options.peerHealth)) {
    peerFailed(request, PeerHealth::Failure::unavailable, report, now, actions);
  }
}

void Machine::Body::requestRejected(const Request& request, const SendReport& report, const Now& now,
                                    Actions& actions) {
  Peer& peer = *request.peer;
  if (peer.disowned.empty()) {
    peerAnswered(peer, actions);
  } else {
    keepDisowned(request, now, actions);
  }
  const auto frames = static_cast<std::uint32_t>(request.items.size());
  if (frames == 1) {
    peer.refusals.answered(request.id, false, now.steady);
    failOnly(request, "rejected-request", report.error, now, actions);
    return;
  }
  peer.frameLimit = std::max(1U, std::min(peer.frameLimit, frames) / 2);
  // The peer's limit grows again with every answer; the sessions of this request keep theirs until they get one, so
  // that a frame that cannot be read is closed in on, whatever else is answered meanwhile.
  for (const Request::Item& item : request.items) {
    item.session->frameLimit = frames / 2;
  }
  giveBack(request, report.error, now, actions);
}

}  // namespace ackbox::delivery
