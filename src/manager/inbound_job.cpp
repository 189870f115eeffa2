#include "manager/inbound_job.hpp"

#include <algorithm>
#include <exception>
#include <memory>

#include "ackbox/error.hpp"
#include "manager/enqueue.hpp"

namespace ackbox::manager {
namespace {

FrameResult refused(Outcome outcome, std::string code, std::string detail) {
  FrameResult result;
  result.outcome = outcome;
  result.code = std::move(code);
  result.detail = std::move(detail);
  return result;
}

store::InboundIdentity identityOf(const InboundFrame& frame) {
  store::InboundIdentity identity;
  identity.source = frame.source;
  identity.id = frame.id;
  identity.origin = frame.origin;
  identity.session = frame.session;
  identity.epoch = frame.epoch;
  identity.sequence = frame.sequence;
  identity.previousSequence = frame.previousSequence;
  identity.expiresAt = frame.expiresAt;
  return identity;
}

class Transaction final : public InboundTransaction {
public:
  Transaction(store::Store& store, const OutboxOptions& options) : store_(store), options_(options) {}

  [[nodiscard]] SQLite::Database& database() override { return store_.database(); }

  EnqueueReceipt enqueue(const Frame& frame) override {
    EnqueueReceipt refusal = checkFrame(frame, options_);
    return refusal.accepted() ? store_.enqueue(frame) : refusal;
  }

private:
  store::Store& store_;
  const OutboxOptions& options_;
};

}  // namespace

InboundJob::InboundJob(Context context, InboundRequest request, protocol::DecodedRequest decoded,
                       std::function<void(InboundResponse)> respond, std::function<void()> ended)
    : context_(context),
      request_(std::move(request)),
      decoded_(std::move(decoded)),
      respond_(std::move(respond)),
      ended_(std::move(ended)) {
  durable = true;
}

void InboundJob::run(store::Store& store) {
  results_.clear();
  sessions_.clear();
  stoppedSessions_.clear();
  marks_ = 0;
  storeId_ = store.origin();
  for (std::size_t index = 0; index < decoded_.frames.size(); ++index) {
    results_.push_back(decide(store, index));
    const InboundFrame& frame = decoded_.frames[index].frame;
    if (results_.back().outcome != Outcome::ack && frame.sequence != 0) {
      stoppedSessions_.emplace(frame.origin, frame.session);
    }
  }
  // Twice as fast as marks are made, so that expired ones go without ever costing a pause.
  if (marks_ > 0) {
    store.purgeProcessed(2 * marks_);
  }
}

FrameResult InboundJob::decide(store::Store& store, std::size_t index) {
  const protocol::DecodedFrame& decoded = decoded_.frames[index];
  if (decoded.refusal) {
    return *decoded.refusal;
  }
  const InboundFrame& frame = decoded.frame;
  if (frame.sequence != 0 && stoppedSessions_.contains({frame.origin, frame.session})) {
    FrameResult held = refused(Outcome::nack, "held", "an earlier frame of this session was not taken");
    held.held = true;
    return held;
  }
  if (!frame.audience.empty() && frame.audience != context_.outbox.agent) {
    return refused(Outcome::term, "wrong-audience", "this is not the agent that the frame is for");
  }
  const store::InboundIdentity identity = identityOf(frame);
  const store::AdmissionReply admission = store.admit(identity);
  switch (admission.admission) {
    case store::Admission::duplicate: {
      store.countDuplicate();
      noteProgress(frame, admission.accepted);
      FrameResult result;
      result.outcome = Outcome::ack;
      result.duplicate = true;
      return result;
    }
    case store::Admission::outOfSequence:
      noteProgress(frame, admission.accepted);
      return refused(Outcome::nack, "out-of-sequence",
                     "accepted " + std::to_string(admission.accepted) + " of this session so far");
    case store::Admission::staleEpoch:
      return refused(Outcome::term, "stale-epoch", "a newer epoch of this store was seen: it was restored from a copy");
    case store::Admission::take:
      break;
  }
  // After the duplicate check: what took effect in time stays acknowledged however late it is repeated.
  if (frame.expiresAt && *frame.expiresAt <= context_.outbox.clock->wallNow()) {
    return refused(Outcome::term, "expired", "the frame's expirytime has passed");
  }
  return take(store, index, identity, admission.gap);
}

FrameResult InboundJob::take(store::Store& store, std::size_t index, const store::InboundIdentity& identity,
                             std::uint64_t gap) {
  const InboundFrame& frame = decoded_.frames[index].frame;
  if (offenders_.contains(index)) {
    return refused(Outcome::nack, "handler-error", "the handler failed");
  }
  store.savepoint();
  HandlerResult answer = callHandler(store, frame);
  if (store.transactionLost()) {
    offenders_.insert(index);
    throw Error(Errc::handlerEndedTransaction, "handling a frame of type " + frame.type);
  }
  if (answer.outcome == Outcome::defer) {
    answer = HandlerResult::notNow("this handler cannot defer");
  }
  FrameResult result;
  result.outcome = answer.outcome;
  result.code = std::move(answer.code);
  result.detail = std::move(answer.detail);
  result.retryAfter = answer.retryAfter;
  if (answer.outcome != Outcome::ack) {
    store.rollbackToSavepoint();
    return result;
  }
  store.markProcessed(identity, gap, {context_.limits.processedRetention, context_.limits.processedRetentionMax});
  store.releaseSavepoint();
  if (frame.sequence == 0) {
    ++marks_;
  }
  noteProgress(frame, frame.sequence);
  result.result = protocol::isValidJson(answer.result, context_.limits.depthMax) ? std::move(answer.result) : "";
  return result;
}

HandlerResult InboundJob::callHandler(store::Store& store, const InboundFrame& frame) {
  Transaction transaction(store, context_.outbox);
  store.guardTransaction(true);
  HandlerResult answer;
  try {
    answer = context_.handler(frame, transaction);
  } catch (const std::exception& error) {
    answer = handlerFailed(frame, error.what());
  } catch (...) {
    answer = handlerFailed(frame, "an exception of an unknown type");
  }
  store.guardTransaction(false);
  return answer;
}

// What went wrong is the receiver's own affair: the peer learns only that it may try again.
HandlerResult InboundJob::handlerFailed(const InboundFrame& frame, const char* what) const {
  try {
    if (context_.limits.onHandlerError) {
      context_.limits.onHandlerError(frame, what);
    }
  } catch (...) {
    // Documented: a listener harms nobody.
  }
  HandlerResult answer = HandlerResult::notNow("the handler failed");
  answer.code = "handler-error";
  return answer;
}

void InboundJob::noteProgress(const InboundFrame& frame, std::uint64_t accepted) {
  if (frame.sequence == 0) {
    return;
  }
  const auto known = std::find_if(sessions_.begin(), sessions_.end(),
                                  [&](const protocol::SessionProgress& one) { return one.id == frame.session; });
  if (known == sessions_.end()) {
    sessions_.push_back({frame.session, accepted, accepted});
  } else {
    known->accepted = std::max(known->accepted, accepted);
    known->settled = known->accepted;
  }
}

InboundResponse InboundJob::answer(const std::error_code& error) const {
  if (error) {
    return protocol::unavailable(error == Errc::diskFull, "nothing was stored; try again");
  }
  std::vector<std::string> ids;
  ids.reserve(decoded_.frames.size());
  for (const protocol::DecodedFrame& frame : decoded_.frames) {
    ids.push_back(frame.frame.id);
  }
  return protocol::encodeAck(request_, decoded_.batch, storeId_, ids, results_, sessions_, context_.limits);
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
    // Nobody can be told. The peer's timeout repeats the request.
  }
  ended_();
}

}  // namespace ackbox::manager
