#include "simulation/puller.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/pull.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace ackbox::simulation {

Puller::Puller(testing::SimulatedProcess& process, Common& common, Place place, OutboxManager& manager,
               std::shared_ptr<Sender> sender)
    : process_(process),
      common_(common),
      place_(std::move(place)),
      manager_(manager),
      sender_(std::move(sender)),
      alarm_(process.clock().makeAlarm(process.executor())) {
  arm();
}

void Puller::arm() {
  const std::chrono::milliseconds wait(10 + drawBelow(process_.random(), 400));
  alarm_->set(process_.clock().steadyNow() + wait, [this] { glance(); });
}

void Puller::glance() {
  settleAgain();
  try {
    for (const Claim& claim : PullConsumer(manager_).claim(1 + drawBelow(process_.random(), 20))) {
      send(claim);
    }
  } catch (const std::exception&) {
    // The disk of the process died, and the process is about to die; or the disk fails for a while.
  }
  arm();
}

void Puller::send(const Claim& claim) {
  SendRequest request;
  request.peer = claim.peer;
  request.url = common_.hub.urlOf(claim.peer);
  request.peerAgent = "urn:sim:" + claim.peer;
  request.agent = "urn:sim:" + place_.agent;
  request.origin = manager_.origin();
  // All messages of this agent are sent in this way, so all have the same epoch.
  request.epoch = 1;
  request.frames = {claim.frame};
  request.timeout = common_.swarm.outbox.requestTimeout;
  sender_->asyncSend(std::move(request), [this, claim, alive = std::weak_ptr<bool>(alive_)](const SendReport& report) {
    if (!alive.expired()) {
      settle(claim, report);
    }
  });
}

void Puller::settle(const Claim& claim, const SendReport& report) {
  try {
    if (report.outcome == RequestOutcome::answered && report.results.size() == 1) {
      (void)PullConsumer(manager_).settle(claim, report.results.front());
      common_.reach.saw(Situation::claimedByHand);
    } else {
      (void)PullConsumer(manager_).release(claim, report.error.empty() ? "no answer" : report.error);
      common_.reach.saw(Situation::releasedByHand);
    }
  } catch (const std::exception&) {
    // If the process dies, its claims are released.
    unsettled_.emplace_back(claim, report);
  }
}

void Puller::settleAgain() {
  for (const auto& [claim, report] : std::exchange(unsettled_, {})) {
    settle(claim, report);
  }
}

}  // namespace ackbox::simulation
