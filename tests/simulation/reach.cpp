#include "simulation/reach.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/error.hpp"
#include "simulation/common.hpp"

namespace ackbox::simulation {
std::string_view fieldOf(const LogRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.fields, name, &LogField::name);
  return found == record.fields.end() ? std::string_view{} : found->value;
}

class Reach::Hooks final : public TraceHooks {
public:
  explicit Hooks(Reach& reach) : reach_(reach) {}

  Span enqueueBegan(const TracedMessage& message, std::string& traceparent) override {
    (void)message;
    (void)traceparent;
    return std::make_shared<std::chrono::nanoseconds>(reach_.simulation_.now());
  }
  void enqueueEnded(const Span& span, const std::error_code& error, const EnqueueReceipt& receipt) override {
    reach_.enqueued(error, receipt, *std::static_pointer_cast<std::chrono::nanoseconds>(span));
  }
  void handlingEnded(const Span& span, const TracedDecision& decision) override {
    (void)span;
    if (decision.outcome == Outcome::nack) {
      reach_.saw(decision.code == "handler-error" ? Situation::handlerThrew : Situation::handlerNotNow);
    }
  }

private:
  Reach& reach_;
};

std::shared_ptr<TraceHooks> Reach::hooks() {
  return std::make_shared<Hooks>(*this);
}

void Reach::enqueued(const std::error_code& error, const EnqueueReceipt& receipt, std::chrono::nanoseconds since) {
  if (error == Errc::diskFull) {
    saw(Situation::enqueueOnFullDisk);
  } else if (error == Errc::databaseBusy) {
    saw(Situation::enqueueOnBusyDisk);
  } else if (error == Errc::ioError) {
    saw(Situation::enqueueOnBrokenDisk);
  }
  if (error) {
    return;
  }
  if (receipt.status == EnqueueStatus::queueFull) {
    saw(Situation::queueFull);
  } else if (receipt.status == EnqueueStatus::duplicate) {
    saw(Situation::keyRepeated);
  } else if (receipt.isNew() && steadyDisks_ && simulation_.now() > since) {
    saw(Situation::waitedForRoom);
  }
}

LogSink Reach::log() {
  return [this](const LogRecord& record) {
    if (record.event == "frame-failed") {
      saw(Situation::deferredGivenUp);
    } else if (record.event == "application-back") {
      saw(Situation::applicationBack);
    } else if (record.event == "sender-at-limit" && fieldOf(record, "limit") == "inbox") {
      saw(Situation::inboxFull);
    } else if (record.event == "frame-retry") {
      const std::string_view error = fieldOf(record, "error");
      if (error == "the handler's deadline has passed") {
        saw(Situation::deferredDeadline);
      } else if (error == "the handler ended without an answer") {
        saw(Situation::deferredForgotten);
      }
    }
  };
}

std::vector<Subscription> Reach::subscribe(const Place& place, OutboxManager& manager) {
  std::vector<Subscription> all;
  all.push_back(manager.onAcked([this](const AckedEvent& event) { acked(event); }));
  all.push_back(manager.onFailed([this](const FailedEvent& event) { failed(event); }));
  all.push_back(manager.onRetry(
      [this](const RetryEvent& event) { saw(event.asksAgain ? Situation::ackDeadline : Situation::nackCharged); }));
  all.push_back(manager.onSuperseded([this](const SupersededEvent&) { saw(Situation::superseded); }));
  all.push_back(manager.onPeer([this, place](const PeerEvent& event) { peer(place, event); }));
  all.push_back(manager.onPeerReset([this](const PeerResetEvent& event) { reset(event); }));
  return all;
}

void Reach::acked(const AckedEvent& event) {
  const auto known = ledger_.entries.find(nameOf(event.messageId));
  if (known == ledger_.entries.end()) {
    return;
  }
  const Entry& entry = known->second;
  const Fate& fate = fates_[event.messageId];
  if (!fate.sender.empty()) {
    saw(Situation::earlyAck);
  } else if (entry.deferred && !fate.answered) {
    saw(Situation::ackedByEvent);
  }
  if (entry.redrives > 0) {
    saw(Situation::redrivenAcked);
  }
}

