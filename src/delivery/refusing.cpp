// Whether a request failed because of its message or because of its peer. A refusal alone does not show it; another
// message to the same peer does. So each attempt uses another message. Once one is taken, those refused before are
// tried once more. A message that is then refused is at fault itself: it waits alone, and is charged unless the answer
// names an outage. As long as none is taken, the peer waits and no message is charged (P8, P12).

#include <algorithm>
#include <string>
#include <utility>

#include "delivery/due.hpp"
#include "delivery/machine_impl.hpp"

namespace ackbox::delivery {
namespace {

constexpr const char* kOnlyOne =
    "; no other message waits to ask this peer with, so whether the message or the peer is at fault shows with the "
    "next";

// A refused message that occupied a request for this long goes behind messages that were never tried.
constexpr std::chrono::milliseconds kLateAfter{250};

}  // namespace

bool Machine::Impl::isUnclear(const SendReport& report) {
  return report.outcome == RequestOutcome::peerUnavailable && report.isUnclear && !report.retryAfter;
}

void Machine::Impl::notTaken(const Request& request, PeerHealth::Failure failure, const SendReport& report,
                             const Now& now, Actions& actions) {
  using enum PeerHealth::Failure;
  Peer& peer = *request.peer;
  const bool isAlone = request.items.size() == 1;
  const MessageKey only = isAlone ? request.items.front().row.key : 0;
  const bool isUp = !peer.health.down() && request.epoch == peer.health.epoch() && peer.disowned.empty();
  const bool isLate = now.steady - request.sentAt >= kLateAfter;
  // A peer that took a later request is not away.
  const bool isSilenceOfItsOwn = failure == unavailable && report.status == 0 && peer.refusals.isOvertaken(request.id);
  if (isAlone && isUp) {
    const Session& session = *request.items.front().session;
    const bool isItsOwn = peer.refusals.isItsOwn(only, only <= session.refusedUpTo ? session.refusedAt : 0);
    if (isItsOwn || peer.refusals.isAloneRefused(only)) {
      refusedForItself(request, failure, isItsOwn, isLate, report, now, actions);
      return;
    }
  }
  peer.refusals.refused(only, lastRequest, failure == unavailable && !isUnclear(report), isLate);
  if (!isAlone && (failure != unavailable || report.status != 0 || isSilenceOfItsOwn)) {
    // Isolates one message of many: the request's sessions go in smaller requests until they are answered. Without any
    // answer, there is no evidence about any of them.
    for (const Request::Item& item : request.items) {
      item.session->frameLimit = static_cast<std::uint32_t>(request.items.size() / 2);
      item.session->refusedAt = lastRequest;
      item.session->refusedUpTo = item.row.key;
    }
  }
  giveBack(request, report.error, now, actions);
  const bool hasOthers = hasOthersToAsk(peer);
  const bool mayBeChance = peer.refusals.inRow() <= peer.refusals.inRowByChance();
  if (failure == gone) {
    peer.refusals.saidGone(lastRequest);
    // Gone for good only if other messages get the same answer and none is taken in between. If the peer has taken none
    // in this run and no other message waits, its answer is believed: in Standard Webhooks, 410 disables the endpoint.
    const bool isOfMessages = peer.refusals.isMixed(now.steady) || mayBeChance;
    failure = isOfMessages || (hasOthers && peer.refusals.areFew()) ? refused : gone;
  }
  const bool mayBeItsOwn = ((failure == refused || isUnclear(report)) && mayBeChance) || isSilenceOfItsOwn;
  if (mayBeItsOwn && isUp && hasOthers) {
    peer.frameLimit = isAlone ? peer.frameLimit : 1;
    return;
  }
  SendReport explained = report;
  if (failure == refused && report.status != 0 && !hasOthers && peer.refusals.inRow() == 1) {
    explained.error += kOnlyOne;
  }
  peerFailed(request, failure, explained, now, actions);
}

void Machine::Impl::refusedForItself(const Request& request, PeerHealth::Failure failure, bool areOthersTaken,
                                     bool isLate, const SendReport& report, const Now& now, Actions& actions) {
  const Request::Item& only = request.items.front();
  Session& session = *only.session;
  session.refusedAt = 0;
  const std::uint32_t strikes = request.peer->refusals.charge(only.row.key, lastRequest, isLate);
  if ((failure == PeerHealth::Failure::unavailable && !isUnclear(report)) || !areOthersTaken) {
    const auto delay = std::max(boundedWait(retryDelay(retryOf(session), strikes, random)),
                                boundedWait(report.retryAfter.value_or(std::chrono::milliseconds(0))));
    const std::string others = areOthersTaken ? "taken" : "answered";
    giveBackLater(request, report.error + "; others of this peer are " + others + ", so this message waits alone",
                  delay, now, actions);
    return;
  }
  FrameResult result;
  result.code = report.status == 0 ? "refused" : "http-" + std::to_string(report.status);
  result.detail = "refused: " + report.error + "; others of this peer are taken, so this is charged to the message";
  result.retryAfter = report.retryAfter;
  Verdict verdict =
      chargedVerdict(retryOf(session), only.row, result, isPastHorizon(session, only.row, now), now.wall, random);
  decide(session, only.row, result, now, verdict);
  if (verdict.transition == Transition::fail) {
    absolve(*request.peer, only.row.key);
  }
  settleOnly(request, std::move(verdict), result.detail, now, actions);
}

}  // namespace ackbox::delivery
