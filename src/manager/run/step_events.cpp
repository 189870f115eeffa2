#include "manager/run/step_events.hpp"

#include <utility>

namespace ackbox::manager {

StepEvents::StepEvents(StepJob& step, const Names& names, PeerWatch& watch) : resets_(std::move(step.resets)) {
  for (const delivery::PeerRecord& record : step.actions.peers) {
    watch.recorded(names.ofPeer(record.peer), record, peers_);
  }
  outcomes_.reserve(step.settled.size());
  for (std::size_t index = 0; index < step.settled.size(); ++index) {
    if (!step.settled[index]) {
      continue;
    }
    delivery::Settlement& settlement = step.actions.settlements[index];
    switch (settlement.transition) {
      case delivery::Transition::ack:
        ++counts_.acked;
        break;
      case delivery::Transition::defer:
        ++counts_.deferred;
        break;
      case delivery::Transition::retry:
        ++counts_.retried;
        break;
      case delivery::Transition::fail:
        ++counts_.failed;
        break;
      case delivery::Transition::release:
        ++counts_.released;
        if (settlement.dueAt == WallTime()) {
          continue;
        }
        // The message was refused and waits, although it is not charged.
        break;
      case delivery::Transition::claim:
      case delivery::Transition::redrive:
      case delivery::Transition::discard:
      case delivery::Transition::resend:
      case delivery::Transition::repeat:
        continue;
    }
    outcomes_.push_back({{std::move(step.settled[index]->messageId), names.ofSessionsPeer(step.settled[index]->session),
                          std::move(step.sessionNames[index]), step.settled[index]->sequence},
                         std::move(settlement)});
  }
}

void StepEvents::emit(EventHub& events) {
  for (const PeerEvent& peer : peers_) {
    events.peer.emit(peer);
  }
  for (const PeerResetEvent& reset : resets_) {
    events.peerReset.emit(reset);
  }
  for (Outcome& one : outcomes_) {
    delivery::Settlement& settlement = one.settlement;
    switch (settlement.transition) {
      case delivery::Transition::ack:
        if (settlement.from == MessageState::sending) {
          events.sent.emit({one.message});
        }
        events.acked.emit({std::move(one.message), settlement.duplicate, std::move(settlement.result)});
        break;
      case delivery::Transition::defer:
        events.sent.emit({std::move(one.message), settlement.unattendedSince});
        break;
      case delivery::Transition::retry:
      case delivery::Transition::release: {
        const bool isReask =
            settlement.from == MessageState::sent && settlement.transition == delivery::Transition::release;
        events.retry.emit({std::move(one.message), settlement.retryCount, settlement.dueAt,
                           isReask ? std::string("ack deadline") : std::move(settlement.error), isReask});
        break;
      }
      case delivery::Transition::fail:
        events.failed.emit({std::move(one.message), std::move(settlement.reason), std::move(settlement.error)});
        break;
      case delivery::Transition::claim:
      case delivery::Transition::redrive:
      case delivery::Transition::discard:
      case delivery::Transition::resend:
      case delivery::Transition::repeat:
        break;
    }
  }
}

}  // namespace ackbox::manager
