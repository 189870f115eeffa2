#include "manager/inbound/inbound_job.hpp"

#include <algorithm>
#include <memory>

#include "ackbox/error.hpp"
#include "base/pattern.hpp"
#include "base/room_share.hpp"
#include "manager/inbound/inbound_scope.hpp"
#include "protocol/agenium.hpp"
#include "store/application_lines.hpp"
#include "store/digest.hpp"
#include "store/kept_session.hpp"
#include "store/store.hpp"

namespace ackbox::manager {
namespace {

protocol::DecodedRequest addressed(protocol::DecodedRequest decoded, const std::string& agent,
                                   const InboundOptions& options) {
  for (protocol::DecodedFrame& one : decoded.frames) {
    const auto isItsOwn = [&](const std::string& pattern) { return fitsPattern(pattern, one.frame.audience); };
    if (!one.frame.audience.empty() && one.frame.audience != agent &&
        std::ranges::any_of(options.deferred.mailboxes.agents, isItsOwn)) {
      one.frame.mailbox = one.frame.audience;
    }
  }
  return decoded;
}

// The frame's own attribute is the origin of its trace; the header is the last hop. CloudEvents requires the two to be
// equal if there is only one hop, so a frame without the attribute gets the header's value.
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

store::InboundIdentity identityOf(const InboundFrame& frame, const store::KeptSession& session, std::uint64_t digest) {
  store::InboundIdentity identity;
  identity.source = frame.source;
  identity.id = frame.id;
  identity.origin = frame.origin;
  identity.session = session.name();
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
      decoded_(addressed(traced(std::move(decoded), request_), context_.outbox.agent, context_.limits)),
      digests_(digestsOf(decoded_)),
      respond_(std::move(respond)),
      ended_(std::move(ended)) {
  durable = true;
}

void InboundJob::run(store::Store& store) {
  reception::RequestAdmission admission({context_.outbox.agent, static_cast<bool>(context_.limits.deferred.handler)});
  results_.clear();
  results_.reserve(decoded_.frames.size());
  marks_ = 0;
  deferrals_ = 0;
  inMailboxes_.clear();
  gaps_.clear();
  ackEvents_.clear();
  limitsReached_.clear();
  resultsLeftOut_.clear();
  notDeferred_.clear();
  storeId_ = store.origin();
  storeEpoch_ = store.epoch();
  for (std::size_t index = 0; index < decoded_.frames.size(); ++index) {
    results_.push_back(process(store, admission, index));
  }
  readSessions(store, admission.reached());
  // Purges twice as many marks as are added, so that expired ones go without a pause.
  if (marks_ > 0) {
    store.inboundMarks().purge(2 * marks_);
  }
}

FrameResult InboundJob::process(store::Store& store, reception::RequestAdmission& admission, std::size_t index) {
  const protocol::DecodedFrame& decoded = decoded_.frames[index];
  const store::KeptSession session(decoded.frame);
  Work work{.frame = decoded.frame, .index = index, .identity = identityOf(decoded.frame, session, digests_[index])};
  work.identity.isFetched = !request_.fetchedFrom.empty();
  work.known.now = context_.outbox.clock->wallNow();
  work.known.refusal = decoded.refusal ? &*decoded.refusal : nullptr;
  // An ACK event in a mailbox is for the mailbox's agent.
  work.known.isAckEvent = decoded.frame.type == protocol::kAckEventType && decoded.frame.mailbox.empty();
  work.known.hasEndedTransaction = offenders_.contains(index);
  admission.begin(work.frame);
  reception::Decision decision = admission.next(work.known);
  while (findOut(store, decision.step, work)) {
    decision = admission.next(work.known);
  }
  FrameResult result = perform(store, decision, work);
  admission.end(work.known, decision.step, result.outcome);
  if (result.outcome == Outcome::defer) {
    result.unattended = reception::unattendedFor(awaySince(work.frame), context_.outbox.clock->wallNow());
  }
  return result;
}

bool InboundJob::findOut(store::Store& store, reception::Step step, Work& work) {
  using reception::Step;
  const store::InboundIdentity& identity = work.identity;
  switch (step) {
    case Step::readMark:
      work.known.mark = store.inboundMarks().admit(identity);
      return true;
    case Step::compareWaiting:
      work.known.inInbox = store.inbox().takesAnew(identity) ? store::Admission::take : store.inbox().compare(identity);
      return true;
    case Step::findWaiting:
      work.known.inInbox = store.inbox().waits(identity) ? store::Admission::duplicate : store::Admission::take;
      return true;
    case Step::checkLimits:
      work.known.sender = noteLimit(work.frame, store.inboundMarks().limitReached(identity, context_.limits.limits));
      return true;
    case Step::readAckEvent:
      work.named = protocol::readAckEvent(work.frame.data);
      work.known.isReadable = work.named.has_value();
      return true;
    case Step::checkType:
      work.known.isAlwaysDeferred = isAlwaysDeferred(work.frame);
      return true;
    case Step::findEarlier:
      work.known.isBehindWaiting = firstWaiting(store, work.frame).has_value();
      return true;
    case Step::callHandler:
      work.answer = call(store, work.index);
      work.known.handled = work.answer.outcome;
      return true;
    case Step::checkRoom:
      work.known.inbox =
          noteLimit(work.frame, isMailboxFull(work.frame) ? std::optional(InboundLimit::mailbox)
                                                          : store.inbox().limitReached(work.frame, context_.limits));
      return true;
    case Step::refuse:
    case Step::repeat:
    case Step::applyAckEvent:
    case Step::keep:
    case Step::answer:
      break;
  }
  return false;
}

FrameResult InboundJob::perform(store::Store& store, reception::Decision& decision, Work& work) {
  using reception::Step;
  FrameResult result;
  if (decision.step == Step::refuse) {
    if (work.known.handled == Outcome::defer && !static_cast<bool>(context_.limits.deferred.handler)) {
      notDeferred_.push_back(work.index);
    }
    if (decision.counted) {
      store.inboundMarks().countRefused(*decision.counted);
    }
    return std::move(decision.result);
  }
  if (decision.step == Step::repeat) {
    return repeat(store, work.identity);
  }
  if (decision.step == Step::answer) {
    std::string_view leftOut;
    result = toFrameResult(std::move(work.answer), &leftOut);
    if (!leftOut.empty()) {
      resultsLeftOut_.emplace_back(work.index, leftOut);
    }
    if (result.outcome != Outcome::ack) {
      return result;
    }
    store.inboundMarks().markProcessed(work.identity, work.known.mark->gap, markLife());
  } else if (decision.step == Step::applyAckEvent) {
    applyAckEvent(store, work);
    store.inboundMarks().markAccepted(work.identity, work.known.mark->gap, markLife());
    result.outcome = Outcome::ack;
  } else {
    // A frame that waits behind another one was not seen by its handler.
    store.inbox().add(work.frame, work.known.handled || work.known.isAlwaysDeferred.value_or(false));
    store.inboundMarks().markAccepted(work.identity, work.known.mark->gap, markLife());
    ++deferrals_;
    result.outcome = Outcome::defer;
  }
  noteTaken(work);
  return result;
}

// A sender that asks again after its ACK deadline gets the frame's current outcome.
FrameResult InboundJob::repeat(store::Store& store, const store::InboundIdentity& identity) {
  store.inboundMarks().countDuplicate();
  FrameResult plain;
  plain.outcome = Outcome::ack;
  FrameResult result = store.inbox().resultOf(identity).value_or(std::move(plain));
  result.duplicate = true;
  return result;
}

void InboundJob::noteTaken(const Work& work) {
  const InboundFrame& frame = work.frame;
  marks_ += frame.sequence == 0 ? 1 : 0;
  if (const std::uint64_t gap = work.known.mark->gap; gap > 0) {
    gaps_.push_back({frame.source, frame.session, frame.sequence - gap, frame.sequence - 1});
  }
}

reception::LimitCheck InboundJob::noteLimit(const InboundFrame& frame, std::optional<InboundLimit> reached) {
  if (reached) {
    limitsReached_.push_back({frame.source, *reached});
  }
  return {reached};
}

std::optional<std::uint64_t> InboundJob::firstWaiting(store::Store& store, const InboundFrame& frame) {
  return store.inbox().size() > 0 ? store.inbox().firstWaiting(frame) : std::nullopt;
}

std::optional<WallTime> InboundJob::awaySince(const InboundFrame& frame) const {
  const auto applications = context_.limits.deferred.applications ? context_.limits.deferred.applications() : nullptr;
  const Application* const known =
      applications ? store::applicationOf(*applications, frame.mailbox, frame.type) : nullptr;
  return known == nullptr ? std::nullopt : known->awaySince;
}

bool InboundJob::isAlwaysDeferred(const InboundFrame& frame) const {
  const DeferredOptions& deferred = context_.limits.deferred;
  if (frame.mailbox.empty() && (!deferred.always || !deferred.always(frame.type))) {
    return false;
  }
  // Traced as if the handler had been called.
  static_cast<void>(context_.handlings.aroundHandling(frame, [] { return HandlerResult::defer(); }));
  return true;
}

bool InboundJob::isMailboxFull(const InboundFrame& frame) {
  if (frame.mailbox.empty()) {
    return false;
  }
  const auto [place, isNew] = inMailboxes_.try_emplace({frame.mailbox, frame.source});
  reception::MailboxFill& fill = place->second;
  if (isNew) {
    fill = context_.mailboxFill(frame.mailbox, frame.source);
  }
  if (hasNoRoom(fill.all, fill.ofSender, 0, context_.limits.deferred.mailboxes.mailboxFramesMax)) {
    return true;
  }
  ++fill.all;
  ++fill.ofSender;
  return false;
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

// An ACK event is answered inline, and never acknowledged by another event. Results for unknown or settled messages
// change nothing, and those from the wrong peer are only counted: a refusal of the frame would only add a dead letter
// at its sender.
void InboundJob::applyAckEvent(store::Store& store, Work& work) {
  const InboundFrame& frame = work.frame;
  // An anonymous sender is not a peer to which a message was addressed.
  const std::string_view author = context_.mayAcknowledge ? std::string_view(frame.source) : std::string_view();
  for (protocol::NamedResult& named : *work.named) {
    ackEvents_.emplace_back(store.settles().applyAckEvent(author, named.id, named.sequence, named.result, frame.origin,
                                                          named.time, context_.mailboxes),
                            std::move(named.result));
  }
}

store::MarkLife InboundJob::markLife() const {
  return {context_.limits.processedRetention, context_.limits.processedRetentionMax,
          context_.limits.limits.originRetention};
}

void InboundJob::readSessions(store::Store& store, std::span<const reception::SessionReach> reached) {
  sessions_.clear();
  const bool hasOneStore = std::ranges::all_of(
      reached, [&](const auto& session) { return session.frame->origin == reached.front().frame->origin; });
  for (const reception::SessionReach& session : reached) {
    sessions_.push_back({session.frame->session, session.accepted, session.settled(firstWaiting(store, *session.frame)),
                         hasOneStore ? std::string() : session.frame->origin, session.acceptedId});
  }
}

// After the commit: reports to the application, to the outbox's run and to the inbox's.
void InboundJob::report() const {
  for (const InboundGap& gap : gaps_) {
    try {
      if (context_.limits.onGap) {
        context_.limits.onGap(gap);
      }
    } catch (...) {
      // Documented: exceptions of a listener are ignored.
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
  for (const std::size_t index : notDeferred_) {
    context_.cannotDefer(decoded_.frames[index].frame);
  }
  if (deferrals_ > 0) {
    context_.deferred();
  }
}

InboundResponse InboundJob::answer(const std::error_code& error) {
  if (error) {
    return protocol::unavailable(error == Errc::diskFull, error == Errc::outcomeUnknown
                                                              ? "it is not known whether it was stored; try again"
                                                              : "nothing was stored; try again");
  }
  if (decoded_.isAgenium) {
    return protocol::encodeAgeniumAnswer(results_.front());
  }
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
    // Only a lack of memory can cause this. The peer repeats the request, which will be a duplicate.
    response = {};
    response.status = 500;
  }
  try {
    respond_(std::move(response));
  } catch (...) {
    // No answer is possible. The peer repeats the request after its timeout.
  }
  context_.storeAnswered();
  try {
    if (!error) {
      report();
    }
  } catch (...) {
    // Memory is short: subscribers miss the event, but the file is complete.
  }
  ended_();
}

}  // namespace ackbox::manager
