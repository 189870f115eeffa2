#include "manager/run/engine.hpp"

#include <boost/asio/post.hpp>
#include <iterator>
#include <utility>

#include "manager/run/step_events.hpp"
#include "manager/run/step_job.hpp"

namespace ackbox::manager {
namespace {

template <typename Item>
void moveTo(std::vector<Item>& target, std::vector<Item>& source) {
  if (target.empty()) {
    target.swap(source);
    return;
  }
  target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
  source.clear();
}

bool isLone(const delivery::Actions& actions) {
  std::size_t claimed = 0;
  for (const delivery::Actions::Claim& claim : actions.claims) {
    for (const delivery::SessionClaim& session : *claim.sessions) {
      claimed += session.keys.size();
    }
  }
  return actions.settlements.size() <= 1 && claimed <= 1;
}

}  // namespace

void Engine::perform(delivery::Actions&& actions) {
  moveTo(pending_.news, actions.news);
  moveTo(pending_.settlements, actions.settlements);
  moveTo(pending_.releases, actions.releases);
  moveTo(pending_.peers, actions.peers);
  moveTo(pending_.claims, actions.claims);
  for (delivery::Actions::Send& one : actions.sends) {
    send(std::move(one));
  }
  submitStep();
  wakeLater();
  publishPeers();
  endIfDone();
  stepDoneHere();
}

// What this thread has committed itself is followed up at once, but not without end: what that decides may be committed
// here again, and comes later.
void Engine::stepDoneHere() {
  const std::shared_ptr<StepJob> step = std::exchange(committed_, nullptr);
  if (!step) {
    return;
  }
  if (std::exchange(followsUp_, true)) {
    boost::asio::post(strand_, [self = shared_from_this(), step] { self->stepDone(step); });
    return;
  }
  stepDone(step);
  followsUp_ = false;
}

void Engine::submitStep() {
  if (stepUnderWay_ || paused_ || failure_ || !needsStore(pending_)) {
    return;
  }
  stepUnderWay_ = true;
  hasLooked_ = false;
  // Two changes of threads are most of what a lone message costs. In a crowd they are shared by many, and what comes
  // back while the writer commits makes the next step larger.
  const bool here = Core::commitsInline(thread_) && machine_.requestsInFlight() <= 1 && isLone(pending_);
  const auto step = std::make_shared<StepJob>(std::exchange(pending_, {}));
  if (here && step->commitHere(core_->writer())) {
    committed_ = step;
    return;
  }
  StepJob::submit(step, core_->writer(), [link = handoff()](const std::shared_ptr<StepJob>& done) {
    link->enter([&done](const Engine&) { return done; },
                [](Engine& engine, const std::shared_ptr<StepJob>& job) { engine.stepDone(job); });
  });
}

void Engine::stepDone(const std::shared_ptr<StepJob>& step) {
  stepUnderWay_ = false;
  if (finished_ || hasFailed(step->error)) {
    return;
  }
  if (step->error) {
    stepFailed(*step);
    return;
  }
  tellOfStore({});
  emit(*step);
  watch(step->vitals, step->actions.peers);
  delivery::Actions actions;
  for (std::size_t index = 0; index < step->claims.size(); ++index) {
    onClaim(step->actions.claims[index].request, std::move(step->claims[index]), step->epoch, actions);
  }
  applyHolds(actions);
  perform(std::move(actions));
}

void Engine::onClaim(delivery::RequestId request, store::ClaimReply&& reply, std::uint64_t epoch,
                     delivery::Actions& actions) {
  drained_.claimed += reply.messages.size();
  requests_.insert_or_assign(request, Request{std::move(reply.messages), epoch, {}});
  const std::size_t sends = actions.sends.size();
  machine_.claimed(request, reply.sessions, epoch, now(), actions);
  if (actions.sends.size() == sends) {
    requests_.erase(request);
  }
}

// Once more those about sessions that came while a step was under way: whom it found halted is known only now.
void Engine::applyHolds(delivery::Actions& actions) {
  if (const auto holds = std::exchange(holds_, std::nullopt)) {
    machine_.applyHolds(*holds, now(), actions);
  }
}

// What was decided stays decided: it goes in front of what was decided since. Claims are the machine's to decide anew.
void Engine::stepFailed(StepJob& step) {
  delivery::Actions retried = std::move(step.actions);
  delivery::Actions later;
  const bool isTooLarge = step.error == Errc::outOfMemory;
  for (const delivery::Actions::Claim& claim : retried.claims) {
    machine_.claimFailed(claim.request, kStorePause, now(), later, isTooLarge);
  }
  tellOfStore(step.error);
  applyHolds(later);
  retried.claims.clear();
  moveTo(retried.news, pending_.news);
  moveTo(retried.settlements, pending_.settlements);
  moveTo(retried.releases, pending_.releases);
  moveTo(retried.peers, pending_.peers);
  moveTo(retried.claims, pending_.claims);
  pending_ = std::move(retried);
  paused_ = true;
  pauseAlarm_->set(now().steady + kStorePause, [self = shared_from_this()] {
    self->paused_ = false;
    self->perform({});
  });
  perform(std::move(later));
}

void Engine::emit(StepJob& step) {
  StepEvents announcement(step, [this](delivery::SessionKey session) {
    const auto sessionPeer = sessionPeers_.find(session);
    const auto peer = sessionPeer == sessionPeers_.end() ? peers_.end() : peers_.find(sessionPeer->second);
    return peer == peers_.end() ? std::string() : peer->second.name;
  });
  const StepCounts& counts = announcement.counts();
  drained_.acked += counts.acked;
  drained_.deferred += counts.deferred;
  drained_.retried += counts.retried;
  drained_.failed += counts.failed;
  drained_.released += counts.released;
  if (stopping_) {
    stopReport_.released += counts.released;
    stopReport_.settled += counts.settled();
  }
  announcement.emit(core_->events());
}

// Once when it begins, by the first reason, and once when it is over: a step is tried again four times a second.
void Engine::tellOfStore(const std::error_code& error) {
  if (static_cast<bool>(error) == isStoreRefusing_) {
    return;
  }
  isStoreRefusing_ = static_cast<bool>(error);
  tellOfProcess(isStoreRefusing_, isStoreRefusing_ ? "the store cannot go on, which is tried again: " + error.message()
                                                   : "the store goes on again");
}

// Subscribers may do anything, so they are told when all that was seen is taken in.
void Engine::watch(const store::Vitals& vitals, std::span<const delivery::PeerRecord> peers) {
  if (!health_.on()) {
    return;
  }
  HealthWatch::Events events;
  const WallTime wall = now().wall;
  for (const delivery::PeerRecord& record : peers) {
    if (const auto peer = peers_.find(record.peer); peer != peers_.end()) {
      health_.peerChanged(peer->second.name, record.down, record.downSince, wall, events);
    }
  }
  health_.look(vitals, wall, events);
  for (const HealthEvent& event : events) {
    core_->events().health.emit(event);
  }
}

}  // namespace ackbox::manager
