#include "simulation/hands.hpp"

#include <algorithm>
#include <iterator>

#include "simulation/common.hpp"

namespace ackbox::simulation {
namespace {

Hands::Delivery deliveryOf(const std::string& agent, const InboundFrame& frame) {
  return {agent, frame.sequence == 0 ? frame.source : frame.origin, frame.session, frame.id, frame.sequence};
}

}  // namespace

void Hands::given(const Place& place, const Clock& clock, const Consumer& consumer, const InboundFrame& frame) {
  dropOverdue();
  judgeName(place, frame);
  judgeLane(place, frame);
  judgeDelivery(place.agent, frame);
  const Name name(place.agent, frame.source, frame.id);
  hands_.insert_or_assign(
      name, Hand{place.process, consumer.number, consumer.pool, frame, &clock, clock.steadyNow() + timeout_});
  if (frame.sequence != 0) {
    Given& lane = lanes_[{place.agent, frame.origin, frame.session}];
    lane.sequence = std::max(lane.sequence, frame.sequence);
    ++lane.inHand;
  }
  deliveries_[deliveryOf(place.agent, frame)] = State::given;
  judgePlaces(place, consumer, frame);
  if (returned_.erase(name) > 0) {
    reach_.saw(Situation::returnedGiven);
  }
  // Only the agent's first process listens; a mailbox's agent has no process.
  if (consumer.pool != Pool::mailed && place.process != place.agent) {
    reach_.saw(Situation::givenByOther);
  }
}

void Hands::judgeName(const Place& place, const InboundFrame& frame) {
  const auto hand = hands_.find({place.agent, frame.source, frame.id});
  if (hand != hands_.end()) {
    ledger_.violated("P7", frame.id + " is given to an application of " + place.process + " while one of " +
                               hand->second.process + " has it in hand");
    release(hand);
  }
}

void Hands::judgeLane(const Place& place, const InboundFrame& frame) {
  const auto lane = lanes_.find({place.agent, frame.origin, frame.session});
  if (frame.sequence == 0 || lane == lanes_.end()) {
    return;
  }
  if (lane->second.inHand > 0) {
    ledger_.violated("P4", frame.id + " is given to an application of " + place.process +
                               " while another frame of session " + frame.session + " is in hand");
  }
  if (frame.sequence < lane->second.sequence) {
    ledger_.violated("P4", frame.id + " of session " + frame.session + " is given to an application as " +
                               std::to_string(frame.sequence) + " after " + std::to_string(lane->second.sequence));
  }
}

void Hands::judgeDelivery(const std::string& agent, const InboundFrame& frame) {
  Entry& entry = ledger_.entries[nameOf(frame.id)];
  if (entry.to != agent) {
    ledger_.violated("P11", frame.id + " for " + entry.to + " is given to an application of " + agent);
  }
  // The deadline may charge the message, and the receiver may give it up.
  entry.deferred = true;
  const auto known = deliveries_.find(deliveryOf(agent, frame));
  const bool isCommitted = known != deliveries_.end() && known->second == State::committed;
  if (isCommitted || (entry.acked && entry.redrives == 0)) {
    ledger_.violated("P5", frame.id + " is given to an application although it was acknowledged");
  }
}

void Hands::judgePlaces(const Place& place, const Consumer& consumer, const InboundFrame& frame) {
  const auto isOfPool = [&](const auto& hand) {
    return hand.second.process == place.process && hand.second.pool == consumer.pool;
  };
  const auto isOfConsumer = [&](const auto& hand) { return hand.second.consumer == consumer.number; };
  const auto inPool = static_cast<std::size_t>(std::ranges::count_if(hands_, isOfPool));
  const auto inWindow = static_cast<std::size_t>(std::ranges::count_if(hands_, isOfConsumer));
  std::set<std::uint64_t> consumers;
  for (const auto& [name, hand] : hands_) {
    if (hand.process == place.process && hand.pool == consumer.pool) {
      consumers.insert(hand.consumer);
    }
  }
  if (inPool > consumer.places + consumers.size() * consumer.ownPlaces || inWindow > consumer.window) {
    ledger_.violated("P12", frame.id + " is given to an application that has " + std::to_string(inWindow) + " of " +
                                std::to_string(consumer.window) + " frames in hand with it, in a pool that has " +
                                std::to_string(inPool) + " of " + std::to_string(consumer.places));
  }
}

Hands::HandsByName::iterator Hands::release(HandsByName::iterator hand) {
  const InboundFrame& frame = hand->second.frame;
  if (frame.sequence != 0) {
    --lanes_.at({std::get<0>(hand->first), frame.origin, frame.session}).inHand;
  }
  return hands_.erase(hand);
}

// The log reports that a run's deadline has passed, but omits records when there are many.
void Hands::dropOverdue() {
  for (auto hand = hands_.begin(); hand != hands_.end();) {
    const bool isOver = hand->second.clock->steadyNow() >= hand->second.deadline;
    hand = isOver ? release(hand) : std::next(hand);
  }
}

void Hands::ended(const std::string& agent, const InboundFrame& frame) {
  if (const auto hand = hands_.find({agent, frame.source, frame.id}); hand != hands_.end()) {
    release(hand);
  }
}

void Hands::acknowledged(const std::string& agent, const InboundFrame& frame) {
  deliveries_[deliveryOf(agent, frame)] = State::acknowledged;
}

void Hands::committed(const std::string& agent, const InboundFrame& frame) {
  State& state = deliveries_[deliveryOf(agent, frame)];
  if (state != State::acknowledged) {
    ledger_.violated("P5", frame.id + " is said to have ended, and was given to an application meanwhile");
  }
  state = State::committed;
}

std::size_t Hands::gone(std::uint64_t consumer) {
  std::size_t count = 0;
  for (auto hand = hands_.begin(); hand != hands_.end();) {
    if (hand->second.consumer == consumer) {
      returned_.insert(hand->first);
      hand = release(hand);
      ++count;
    } else {
      ++hand;
    }
  }
  return count;
}

void Hands::died(const std::string& process) {
  for (auto hand = hands_.begin(); hand != hands_.end();) {
    hand = hand->second.process == process ? release(hand) : std::next(hand);
  }
}

void Hands::logged(const Place& place, const LogRecord& record) {
  if ((record.event != "frame-retry" && record.event != "frame-failed") ||
      fieldOf(record, "error") != "the handler's deadline has passed") {
    return;
  }
  // The agent of a mailbox is not that of the process.
  const auto hand = std::ranges::find_if(hands_, [&](const auto& one) {
    return one.second.process == place.process && one.second.frame.source == fieldOf(record, "source") &&
           one.second.frame.id == fieldOf(record, "message");
  });
  if (hand != hands_.end()) {
    reach_.saw(Situation::applicationDeadline);
    release(hand);
  }
}

void Hands::worked(const std::string& agent, const InboundFrame& frame) {
  dropOverdue();
  const auto lane = lanes_.find({agent, frame.origin, frame.session});
  if (frame.sequence != 0 && lane != lanes_.end() &&
      (lane->second.inHand > 0 || frame.sequence < lane->second.sequence)) {
    ledger_.violated("P4", frame.id + " of session " + frame.session + " is worked on as " +
                               std::to_string(frame.sequence) + " although an application has got " +
                               std::to_string(lane->second.sequence));
  }
}

}  // namespace ackbox::simulation
