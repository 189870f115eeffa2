#include "simulation/agent.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "simulation/application_types.hpp"

namespace ackbox::simulation {

Agent::Agent(testing::SimulatedProcess& process, Common& common, Place place, Role role)
    : process_(process),
      common_(common),
      place_(std::move(place)),
      manager_(common.places.open(place_.agent, process, options(),
                                  [&common, name = place_.process] { common.claimsLost(name); })) {
  addPeers();
  subscribe();
  reach_ = common_.reach.subscribe(place_, manager_);
  inbox_.emplace(process_, common_, place_, manager_, role != Role::second && role != Role::fetches);
  if (role == Role::fetches) {
    fetcher_.emplace(process_, common_, place_, inbox_->handler());
  }
  std::shared_ptr<Sender> sender = common_.watch.wrap(place_, process_.clock(), process_.sender());
  if (role == Role::pulls) {
    puller_.emplace(process_, common_, place_, manager_, std::move(sender));
  } else {
    manager_.setSender(std::move(sender));
    if (drawChance(process_.random(), common_.swarm.started)) {
      manager_.start();
    } else {
      manager_.runThen(process_.executor(), [](const std::error_code&) {});
    }
  }
}

Agent::~Agent() {
  common_.watch.died(place_.process);
  common_.hands.died(place_.process);
  common_.attendance.died(place_.process);
}

OutboxOptions Agent::options() {
  OutboxOptions options = common_.swarm.outbox;
  if (common_.patient) {
    options.pollInterval = options.sharedPollInterval = std::chrono::seconds(1);
  }
  options.agent = "urn:sim:" + place_.agent;
  options.log = [log = common_.reach.log(), &hands = common_.hands, place = place_](const LogRecord& record) {
    log(record);
    hands.logged(place, record);
  };
  options.trace = common_.reach.hooks();
  for (const std::string& other : common_.names) {
    if (!isAdded(other)) {
      options.peers.push_back(peerOf(other));
    }
  }
  for (const std::string& box : common_.hub.takers()) {
    options.peers.push_back(peerOf(box));
  }
  if (common_.swarm.addsPeers) {
    options.addedPeer = [this](const std::string& name, const std::string& definition) {
      PeerOptions peer = peerOf(name);
      peer.maxRequests = static_cast<std::uint32_t>(std::stoul(definition));
      return peer;
    };
  }
  if (common_.swarm.decided > 0) {
    options.onFailure = [this](const FailureContext& failure) { return decide(failure); };
  }
  return options;
}

PeerOptions Agent::peerOf(const std::string& name) const {
  PeerOptions peer;
  peer.name = name;
  peer.url = common_.hub.urlOf(name);
  peer.agent = Hub::uriOf(name);
  peer.rateLimit = common_.swarm.rateLimit;
  return peer;
}

bool Agent::isAdded(const std::string& name) const {
  return common_.swarm.addsPeers && name == common_.names.back() && name != place_.agent;
}

void Agent::addPeers(std::uint32_t maxRequests) {
  for (const std::string& other : common_.names) {
    if (isAdded(other)) {
      PeerOptions peer = peerOf(other);
      peer.maxRequests = maxRequests;
      OutboxOperator(manager_).addPeer(peer, std::to_string(maxRequests));
    }
  }
}

void Agent::removePeers() {
  for (const std::string& other : common_.names) {
    // With messages, it stays.
    if (isAdded(other) && OutboxOperator(manager_).removePeer(other).isRemoved) {
      common_.reach.saw(Situation::peerRemoved);
    }
  }
}

FailureDecision Agent::decide(const FailureContext& failure) {
  Random& random = process_.random();
  if (common_.healed || !drawChance(random, common_.swarm.decided)) {
    return FailureDecision::byPolicy();
  }
  Entry* const entry = common_.ledger.find(failure.messageId);
  if (entry == nullptr) {
    return FailureDecision::byPolicy();
  }
  switch (drawBelow(random, 8)) {
    case 0:
      // Recorded first: the process may die before the discard is reported.
      entry->discarded = true;
      return FailureDecision::discard();
    case 1:
      entry->givenUp = true;
      return FailureDecision::block("given-up");
    case 2:
      entry->givenUp = true;
      return FailureDecision::deadLetter("given-up");
    default:
      // A final failure is charged, and the message is tried again.
      entry->refusals += failure.isFinal ? 1U : 0U;
      return FailureDecision::retryAt(failure.now + std::chrono::milliseconds(drawBelow(random, 3'000)));
  }
}

void Agent::subscribe() {
  acked_ = manager_.onAcked([&ledger = common_.ledger, &simulation = common_.simulation](const AckedEvent& event) {
    if (Entry* const entry = ledger.find(event.messageId)) {
      entry->acked = true;
      entry->ackedAt = simulation.now();
    }
  });
  failed_ = manager_.onFailed([this](const FailedEvent& event) { failed(event); });
  sent_ = manager_.onSent([&attendance = common_.attendance, process = place_.process](const SentEvent& event) {
    if (event.unattendedSince) {
      attendance.stated(process, event.messageId);
    }
  });
  reset_ = manager_.onPeerReset([this](const PeerResetEvent& event) { forgotten(event); });
  retried_ = manager_.onRetry([&ledger = common_.ledger, &watch = common_.watch](const RetryEvent& event) {
    // The handlers never refuse an ACK event.
    const Entry* const known = ledger.find(event.messageId);
    const Entry entry = known == nullptr ? Entry{} : *known;
    const std::uint32_t refusals = entry.refusals + watch.refusedForItself(event.messageId);
    if (event.retryCount > refusals && !entry.deferred) {
      ledger.violated("P8", event.messageId + " was charged " + std::to_string(event.retryCount) +
                                " times and refused " + std::to_string(refusals) + " times: " + event.error);
    }
  });
}

// Kills and power cuts do not lose promised data; only accidents to files do, and each is reported once.
void Agent::forgotten(const PeerResetEvent& event) {
  const auto times = [](const std::map<std::string, std::uint32_t>& accidents, const std::string& agent) {
    const auto found = accidents.find(agent);
    return found == accidents.end() ? 0U : found->second;
  };
  const std::uint32_t ofPeer = times(common_.putBack, event.peer) + times(common_.lost, event.peer);
  bool fair = ofPeer > 0;
  if (event.kind == PeerResetKind::selfRestored) {
    common_.disowned.insert(place_.agent);
    // Sessions report one after the other: a frame of the first may expire, and the next one be accepted.
    fair = times(common_.putBack, place_.agent) > 0 && ++disowned_[{event.peer, event.session}] <= 1 + ofPeer;
  }
  if (!fair) {
    common_.ledger.violated("P3", place_.agent + " is told that " + event.peer + " is " +
                                      std::string(toString(event.kind)) + " in session '" + event.session + "': " +
                                      std::to_string(event.expected) + " against " + std::to_string(event.accepted));
  }
}

void Agent::failed(const FailedEvent& event) {
  Entry* const known = common_.ledger.find(event.messageId);
  if (known != nullptr) {
    known->toldFailed = true;
  }
  const Entry entry = known == nullptr ? Entry{} : *known;
  const std::uint32_t refusals = entry.refusals + common_.watch.refusedForItself(event.messageId);
  const bool spent = entry.deferred || refusals > common_.swarm.outbox.retry.maxRetries;
  const bool fair = (event.reason == "rejected" && entry.rejected) || (event.reason == "retry-budget" && spent) ||
                    (event.reason == "expired" && entry.expiresAt) || event.reason == "peer-killer" ||
                    (event.reason == "by-hand" && entry.markedFailed) ||
                    (event.reason == "given-up" && entry.givenUp) ||
                    (event.reason == "discarded-by-policy" && entry.discarded);
  if (!fair) {
    common_.ledger.violated("P8", event.messageId + " failed as " + event.reason + ": " + event.error);
  }
  if (event.session.empty()) {
    return;
  }
  for (const BlockedSession& blocked : OutboxReader(manager_).blockedSessions(1'000)) {
    if (blocked.peer == event.peer && blocked.session == event.session && blocked.messageId == event.messageId) {
      common_.watch.halted(place_.agent, event.peer, event.session, blocked.sequence);
    }
  }
}

void Agent::say(const std::string& name, std::uint32_t attempt) {
  Entry& entry = common_.ledger.entries.at(name);
  const Wishes& wishes = common_.swarm.wishes;
  Random& random = common_.simulation.random();
  Frame frame;
  frame.peer = entry.to;
  frame.session = entry.session;
  frame.type = typeOf(name, common_.swarm.applications.agents > 0);
  frame.data = "{\"name\":\"" + name + "\"}";
  frame.id = name;
  if (attempt > 0) {
    frame.id += "." + std::to_string(attempt);
    frame.idempotencyKey = name;
  }
  frame.supersedeKey = entry.supersedeKey;
  frame.notBefore = entry.notBefore;
  frame.expiresAt = entry.expiresAt;
  if (wishes.priorities) {
    frame.priority = static_cast<std::uint8_t>(drawBelow(random, kPriorityMax + 1));
  }
  const auto told = [&ledger = common_.ledger, &simulation = common_.simulation, name, mayBeGone = isAdded(entry.to)](
                        const std::error_code& error, const EnqueueReceipt& receipt) {
    if (!error && receipt.accepted()) {
      ledger.confirm(name, receipt.sequence, simulation.now());
    } else if (!error && receipt.status == EnqueueStatus::unknownPeer && mayBeGone) {
      // An operator has removed the peer, and adds it again.
    } else if (!error && receipt.status != EnqueueStatus::queueFull) {
      ledger.violated("P3", name + " was refused: " + receipt.detail);
    } else if (error == Errc::wouldDeadlock) {
      ledger.violated("liveness", name + " could not be stored: " + error.message());
    }
  };
  const bool blocks = drawChance(random, wishes.blocking);
  const bool waits = !blocks && wishes.waiting && !entry.notBefore && drawChance(random, 0.5);
  if (attempt == 0 && !waits) {
    entry.saidBy = place_.process;
    entry.call = ++common_.ledger.calls;
  }
  if (blocks) {
    try {
      told({}, manager_.enqueue(frame));
    } catch (const Error& error) {
      told(error.code(), {});
    }
    return;
  }
  manager_.enqueueThen(frame, waits ? WhenFull::wait : WhenFull::refuse, told);
}

}  // namespace ackbox::simulation
