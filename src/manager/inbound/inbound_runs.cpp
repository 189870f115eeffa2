// The runs of `InboundRunner`: the calls of handlers, the ends of runs, and the progress of their queues.

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/exception_report.hpp"
#include "delivery/due.hpp"
#include "manager/inbound/inbound_runner.hpp"

namespace ackbox::manager {

void InboundRunner::callHandler(DeferredFrame frame, const std::shared_ptr<InboxRun>& run) {
  // Before the deadline is set, which may end the run from another thread.
  if (tracer_.isOn() && !run->stopRequested) {
    run->span = tracer_.handlingBegan(run->row->frame, true);
    run->isTraced = true;
  }
  if (!progress(*run)) {
    return;
  }
  std::string what;
  try {
    options_.deferred.handler(std::move(frame));
    return;
  } catch (...) {
    what = whatOf(std::current_exception());
  }
  complete(run, [what](InboundTransaction&) -> HandlerResult { throw std::runtime_error(what); }, {});
}

bool InboundRunner::progress(InboxRun& run) {
  if (run.stopRequested) {
    return false;
  }
  const SteadyTime deadline = core_->clock().steadyNow() + options_.deferred.timeout;
  run.deadline = deadline;
  act([&](Todo&) {
    mutex_.assertHeld();
    nextDeadline_ = std::min(nextDeadline_, deadline);
  });
  return true;
}

bool InboundRunner::complete(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, DeferredDone done) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || run->answered.exchange(true)) {
      return false;
    }
    ++jobs_;
  }
  submitRun(run, std::move(effects), std::move(done));
  return true;
}

bool InboundRunner::giveBack(const std::shared_ptr<InboxRun>& run, std::string reason,
                             std::chrono::milliseconds pause) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || run->answered.exchange(true)) {
      return false;
    }
    ++jobs_;
  }
  submitEnd(run, [answer = HandlerResult::notNow(std::move(reason))](InboundTransaction&) { return answer; },
            {.isGivenBack = true, .pause = pause}, {});
  return true;
}

void InboundRunner::dropped(const std::shared_ptr<InboxRun>& run) {
  act([&](Todo& todo) {
    mutex_.assertHeld();
    const auto place = active_.find(run->id);
    if (place == active_.end()) {
      return;
    }
    machine_.placeFreed(run->turn);
    place->second.dropped = true;
    if (!closed_ && !run->answered.exchange(true)) {
      failLater(run, "the handler ended without an answer", todo);
    } else {
      advanceIfOver(run->id);
    }
  });
}

void InboundRunner::failLater(const std::shared_ptr<InboxRun>& run, const char* problem, Todo& todo) {
  ++jobs_;
  todo.emplace_back([self = shared_from_this(), run, problem] {
    self->submitRun(run,
                    [run, problem](InboundTransaction&) {
                      if (!run->interrupted()) {
                        throw std::runtime_error(problem);
                      }
                      return HandlerResult::notNow();
                    },
                    {});
  });
}

// Unfinished work of a run that a shutdown asked to stop is not a failure.
void InboundRunner::submitRun(const std::shared_ptr<InboxRun>& run, DeferredEffects effects, DeferredDone done) {
  submitEnd(run, std::move(effects), {.interrupted = run->interrupted()}, std::move(done));
}

void InboundRunner::submitEnd(const std::shared_ptr<InboxRun>& run, DeferredEffects effects,
                              InboundCompletion::Kind kind, DeferredDone done) {
  submit(run->row, run->isTraced ? noting(run, std::move(effects)) : std::move(effects), kind,
         [self = shared_from_this(), run, done = std::move(done)](const InboxEnd& end) {
           self->traceEnd(*run, end);
           if (done) {
             done(end.kind != InboxEnd::Kind::lost && end.kind != InboxEnd::Kind::failed);
           }
           self->act([&](Todo&) {
             self->mutex_.assertHeld();
             --self->jobs_;
             if (const auto place = self->active_.find(run->id); place != self->active_.end()) {
               place->second.end = end;
               self->advanceIfOver(run->id);
             }
           });
         });
}

DeferredEffects InboundRunner::noting(const std::shared_ptr<InboxRun>& run, DeferredEffects effects) {
  return [run, effects = std::move(effects)](InboundTransaction& transaction) {
    try {
      run->decision = effects(transaction);
      return *run->decision;
    } catch (...) {
      run->decision = HandlerResult::notNow(whatOf(std::current_exception()));
      run->decision->code = Tracer::thrown({}).code;
      throw;
    }
  };
}

void InboundRunner::traceEnd(const InboxRun& run, const InboxEnd& end) const noexcept {
  if (!run.isTraced) {
    return;
  }
  const bool isCommitted = run.decision && end.kind != InboxEnd::Kind::lost && end.kind != InboxEnd::Kind::failed;
  tracer_.handlingEnded(run.span, isCommitted ? Tracer::decisionOf(*run.decision)
                                              : TracedDecision{.outcome = Outcome::nack, .code = "not-committed"});
}

void InboundRunner::submit(const Row& row, DeferredEffects effects, InboundCompletion::Kind kind,
                           std::function<void(const InboxEnd&)> ended) {
  completions_->add(std::make_unique<InboundCompletion>(
      ScopeContext{core_->options(), options_, core_->tracer()}, core_->log(), row, std::move(effects), kind,
      [self = shared_from_this()](WallTime acceptedAt) { return self->isPastHorizon(acceptedAt); }, std::move(ended)));
}

bool InboundRunner::isPastHorizon(WallTime acceptedAt) {
  const MutexLock lock(mutex_);
  const delivery::Now present = now();
  openClock_.look(present);
  return isOld(acceptedAt, present);
}

bool InboundRunner::isOld(WallTime acceptedAt, const delivery::Now& present) const {
  return openClock_.hasPassed(options_.deferred.retry.horizon, acceptedAt, delivery::kHorizonGrace, present);
}

// One run at a time per session: the next one starts when this one is settled and its handler has dropped it, or has
// exceeded its deadline.
void InboundRunner::advanceIfOver(std::uint64_t id) {
  const auto place = active_.find(id);
  Active& active = place->second;
  if (!active.end) {
    return;
  }
  if (!active.advanced && (active.dropped || active.expired)) {
    active.advanced = true;
    advance(active.run->turn.queue, *active.end);
  }
  if (active.dropped) {
    active_.erase(place);
  }
}

void InboundRunner::advance(reception::QueueNumber queue, const InboxEnd& end) {
  switch (end.kind) {
    case InboxEnd::Kind::finished:
      machine_.headEnded(queue);
      return;
    case InboxEnd::Kind::retried:
      park(queue, delivery::boundedWait(end.dueAt - core_->clock().wallNow()));
      return;
    case InboxEnd::Kind::released:
      if (end.pause.count() <= 0) {
        machine_.headReady(queue);
      } else {
        park(queue, end.pause);
      }
      return;
    case InboxEnd::Kind::lost:
      park(queue, core_->options().sharedPollInterval);
      return;
    case InboxEnd::Kind::deferred:
    case InboxEnd::Kind::failed:
      park(queue, kStoreRetryPause);
      return;
  }
}

void InboundRunner::park(reception::QueueNumber queue, std::chrono::milliseconds wait) {
  machine_.headWaits(queue, core_->clock().steadyNow() + wait);
}

}  // namespace ackbox::manager