void Reach::failed(const FailedEvent& event) {
  const auto known = ledger_.entries.find(nameOf(event.messageId));
  const bool deferred = known != ledger_.entries.end() && known->second.deferred;
  if (event.reason == "rejected") {
    saw(deferred && !fates_[event.messageId].answered ? Situation::refusedByEvent : Situation::rejectedForGood);
  } else if (event.reason == "retry-budget") {
    saw(Situation::budgetSpent);
  } else if (event.reason == "expired") {
    saw(Situation::expired);
  } else if (event.reason == "peer-killer") {
    saw(Situation::peerKiller);
  } else if (event.reason == "by-hand") {
    saw(Situation::givenUpByHand);
  } else if (event.reason == "given-up") {
    saw(Situation::decidedDeadLetter);
  } else if (event.reason == "discarded-by-policy") {
    saw(Situation::decidedDiscard);
  }
}

void Reach::peer(const Place& place, const PeerEvent& event) {
  const std::pair key(place.process, event.peer);
  const PeerState before = std::exchange(states_[key], event.state);
  if (event.state == PeerState::down) {
    ++downs_[key];
    saw(Situation::peerDown);
  } else if (event.state == PeerState::held) {
    saw(Situation::peerHeld);
  } else if (event.state == PeerState::paused) {
    saw(Situation::peerPaused);
  } else if (event.state == PeerState::up && before == PeerState::down) {
    saw(Situation::peerUpAgain);
  }
}

void Reach::reset(const PeerResetEvent& event) {
  switch (event.kind) {
    case PeerResetKind::peerLost:
      saw(Situation::peerLost);
      break;
    case PeerResetKind::peerRestored:
      saw(Situation::peerRestored);
      break;
    case PeerResetKind::selfRestored:
      saw(Situation::selfRestored);
      break;
  }
  if (event.resent > 0) {
    saw(Situation::sentAnew);
  }
}

void Reach::left(const Place& place, const SendRequest& request) {
  shapeOf(request);
  for (const OutboundFrame& frame : request.frames) {
    leftOne(place, request, frame);
  }
}

void Reach::shapeOf(const SendRequest& request) {
  std::map<std::string_view, std::size_t> sessions;
  for (const OutboundFrame& frame : request.frames) {
    ++sessions[frame.session];
    if (!frame.session.empty() && frame.previousSequence + 1 < frame.sequence && frame.previousSequence > 0) {
      saw(Situation::gapNamed);
    }
  }
  const bool unordered = sessions.erase("") > 0;
  if (sessions.size() > 1) {
    saw(Situation::mixedBatch);
  }
  if (unordered && !sessions.empty()) {
    saw(Situation::unorderedBatch);
  }
  if (std::ranges::any_of(sessions, [](const auto& session) { return session.second > 1; })) {
    saw(Situation::sessionBatch);
  }
}

void Reach::leftOne(const Place& place, const SendRequest& request, const OutboundFrame& frame) {
  Fate& fate = fates_[frame.messageId];
  const std::size_t frames = request.frames.size();
  if (!fate.orphanOf.empty()) {
    saw(fate.orphanOf == place.process ? Situation::ownClaimTakenBack : Situation::deadOwnersClaimTaken);
  }
  const auto known = ledger_.entries.find(nameOf(frame.messageId));
  if (known != ledger_.entries.end() && !known->second.saidBy.empty() && known->second.saidBy != place.process) {
    saw(Situation::sentByOther);
  }
  // After an outage, all messages go alone at first.
  if (frames == 1 && fate.lostAmong > 1 && fate.downs == downs_[{place.process, request.peer}]) {
    saw(Situation::suspectAlone);
  }
  if (frames < fate.tooLargeAmong) {
    saw(Situation::batchHalved);
  }
  fate.sender = place.process;
  fate.isOrdered = !frame.session.empty();
  fate.orphanOf.clear();
  fate.answered = false;
  fate.lostAmong = 0;
  fate.tooLargeAmong = 0;
}

