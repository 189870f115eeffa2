#include "manager/engine.hpp"

#include <utility>

#include "delivery/verdict.hpp"
#include "manager/jobs.hpp"
#include "manager/step_job.hpp"
#include "store/early_claim.hpp"

namespace ackbox::manager {
namespace {

// Whether nothing else is to be done than to claim this message.
bool isOnly(const delivery::Actions& actions, delivery::SessionKey session, delivery::MessageKey key) {
  if (actions.claims.size() != 1 || !actions.news.empty() || !actions.settlements.empty() ||
      !actions.releases.empty() || !actions.peers.empty() || !actions.sends.empty()) {
    return false;
  }
  const std::vector<delivery::SessionClaim>& asked = *actions.claims.front().sessions;
  return asked.size() == 1 && asked.front().session == session && asked.front().keys == std::vector{key} &&
         !asked.front().doubt;
}

}  // namespace

// A lone message is claimed by the commit that stores it. The machine is told so if that is what it asks for now, and
// nothing else is; otherwise the message is given back, and claimed when it is its turn.
void Engine::onEarlyClaim(store::ClaimReply&& reply, std::uint64_t epoch, delivery::Actions& actions) {
  core_->earlyClaim().settle();
  const bool isOvertaken = std::exchange(isOvertaken_, false);
  const delivery::SessionClaimed& session = reply.sessions.front();
  const delivery::ClaimedRow& row = session.rows.front();
  if (!isOvertaken && mayClaimEarly() && isOnly(actions, session.session, row.key)) {
    const delivery::RequestId request = std::exchange(actions.claims, {}).front().request;
    onClaim(request, std::move(reply), epoch, actions);
    return;
  }
  actions.settlements.push_back(delivery::settlementOf(session.session, row, {}, now().wall));
  if (!delivery::isUnit(session.session)) {
    delivery::SessionRelease release;
    release.session = session.session;
    release.head = row.key;
    actions.releases.push_back(release);
  }
}

// Nothing is decided that is not committed, and the run's thread is sure to go on.
bool Engine::mayClaimEarly() const {
  return commitsHere_ && mode_ == RunMode::continuous && !stopping_ && !paused_ && !stepUnderWay_ &&
         !needsStore(pending_);
}

// After a lone message was acknowledged: its peer is well, and another one may follow. Until the next step, which may
// claim a session.
void Engine::allowEarlyClaim(const StepJob& step) {
  if (step.settled.size() != 1 || !step.settled.front() || !step.claims.empty() || !mayClaimEarly() ||
      machine_.requestsInFlight() != 0 || step.actions.settlements.front().transition != delivery::Transition::ack) {
    return;
  }
  const auto peer = sessionPeers_.find(step.settled.front()->session);
  if (peer != sessionPeers_.end()) {
    core_->earlyClaim().allow(peer->second);
  }
}

// What a commit under way has claimed is to be given back: the next commit comes after its news.
void Engine::awaitEarlyClaim() {
  pollUnderWay_ = true;
  commitDetached(
      core_->writer(), false, [](const store::Store&) { return true; },
      [link = crossing()](const std::error_code& error, bool) {
        link->enter([error](Engine& engine) { return engine.queueNews(error); },
                    [](Engine& engine, const std::error_code& failure) {
                      engine.takeIn();
                      engine.pollUnderWay_ = false;
                      if (!failure) {
                        engine.core_->earlyClaim().settle();
                      }
                      if (!failure || engine.patienceOver_) {
                        engine.endIfDone();
                      } else if (!engine.paused_) {
                        engine.pauseAlarm_->set(engine.now().steady + kStorePause,
                                                [self = engine.shared_from_this()] { self->endIfDone(); });
                      }
                    });
      });
}

}  // namespace ackbox::manager
