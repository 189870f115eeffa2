#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {
namespace {

// Before a peer is tried again that this process had nothing left to reach it with.
constexpr std::chrono::milliseconds kNotSentPause{250};

constexpr const char* kWrongAudience = "wrong-audience";

constexpr const char* kOtherAgent =
    "wrong-audience: the receiver is another agent than PeerOptions::agent says: correct it, or PeerOptions::url";

// All frames of a request are for the same agent, so a receiver that is another one takes none of them: the peer's
// configuration is wrong, and no message is. Codes set by this process are skipped. Returns
// what the receiver says of it; null: it does not say so.
const FrameResult* otherAgent(std::span<const FrameResult> results) {
  const auto found = std::ranges::find_if(results, [](const FrameResult& result) {
    return result.outcome == Outcome::term && result.code == kWrongAudience && !result.decision;
  });
  return found == results.end() || std::ranges::any_of(results, isTaken) ? nullptr : &*found;
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

}  // namespace

void Machine::answered(RequestId request, const SendReport& report, const Now& now, Actions& actions) {
  const auto place = impl_->requests.find(request);
  if (place == impl_->requests.end() || place->second.claiming()) {
    return;
  }
  const Request known = std::move(place->second);
  impl_->requests.erase(place);
  const Before before(actions);
  switch (report.outcome) {
    case RequestOutcome::answered:
      if (const FrameResult* const word = otherAgent(report.results)) {
        SendReport refusal;
        refusal.outcome = RequestOutcome::peerRefused;
        refusal.error = word->detail.empty() ? kOtherAgent : kOtherAgent + ("; it answers: " + word->detail);
        impl_->giveBack(known, refusal.error, now, actions);
        impl_->peerFailed(known, PeerHealth::Failure::refused, refusal, now, actions);
        break;
      }
      if (report.results.size() == known.items.size()) {
        impl_->settle(known, report, now, actions);
        break;
      }
      impl_->notTaken(known, PeerHealth::Failure::unavailable, mismatch(report), now, actions);
      break;
    case RequestOutcome::peerUnavailable:
      impl_->notTaken(known, PeerHealth::Failure::unavailable, report, now, actions);
      break;
    case RequestOutcome::peerRefused:
      impl_->notTaken(known, PeerHealth::Failure::refused, report, now, actions);
      break;
    case RequestOutcome::peerGone:
      impl_->notTaken(known, PeerHealth::Failure::gone, report, now, actions);
      break;
    case RequestOutcome::connectionLost:
      impl_->connectionLost(known, report, now, actions);
      break;
    case RequestOutcome::requestRejected:
      impl_->requestRejected(known, report, now, actions);
      break;
    case RequestOutcome::cancelled:
      impl_->giveBack(known, {}, now, actions);
      break;
    case RequestOutcome::notSent:
      // If it is memory that is short, less of it helps.
      known.peer->frameLimit = std::max(1U, static_cast<std::uint32_t>(known.items.size()) / 2);
      impl_->giveBack(known, report.error, now, actions);
      impl_->pausePeer(*known.peer, now.steady + kNotSentPause);
      break;
  }
  stamp(known, report, before, now, actions);
  impl_->endRequest(known);
  impl_->startRequests(now, actions);
}

void Machine::Impl::peerFailed(const Request& request, PeerHealth::Failure failure, const SendReport& report,
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

void Machine::Impl::peerAnswered(Peer& peer, Actions& actions) {
  if (peer.health.succeeded() || peer.recordedDown) {
    peer.recordedDown = false;
    actions.peers.push_back(peer.health.record(peer.key));
  }
}

// A request of many is halved until the one that loses the connection, if it is one, is alone in a request; only then
// is it a suspect, which the peer's other requests stand back for. So a network that loses connections makes requests
// smaller for a while, and no more.
void Machine::Impl::connectionLost(const Request& request, const SendReport& report, const Now& now, Actions& actions) {
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

void Machine::Impl::requestRejected(const Request& request, const SendReport& report, const Now& now,
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
