#include "manager/inbound/inbound_job.hpp"

#include <algorithm>
#include <memory>

#include "ackbox/error.hpp"
#include "manager/inbound/inbound_scope.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/agenium.hpp"
#include "store/application_lines.hpp"
#include "store/digest.hpp"
#include "store/store.hpp"

namespace ackbox::manager {
namespace {

FrameResult resultOf(Outcome outcome, std::string code, std::string detail) {
  FrameResult result;
  result.outcome = outcome;
  result.code = std::move(code);
  result.detail = std::move(detail);
  return result;
}

FrameResult held(const char* why) {
  FrameResult result = resultOf(Outcome::nack, "held", why);
  result.held = true;
  return result;
}

// The frame's own attribute is where it began; the header is the hop that brought it. CloudEvents wants the two to be
// the same where there is one hop, so a frame without its own began there.
protocol::DecodedRequest traced(protocol::DecodedRequest decoded, const InboundRequest& request) {
  if (protocol::isTraceparent(request.traceparent)) {
    for (protocol::DecodedFrame& one : decoded.frames) {
      one.frame.hopTraceparent = request.traceparent;
      if (one.frame.traceparent.empty()) {
        one.frame.traceparent = request.traceparent;
      }
    }
  }
  return decoded;
}

std::vector<std::uint64_t> digestsOf(const protocol::DecodedRequest& decoded) {
  std::vector<std::uint64_t> digests;
  digests.reserve(decoded.frames.size());
  for (const protocol::DecodedFrame& one : decoded.frames) {
    digests.push_back(store::digestOf(one.frame.type, one.frame.data));
  }
  return digests;
}

store::InboundIdentity identityOf(const InboundFrame& frame, std::uint64_t digest) {
  store::InboundIdentity identity;
  identity.source = frame.source;
  identity.id = frame.id;
  identity.origin = frame.origin;
  identity.session = frame.session;
  identity.epoch = frame.epoch;
  identity.sequence = frame.sequence;
  identity.previousSequence = frame.previousSequence;
  identity.expiresAt = frame.expiresAt;
  identity.time = frame.time;
  identity.digest = digest;
  return identity;
}

}  // namespace

InboundJob::InboundJob(Context context, InboundRequest request, protocol::DecodedRequest decoded,
                       std::function<void(InboundResponse)> respond, std::function<void()> ended)
    : context_(std::move(context)),
      request_(std::move(request)),
      decoded_(traced(std::move(decoded), request_)),
      digests_(digestsOf(decoded_)),
      respond_(std::move(respond)),
      ended_(std::move(ended)) {
  durable = true;
}

void InboundJob::run(store::Store& store) {
  results_.clear();
  results_.reserve(decoded_.frames.size());
  sessions_.clear();
  places_.clear();
  stoppedSessions_.clear();
  repeatedSessions_.clear();
  marks_ = 0;
  deferrals_ = 0;
  gaps_.clear();
  ackEvents_.clear();
  limitsReached_.clear();
  resultsLeftOut_.clear();
  storeId_ = store.origin();
  storeEpoch_ = store.epoch();
  for (std::size_t index = 0; index < decoded_.frames.size(); ++index) {
    results_.push_back(decide(store, index));
    const InboundFrame& frame = decoded_.frames[index].frame;
    noteAway(frame, results_.back());
    // What was deferred counts as accepted: the next one is kept behind it.
    const Outcome outcome = results_.back().outcome;
    if (outcome != Outcome::ack && outcome != Outcome::defer && frame.sequence != 0) {
      stoppedSessions_.insert(nameOf(frame));
    }
  }
  // Twice as fast as marks are made, so that expired ones go without ever costing a pause.
  if (marks_ > 0) {
    store.inboundMarks().purge(2 * marks_);
  }
}

// Its sender cannot see for itself why an outcome does not come.
void InboundJob::noteAway(const InboundFrame& frame, FrameResult& result) const {
  if (result.outcome != Outcome::defer || !context_.limits.deferred.applications) {
    return;
  }
  const auto applications = context_.limits.deferred.applications();
  const Application* const known = applications ? store::applicationOf(*applications, frame.type) : nullptr;
  if (known != nullptr && known->awaySince) {
    const auto time =
        std::chrono::duration_cast<std::chrono::milliseconds>(context_.outbox.clock->wallNow() - *known->awaySince);
    result.unattended = std::max(time, std::chrono::milliseconds(0));
  }
}

FrameResult InboundJob::decide(store::Store& store, std::size_t index) {
  const protocol::DecodedFrame& decoded = decoded_.frames[index];
  if (decoded.refusal) {
    return *decoded.refusal;
  }
  const InboundFrame& frame = decoded.frame;
  if (frame.sequence != 0 && stoppedSessions_.contains(nameOf(frame))) {
    return held("an earlier frame of this session was not taken");
  }
  if (!frame.audience.empty() && frame.audience != context_.outbox.agent) {
    return resultOf(Outcome::term, "wrong-audience",
                    "the frame is for '" + frame.audience + "', and this agent is '" + context_.outbox.agent + "'");
  }
  const store::InboundIdentity identity = identityOf(frame, digests_[index]);
  store::AdmissionReply admission = store.inboundMarks().admit(identity);
  if (admission.admission == store::Admission::duplicate) {
    admission.admission = store.inbox().takesAnew(identity) ? store::Admission::take : store.inbox().compare(identity);
  } else if (admission.admission == store::Admission::take && frame.sequence == 0 && store.inbox().waits(identity)) {
    admission.admission = store::Admission::duplicate;
  }
  switch (admission.admission) {
    case store::Admission::duplicate:
      if (frame.sequence != 0) {
        repeatedSessions_.insert(nameOf(frame));
      }
      noteProgress(store, frame, admission.accepted, admission.acceptedId);
      return repeat(store, identity);
    case store::Admission::outOfSequence:
      noteProgress(store, frame, admission.accepted, admission.acceptedId);
      return resultOf(Outcome::nack, "out-of-sequence",
                      "accepted " + std::to_string(admission.accepted) + " of this session so far");
    case store::Admission::staleEpoch:
      store.inboundMarks().countRefused(admission.admission);
      return resultOf(Outcome::term, "stale-epoch",
                      "a newer epoch of this store was seen: it was restored from a copy");
    case store::Admission::numberTaken:
      store.inboundMarks().countRefused(admission.admission);
      noteProgress(store, frame, admission.accepted, admission.acceptedId);
      return resultOf(Outcome::term, "stale-epoch",
                      "this number was another frame's: the store was restored from a copy");
    case store::Admission::closedOrigin:
      store.inboundMarks().countRefused(admission.admission);
      return resultOf(Outcome::term, "closed-origin",
                      "this store was silent for so long, and another in its place, that its marks were taken away: "
                      "enqueue anew, or have the receiver forget this store");
    case store::Admission::idConflict:
      store.inboundMarks().countRefused(admission.admission);
      return resultOf(Outcome::term, "id-conflict", "this id came before with another type or other data");
    case store::Admission::take:
      // What was accepted last may be another file's of the same name. The sender is to see it before it is passed.
      if (frame.previousSequence < admission.accepted && repeatedSessions_.contains(nameOf(frame))) {
        return held("it follows repeated frames, and not the one that was accepted last");
      }
      break;
  }
  // After the duplicate check: what took effect in time stays acknowledged however late it is repeated.
  if (frame.expiresAt && *frame.expiresAt <= context_.outbox.clock->wallNow()) {
    return resultOf(Outcome::term, "expired", "the frame's expirytime has passed");
  }
  if (const auto limit = store.inboundMarks().limitReached(identity, context_.limits.limits)) {
    limitsReached_.push_back({frame.source, *limit});
    // The sender has no business with the sum over all.
    const InboundLimit named = *limit == InboundLimit::totalBytes ? InboundLimit::bytes : *limit;
    return overLimit("limit-" + std::string(toString(named)),
                     "the receiver keeps as many " + std::string(toString(named)) +
                         " of this sender as its InboundLimits allow: raise the limit there, or forget what is not "
                         "needed any more");
  }
  return take(store, index, identity, admission.gap);
}

// The sender waits for long: a person has to do something, or marks have to expire.
FrameResult InboundJob::overLimit(std::string code, std::string detail) {
  constexpr std::chrono::minutes kPause{1};
  FrameResult result = resultOf(Outcome::nack, std::move(code), std::move(detail));
  result.retryAfter = kPause;
  return result;
}

// A sender that asks again after its ACK deadline gets what is known of its frame by then.
FrameResult InboundJob::repeat(store::Store& store, const store::InboundIdentity& identity) {
  store.inboundMarks().countDuplicate();
  FrameResult result = store.inbox().resultOf(identity).value_or(resultOf(Outcome::ack, {}, {}));
  result.duplicate = true;
  return result;
}

FrameResult InboundJob::take(store::Store& store, std::size_t index, const store::InboundIdentity& identity,
                             std::uint64_t gap) {
  const InboundFrame& frame = decoded_.frames[index].frame;
  if (offenders_.contains(index)) {
    return resultOf(Outcome::nack, "handler-error", "the handler failed");
  }
  FrameResult result;
  if (frame.type == protocol::kAckEventType) {
    result = takeAckEvent(store, identity, gap, frame);
  } else if (isAlwaysDeferred(frame)) {
    result = keepForLater(store, identity, gap, frame, true);
  } else if (frame.sequence != 0 && store.inbox().size() > 0 && store.inbox().firstWaiting(frame)) {
    result = keepForLater(store, identity, gap, frame, false);
  } else {
    HandlerResult answer = call(store, index);
    if (answer.outcome == Outcome::defer && !context_.limits.deferred.handler) {
      answer = HandlerResult::notNow("this handler cannot defer: set InboundOptions::deferred.handler");
    }
    if (answer.outcome == Outcome::defer) {
      result = keepForLater(store, identity, gap, frame, true);
    } else {
      std::string_view leftOut;
      result = toFrameResult(std::move(answer), &leftOut);
      if (!leftOut.empty()) {
        resultsLeftOut_.emplace_back(index, leftOut);
      }
      if (result.outcome == Outcome::ack) {
        store.inboundMarks().markProcessed(identity, gap, markLife());
      }
    }
  }
  if (result.outcome == Outcome::ack || result.outcome == Outcome::defer) {
    marks_ += frame.sequence == 0 ? 1 : 0;
    if (gap > 0) {
      gaps_.push_back({frame.source, frame.session, frame.sequence - gap, frame.sequence - 1});
    }
    noteProgress(store, frame, frame.sequence, frame.id);
  }
  return result;
}

bool InboundJob::isAlwaysDeferred(const InboundFrame& frame) const {
  const DeferredOptions& deferred = context_.limits.deferred;
  if (!deferred.handler || !deferred.always || !deferred.always(frame.type)) {
    return false;
  }
  // As if it had been asked.
  static_cast<void>(context_.handlings.aroundHandling(frame, [] { return HandlerResult::defer(); }));
  return true;
}

HandlerResult InboundJob::call(store::Store& store, std::size_t index) {
  const InboundFrame& frame = decoded_.frames[index].frame;
  try {
    return callInScope(
        store, {context_.outbox, context_.limits, context_.enqueues}, frame, [&](InboundTransaction& transaction) {
          return context_.handlings.aroundHandling(frame, [&] { return context_.handler(frame, transaction); });
        });
  } catch (const Error& error) {
    if (error.code() == Errc::handlerEndedTransaction) {
      offenders_.insert(index);
    }
    throw;
  }
}

// An ACK event is answered inline, and never acknowledged by an event itself. Results for unknown or settled messages
// change nothing, and those from the wrong peer are counted: a refusal of the frame would only fill its sender's dead
// letters.
FrameResult InboundJob::takeAckEvent(store::Store& store, const store::InboundIdentity& identity, std::uint64_t gap,
                                     const InboundFrame& frame) {
  std::optional<std::vector<protocol::NamedResult>> results = protocol::readAckEvent(frame.data);
  if (!results) {
    return resultOf(Outcome::term, "malformed", "data must be {\"results\":[...]} with 1 to 256 results");
  }
  // An anonymous sender is no peer that a message was addressed to.
  const std::string_view author = context_.mayAcknowledge ? std::string_view(frame.source) : std::string_view();
  for (protocol::NamedResult& named : *results) {
    ackEvents_.emplace_back(
        store.settles().applyAckEvent(author, named.id, named.sequence, named.result, frame.origin, named.time),
        std::move(named.result));
  }
  store.inboundMarks().markAccepted(identity, gap, markLife());
  return resultOf(Outcome::ack, {}, {});
}

FrameResult InboundJob::keepForLater(store::Store& store, const store::InboundIdentity& identity, std::uint64_t gap,
                                     const InboundFrame& frame, bool deferredByHandler) {
  if (const auto limit = store.inbox().limitReached(frame, context_.limits)) {
    limitsReached_.push_back({frame.source, *limit});
    return resultOf(Outcome::nack, "inbox-full",
                    "too many deferred frames of this sender wait at the receiver: DeferredOptions limits them");
  }
  store.inbox().add(frame, deferredByHandler);
  store.inboundMarks().markAccepted(identity, gap, markLife());
  ++deferrals_;
  return resultOf(Outcome::defer, {}, {});
}

store::MarkLife InboundJob::markLife() const {
  return {context_.limits.processedRetention, context_.limits.processedRetentionMax,
          context_.limits.limits.originRetention};
}

void InboundJob::noteProgress(store::Store& store, const InboundFrame& frame, std::uint64_t accepted,
                              const std::string& acceptedId) {
  if (frame.sequence == 0) {
    return;
  }
  const auto [place, isNew] = places_.try_emplace(nameOf(frame), sessions_.size());
  if (isNew) {
    sessions_.push_back({frame.session, accepted, accepted, {}, acceptedId});
  }
  protocol::SessionProgress& session = sessions_[place->second];
  if (accepted > session.accepted) {
    session.accepted = accepted;
    session.acceptedId = acceptedId;
  }
  const auto waiting = store.inbox().size() > 0 ? store.inbox().firstWaiting(frame) : std::nullopt;
  session.settled = waiting ? *waiting - 1 : session.accepted;
}

// After the commit: reports to the application, to the outbox's run and to the inbox's.
void InboundJob::report() const {
  for (const InboundGap& gap : gaps_) {
    try {
      if (context_.limits.onGap) {
        context_.limits.onGap(gap);
      }
    } catch (...) {
      // Documented: a listener harms nobody.
    }
  }
  for (const InboundLimitEvent& event : limitsReached_) {
    context_.limitReached(event);
  }
  for (const auto& [outcome, result] : ackEvents_) {
    context_.ackEventApplied(outcome, result);
  }
  for (const auto& [index, why] : resultsLeftOut_) {
    context_.resultLeftOut(decoded_.frames[index].frame, why);
  }
  if (deferrals_ > 0) {
    context_.deferred();
  }
}

InboundJob::SessionName InboundJob::nameOf(const InboundFrame& frame) {
  return {frame.session, frame.source, frame.origin};
}

void InboundJob::nameStores() {
  const bool hasOneStore = std::ranges::all_of(
      places_, [&](const auto& place) { return place.first.origin == places_.begin()->first.origin; });
  for (const auto& [name, place] : places_) {
    sessions_[place].origin = hasOneStore ? std::string_view() : name.origin;
  }
}

InboundResponse InboundJob::answer(const std::error_code& error) {
  if (error) {
    return protocol::unavailable(error == Errc::diskFull, "nothing was stored; try again");
  }
  if (decoded_.isAgenium) {
    return protocol::encodeAgeniumAnswer(results_.front());
  }
  nameStores();
  std::vector<std::string_view> ids;
  ids.reserve(decoded_.frames.size());
  for (const protocol::DecodedFrame& frame : decoded_.frames) {
    ids.push_back(frame.frame.id);
  }
  return protocol::encodeAck(request_, decoded_.batch, storeId_, ids, results_, sessions_, context_.limits,
                             storeEpoch_);
}

void InboundJob::done(const std::error_code& error) noexcept {
  const std::unique_ptr<InboundJob> self(this);
  InboundResponse response;
  try {
    response = answer(error);
  } catch (...) {
    // Only memory can be short here. The peer repeats the request, and it will be a duplicate.
    response = {};
    response.status = 500;
  }
  try {
    respond_(std::move(response));
  } catch (...) {
    // Nothing can be answered. The peer's timeout repeats the request.
  }
  context_.storeAnswered();
  try {
    if (!error) {
      report();
    }
  } catch (...) {
    // Memory is short: subscribers miss it, the file does not.
  }
  ended_();
}

}  // namespace ackbox::manager
