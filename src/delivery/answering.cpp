#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {
namespace {

// The pause of a peer after this process lacked the resources to send to it.
constexpr std::chrono::milliseconds kNotSentPause{250};

constexpr const char* kWrongAudience = "wrong-audience";

constexpr const char* kOtherAgent =
    "wrong-audience: the receiver is another agent than the peer's `agent`: correct the peer's `agent` or `url`";

// All frames of a request are for the same agent, so a receiver that is another agent takes none of them: the peer's
// configuration is wrong, not a message. Skips codes set by this process. Returns the receiver's result that reports
// this; null: none does.
const FrameResult* otherAgent(std::span<const FrameResult> results) {
  const auto found = std::ranges::find_if(results, [](const FrameResult& result) {
    return result.outcome == Outcome::term && result.code == kWrongAudience && !result.decision;
  });
  return found == results.end() || std::ranges::any_of(results, isTaken) ? nullptr : &*found;
}

// An answer without a result for each frame counts as no answer.
SendReport mismatch(const SendReport& answer) {
  SendReport report;
  report.outcome = RequestOutcome::peerUnavailable;
  report.status = answer.status;
  report.error = "the answer does not match the request";
  report.isUnclear = true;
  return report;
}

// The number of decisions made before an answer.
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

// Adds the request's data to the settlements and releases that its answer caused.
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
      // If memory is short, a smaller request helps.
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
  // The peer comes back slowly: one frame, one request, doubled by each answer.
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

// Requests are halved until the message that loses the connection, if there is one, is alone in a request; only then is
// it a suspect, and the peer's other requests wait for it. A network that loses connections therefore only makes
// requests smaller for a while.
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
    // Uncharged, but no faster than a charged retry: a message that crashes a peer must not be sent quickly again.
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
  // that an unreadable frame is isolated, whatever else is answered meanwhile.
  for (const Request::Item& item : request.items) {
    item.session->frameLimit = frames / 2;
  }
  giveBack(request, report.error, now, actions);
}

}  // namespace ackbox::delivery
