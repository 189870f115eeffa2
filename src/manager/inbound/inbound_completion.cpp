#include "manager/inbound/inbound_completion.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/error.hpp"
#include "delivery/due.hpp"
#include "protocol/timestamp.hpp"
#include "protocol/wire.hpp"

namespace ackbox::manager {
namespace {

// Old results that each completion deletes: more than it makes.
constexpr std::size_t kPurgedResults = 4;

}  // namespace

InboundCompletion::InboundCompletion(const ScopeContext& context, Log& log, std::shared_ptr<const store::InboxRow> row,
                                     DeferredEffects effects, Kind kind, PastHorizon isPastHorizon, Ended ended)
    : context_(context),
      log_(log),
      row_(std::move(row)),
      effects_(std::move(effects)),
      kind_(kind),
      isPastHorizon_(std::move(isPastHorizon)),
      ended_(std::move(ended)) {
  // A row that was given back and is still claimed after a power cut is freed with its owner.
  durable = !kind_.isGivenBack;
}

void InboundCompletion::run(store::Store& store) {
  end_ = {};
  thrown_.clear();
  reason_.clear();
  leftOut_ = {};
  store::Inbox& inbox = store.inbox();
  if (!inbox.holds(row_->key, row_->starts)) {
    end_.kind = InboxEnd::Kind::lost;
    return;
  }
  HandlerResult answer = decide(store);
  if (answer.outcome == Outcome::defer && kind_.mayDefer) {
    inbox.markDeferred(row_->key);
    end_.kind = InboxEnd::Kind::deferred;
    return;
  }
  FrameResult result = toFrameResult(std::move(answer), &leftOut_);
  if (result.outcome == Outcome::ack || result.outcome == Outcome::term) {
    finish(store, result);
  } else if (kind_.isGivenBack && isPastHorizon_(row_->acceptedAt)) {
    giveUp(store, result, "horizon");
  } else if (kind_.interrupted || kind_.isGivenBack) {
    inbox.release(row_->key);
    end_.kind = InboxEnd::Kind::released;
    end_.pause = kind_.pause;
  } else {
    fail(store, result);
  }
  inbox.purge(kPurgedResults);
}

HandlerResult InboundCompletion::decide(store::Store& store) {
  if (row_->isDamaged) {
    return HandlerResult::reject("the receiver's file does not hold the frame as it was accepted: send it again",
                                 "damaged");
  }
  if (offended_) {
    thrown_ = "the handler ended its transaction";
    return handlerFailed(context_.inbound, row_->frame, thrown_.c_str());
  }
  try {
    return callInScope(store, context_, row_->frame, effects_, &thrown_);
  } catch (const Error& error) {
    offended_ = error.code() == Errc::handlerEndedTransaction;
    throw;
  }
}

void InboundCompletion::fail(store::Store& store, FrameResult& result) {
  const RetryPolicy& retry = context_.inbound.deferred.retry;
  const WallTime now = context_.outbox.clock->wallNow();
  const bool late = isPastHorizon_(row_->acceptedAt);
  if (late || row_->retryCount >= retry.maxRetries) {
    giveUp(store, result, late ? "horizon" : "retry-budget");
    return;
  }
  const auto wish = delivery::boundedWait(result.retryAfter.value_or(std::chrono::milliseconds(0)));
  end_.kind = InboxEnd::Kind::retried;
  end_.dueAt = now + std::max(retryDelay(retry, row_->retryCount + 1, *context_.outbox.random), wish);
  // For the operator of this file only: what was thrown may name what the sender has no business with.
  const std::string& why = result.detail.empty() ? result.code : result.detail;
  reason_ = "not-now";
  error_ = thrown_.empty() ? why : thrown_;
  store.inbox().retry(row_->key, end_.dueAt, error_);
}

void InboundCompletion::giveUp(store::Store& store, FrameResult& result, std::string code) {
  result.outcome = Outcome::term;
  result.detail = result.detail.empty() ? result.code : result.detail;
  result.code = std::move(code);
  finish(store, result);
}

void InboundCompletion::finish(store::Store& store, const FrameResult& result) {
  store.inbox().finish(*row_, result, context_.inbound.processedRetention);
  enqueueAckEvent(store, context_.outbox.peers, row_->frame, result);
  end_.kind = InboxEnd::Kind::finished;
  if (result.outcome == Outcome::term) {
    reason_ = result.code.empty() ? "rejected" : result.code;
    error_ = thrown_.empty() ? result.detail : thrown_;
  }
}

// Never to an address that a frame names. A sender that is no peer of ours, or an outbox that is full, costs nothing
// but time: the sender asks again at its deadline.
void enqueueAckEvent(store::Store& store, const std::vector<PeerOptions>& peers, const InboundFrame& frame,
                     const FrameResult& result) {
  const auto sender = std::find_if(peers.begin(), peers.end(), [&](const PeerOptions& peer) {
    return !peer.agent.empty() && peer.agent == frame.source;
  });
  if (sender == peers.end()) {
    return;
  }
  Frame event;
  event.peer = sender->name;
  event.session = protocol::kAckEventType;
  event.type = protocol::kAckEventType;
  // Where a redrive has no other number: a refusal is about the enqueue that was refused. What took effect did so for
  // all.
  const bool isAboutOne = frame.sequence == 0 && result.outcome != Outcome::ack;
  const std::optional<WallTime> time = isAboutOne ? frame.time : std::nullopt;
  event.data = protocol::encodeAckEvent(frame.id, frame.sequence, result, true, time);
  if (store.outbox().enqueue(event).status == EnqueueStatus::frameTooLarge) {
    event.data = protocol::encodeAckEvent(frame.id, frame.sequence, result, false, time);
    store.outbox().enqueue(event);
  }
}

void InboundCompletion::report() const {
  if (!leftOut_.empty()) {
    reportLeftOut(log_, row_->frame, leftOut_);
  }
  const bool isOver = end_.kind == InboxEnd::Kind::finished;
  if (reason_.empty() || !log_.takes(isOver ? LogLevel::warning : LogLevel::info)) {
    return;
  }
  const InboundFrame& frame = row_->frame;
  const std::string attempts = std::to_string(row_->retryCount + 1);
  if (isOver) {
    log_.write(
        LogLevel::warning, "frame-failed",
        "a received frame was given up, and is a dead letter at its sender: " + (error_.empty() ? reason_ : error_),
        {{"message", frame.id},
         {"source", frame.source},
         {"session", frame.session},
         {"attempts", attempts},
         {"reason", reason_},
         {"error", error_}});
  } else {
    log_.write(LogLevel::info, "frame-retry", "a received frame is worked on again later: " + error_,
               {{"message", frame.id},
                {"source", frame.source},
                {"session", frame.session},
                {"attempts", attempts},
                {"next_attempt_at", protocol::formatTimestamp(end_.dueAt)},
                {"error", error_}});
  }
}

void InboundCompletion::done(const std::error_code& error) noexcept {
  const std::unique_ptr<InboundCompletion> self(this);
  if (error) {
    end_ = {};
  } else {
    try {
      report();
    } catch (...) {
      // Memory is short: the log misses it, the file does not.
    }
  }
  ended_(end_);
}

}  // namespace ackbox::manager
