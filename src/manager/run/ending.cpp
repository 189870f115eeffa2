#include "manager/run/engine.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace ackbox::manager {

void Engine::stop() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (self->stopping_ || self->finished_) {
      return;
    }
    self->stopping_ = true;
    self->machine_.setClaiming(false);
    delivery::Actions actions;
    for (const delivery::Actions::Claim& claim : std::exchange(self->pending_.claims, {})) {
      self->machine_.claimFailed(claim.request, std::chrono::milliseconds(0), self->now(), actions);
    }
    self->stopAlarm_->set(self->now().steady + self->core_->options().stopTimeout, [self] { self->giveUp(); });
    self->perform(std::move(actions));
  });
}

void Engine::giveUp() {
  if (finished_) {
    return;
  }
  patienceOver_ = true;
  senders_.stop();
  std::vector<delivery::RequestId> abandoned;
  for (const auto& [id, request] : requests_) {
    abandoned.push_back(id);
  }
  stopReport_.abandonedRequests += abandoned.size();
  for (const delivery::RequestId id : abandoned) {
    SendReport cancelled;
    cancelled.outcome = RequestOutcome::cancelled;
    answered(id, cancelled);
  }
  endIfDone();
}

// A single pass tells its caller what is wrong instead of waiting for it to go away.
bool Engine::hasFailed(const std::error_code& error) {
  if (error && mode_ != RunMode::continuous && !failure_) {
    failure_ = error;
  }
  if (failure_) {
    endIfDone();
  }
  return static_cast<bool>(failure_);
}

void Engine::endIfDone() {
  const bool ending = failure_ || stopping_ || (mode_ != RunMode::continuous && discovered_);
  if (finished_ || !ending || stepUnderWay_ || pollUnderWay_) {
    return;
  }
  if (failure_) {
    finish();
    return;
  }
  // What cannot be committed now stays claimed in the file, and is put back when the file is closed or next opened.
  const bool stuck = patienceOver_ && paused_;
  if (!stuck && (machine_.requestsInFlight() != 0 || needsStore(pending_))) {
    return;
  }
  if (mode_ == RunMode::untilIdle && !stopping_ && !std::exchange(hasLooked_, true)) {
    // What was enqueued before now is still to be sent, and its commit may not have told of it yet.
    poll();
    return;
  }
  finish();
}

void Engine::finish() {
  finished_ = true;
  if (wakeup_) {
    wakeup_->stop();
  }
  if (watch_) {
    watch_->stop();
  }
  wakeAlarm_->cancel();
  pollAlarm_->cancel();
  pauseAlarm_->cancel();
  stopAlarm_->cancel();
  senders_.stop();
  core_->peerBoard().clear();
  // The core may end with this reference, and must not end inside one of its own callers here.
  boost::asio::post(strand_, [self = shared_from_this(), core = std::exchange(core_, nullptr), call = std::move(ended_),
                              report = stopReport_] { call(report); });
}

}  // namespace ackbox::manager