void Reach::ended(const Place& place, const std::string& peer, const std::vector<std::string>& ids,
                  const SendReport& report) {
  for (const std::string& id : ids) {
    fates_[id].sender.clear();
  }
  if (report.outcome != RequestOutcome::answered) {
    failedWhole(ids, downs_[{place.process, peer}], report);
    return;
  }
  for (std::size_t index = 0; index < report.results.size() && index < ids.size(); ++index) {
    answeredOne(report.results[index], fates_[ids[index]]);
  }
}

void Reach::failedWhole(const std::vector<std::string>& ids, std::uint32_t downs, const SendReport& report) {
  const std::string& error = report.error;
  const bool isReset = report.outcome == RequestOutcome::connectionLost;
  if (error == "connection refused") {
    saw(Situation::refusedConnection);
  } else if (error == "timed out") {
    saw(Situation::timedOut);
  } else if (isReset) {
    saw(error == "the peer died" ? Situation::receiverDied : Situation::connectionReset);
  } else if (error.starts_with("HTTP 507")) {
    saw(Situation::receiverDiskFull);
  } else if (error.starts_with("HTTP 503")) {
    saw(Situation::overloaded);
  } else if (error.starts_with("HTTP 200")) {
    saw(Situation::capturedAnswer);
  } else if (error.starts_with("HTTP 404")) {
    saw(Situation::wrongRoute);
  }
  for (const std::string& id : ids) {
    Fate& fate = fates_[id];
    fate.unanswered = fate.unanswered || isReset || error == "timed out";
    fate.receiverDied = fate.receiverDied || error == "the peer died";
    fate.lostAmong = isReset ? ids.size() : 0;
    fate.tooLargeAmong = error.starts_with("HTTP 413") ? ids.size() : 0;
    fate.downs = downs;
  }
}

void Reach::answeredOne(const FrameResult& result, Fate& fate) {
  if (result.outcome == Outcome::defer) {
    saw(fate.isOrdered ? Situation::deferred : Situation::deferredOutsideSessions);
  }
  fate.answered = result.outcome == Outcome::ack || result.outcome == Outcome::term;
  if (result.outcome == Outcome::ack && result.duplicate) {
    saw(Situation::duplicateTold);
    if (fate.receiverDied) {
      saw(Situation::crashAfterEffect);
    } else if (fate.unanswered) {
      saw(Situation::answerLost);
    }
  } else if (result.outcome == Outcome::ack && fate.receiverDied) {
    saw(Situation::crashBeforeEffect);
  } else if (result.outcome == Outcome::defer && result.duplicate) {
    saw(Situation::deferredTwice);
  } else if (result.held) {
    saw(Situation::held);
  } else if (result.code == "out-of-sequence") {
    saw(Situation::outOfSequence);
  } else if (result.code == "stale-epoch") {
    saw(Situation::staleEpoch);
  }
  fate.unanswered = false;
  fate.receiverDied = false;
}

void Reach::died(const std::string& process) {
  for (auto& [id, fate] : fates_) {
    if (fate.sender == process) {
      saw(Situation::diedWithRequest);
      fate.orphanOf = std::exchange(fate.sender, {});
    }
  }
}

void Reach::deferredRun(const Place& place, const DeferredFrame& frame) {
  if (frame.startCount() > frame.retryCount() + 1) {
    saw(Situation::deferredAfterCrash);
  }
  if (!asked_.contains(frame.frame().id)) {
    saw(Situation::deferredUnasked);
  }
  // Only the agent's first process listens.
  if (place.process != place.agent) {
    saw(Situation::deferredByOther);
  }
}

void Reach::explained(const Explanation& explanation) {
  if (std::ranges::any_of(explanation.reasons,
                          [](const Reason& reason) { return reason.blockReason == BlockReason::rateLimited; })) {
    saw(Situation::rateLimited);
  }
}

void Reach::total(const Stats& stats) {
  if (stats.gaps > 0) {
    saw(Situation::gapPassed);
  }
  if (stats.staleSettles > 0) {
    saw(Situation::lateSettle);
  }
}

void Reach::commits(std::uint64_t inCalls, std::uint64_t shared) {
  if (inCalls > 0) {
    saw(Situation::committedInCall);
  }
  if (shared > 0) {
    saw(Situation::commitShared);
  }
}

}  // namespace ackbox::simulation
