#include "manager/inbound/inbound_completion.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "ackbox/error.hpp"
#include "base/timestamp.hpp"
#include "delivery/due.hpp"
#include "manager/inbound/ack_events.hpp"

namespace ackbox::manager {
namespace {

// The number of old results that each end deletes: more than it adds.
constexpr std::size_t kPurgedResults = 4;

// More ends in one job would hold the write lock for too long.
constexpr std::size_t kEndsMax = 512;

constexpr const char* kExpired = "expired";

/// The answer in its form on the wire. The agent of a mailbox is the receiver of its frames, so its word that one has
/// expired is no handler's.
FrameResult resultOf(const InboundFrame& frame, HandlerResult answer, std::string_view& leftOut) {
  const bool isReceivers = !frame.mailbox.empty() && frame.expiresAt;
  if (isReceivers && answer.outcome == Outcome::term && answer.code == kExpired) {
    FrameResult result;
    result.outcome = answer.outcome;
    result.code = std::move(answer.code);
    result.detail = std::move(answer.detail);
    return result;
  }
  return manager::toFrameResult(std::move(answer), &leftOut);
}

}  // namespace

void InboundEnds::finish(const store::InboxRow& row, const FrameResult& result) {
  finished_.push_back({&row, &result});
}

void InboundEnds::apply(store::Store& store) const {
  store::Inbox& inbox = store.inbox();
  const std::size_t count = finished_.size() + retries_.size() + released_.size();
  inbox.finish(finished_, context_.inbound.processedRetention);
  inbox.retry(retries_);
  inbox.release(released_);
  inbox.markDeferred(deferred_);
  enqueueAckEvents(store, finished_);
  if (count > 0) {
    inbox.purge(kPurgedResults * count);
  }
}

InboundCompletion::InboundCompletion(const ScopeContext& context, Log& log, std::shared_ptr<const store::InboxRow> row,
                                     DeferredEffects effects, Kind kind, PastHorizon isPastHorizon, Ended ended)
    : context_(context),
      log_(log),
      row_(std::move(row)),
      effects_(std::move(effects)),
      kind_(kind),
      isPastHorizon_(std::move(isPastHorizon)),
      ended_(std::move(ended)) {}

void InboundCompletion::run(store::Store& store, bool isHeld, InboundEnds& ends) {
  end_ = {};
  thrown_.clear();
  reason_.clear();
  leftOut_ = {};
  if (!isHeld) {
    end_.kind = InboxEnd::Kind::lost;
    return;
  }
  if (kind_.hasExpired) {
    result_.outcome = Outcome::term;
    result_.code = kExpired;
    result_.detail = "the frame's expirytime passed before it was worked on";
    finish(ends);
    return;
  }
  HandlerResult answer = decide(store);
  if (answer.outcome == Outcome::defer && kind_.mayDefer) {
    ends.markDeferred(row_->key);
    end_.kind = InboxEnd::Kind::deferred;
    return;
  }
  result_ = resultOf(row_->frame, std::move(answer), leftOut_);
  if (result_.outcome == Outcome::ack || result_.outcome == Outcome::term) {
    finish(ends);
  } else if (kind_.isGivenBack && isPastHorizon_(row_->acceptedAt)) {
    giveUp(ends, "horizon");
  } else if (kind_.interrupted || kind_.isGivenBack) {
    ends.release(row_->key);
    end_.kind = InboxEnd::Kind::released;
    end_.pause = kind_.pause;
  } else {
    fail(ends);
  }
}

HandlerResult InboundCompletion::decide(store::Store& store) {
  if (row_->isDamaged) {
    return HandlerResult::reject("the receiver's outbox does not hold the frame as it was accepted: send it again",
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

void InboundCompletion::fail(InboundEnds& ends) {
  const RetryPolicy& retry = context_.inbound.deferred.retry;
  const WallTime now = context_.outbox.clock->wallNow();
  const bool late = isPastHorizon_(row_->acceptedAt);
  if (late || row_->retryCount >= retry.maxRetries) {
    giveUp(ends, late ? "horizon" : "retry-budget");
    return;
  }
  const auto wish = delivery::boundedWait(result_.retryAfter.value_or(std::chrono::milliseconds(0)));
  end_.kind = InboxEnd::Kind::retried;
  end_.dueAt = now + std::max(retryDelay(retry, row_->retryCount + 1, *context_.outbox.random), wish);
  // The exception's text is for the operator of this file only: it may contain details that the sender must not see.
  const std::string& why = result_.detail.empty() ? result_.code : result_.detail;
  reason_ = "not-now";
  error_ = thrown_.empty() ? why : thrown_;
  ends.retry({row_->key, end_.dueAt, error_});
}

void InboundCompletion::giveUp(InboundEnds& ends, std::string code) {
  result_.outcome = Outcome::term;
  result_.detail = result_.detail.empty() ? result_.code : result_.detail;
  result_.code = std::move(code);
  finish(ends);
}

void InboundCompletion::finish(InboundEnds& ends) {
  ends.finish(*row_, result_);
  end_.kind = InboxEnd::Kind::finished;
  if (result_.outcome == Outcome::term) {
    reason_ = result_.code.empty() ? "rejected" : result_.code;
    error_ = thrown_.empty() ? result_.detail : thrown_;
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
  const std::string retries = std::to_string(row_->retryCount + 1);
  if (isOver) {
    log_.write(LogLevel::warning, "frame-failed",
               "a received frame has ended, and is a dead letter at its sender: " + (error_.empty() ? reason_ : error_),
               {{"message", frame.id},
                {"source", frame.source},
                {"session", frame.session},
                {"retries", retries},
                {"reason", reason_},
                {"error", error_}});
  } else {
    log_.write(LogLevel::info, "frame-retry", "a run of a received frame failed, and the frame runs again: " + error_,
               {{"message", frame.id},
                {"source", frame.source},
                {"session", frame.session},
                {"retries", retries},
                {"next_attempt_at", formatTimestamp(end_.dueAt)},
                {"error", error_}});
  }
}

void InboundCompletion::done(bool isCommitted) noexcept {
  if (!isCommitted) {
    end_ = {};
  } else {
    try {
      report();
    } catch (...) {
      // Memory is short: the record is missing in the log, but not in the file.
    }
  }
  ended_(end_);
}

class InboundCompletions::Job final : public store::Job {
public:
  explicit Job(std::shared_ptr<InboundCompletions> source) : source_(std::move(source)) { durable = true; }

  /// Guarded by the source's mutex until the job is sealed.
  [[nodiscard]] bool isFull() const noexcept { return completions_.size() >= kEndsMax; }
  /// Takes `completion`, or throws and leaves it unchanged.
  void add(std::unique_ptr<InboundCompletion>&& completion) { completions_.push_back(std::move(completion)); }

  void run(store::Store& store) override {
    source_->seal(*this);
    std::vector<store::InboxStart> claims;
    claims.reserve(completions_.size());
    for (const auto& completion : completions_) {
      claims.push_back(completion->claim());
    }
    const std::vector<bool> held = store.inbox().holds(claims);
    InboundEnds ends(completions_.front()->context());
    for (std::size_t index = 0; index < completions_.size(); ++index) {
      completions_[index]->run(store, held[index], ends);
    }
    ends.apply(store);
  }

  void done(const std::error_code& error) noexcept override {
    const std::unique_ptr<Job> self(this);
    source_->seal(*this);
    // One completion may be the cause, unless the store is busy: submits each separately, so that only that one fails.
    const bool isToSplit = error && error != Errc::databaseBusy && completions_.size() > 1;
    for (auto& completion : completions_) {
      if (!isToSplit || !source_->submitAlone(completion)) {
        completion->done(!error);
        // This also destroys the objects that its effects hold, such as the frame's handle.
        completion.reset();
      }
    }
  }

private:
  const std::shared_ptr<InboundCompletions> source_;
  std::vector<std::unique_ptr<InboundCompletion>> completions_;
};

void InboundCompletions::add(std::unique_ptr<InboundCompletion> completion) {
  std::unique_ptr<Job> fresh;
  {
    const MutexLock lock(mutex_);
    if (open_ != nullptr && !open_->isFull()) {
      open_->add(std::move(completion));
      return;
    }
    fresh = std::make_unique<Job>(shared_from_this());
    fresh->add(std::move(completion));
    open_ = fresh.get();
  }
  writer_.submit(*fresh.release());
}

void InboundCompletions::seal(const Job& job) {
  const MutexLock lock(mutex_);
  if (open_ == &job) {
    open_ = nullptr;
  }
}

bool InboundCompletions::submitAlone(std::unique_ptr<InboundCompletion>& completion) noexcept {
  try {
    auto job = std::make_unique<Job>(shared_from_this());
    job->add(std::move(completion));
    writer_.submit(*job.release());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace ackbox::manager
