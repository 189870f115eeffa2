#include "testing/handler_world.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_reader.hpp"

namespace ackbox::testing {
namespace {

using namespace std::chrono_literals;

// Ten times the usual number of steps: about forty for each frame.
constexpr std::uint64_t kStepsMax = 10'000;
constexpr std::uint64_t kStepsMaxPerFrame = 400;

std::chrono::milliseconds instantOf(const PlannedItem& item) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.at; }) {
          return one.at;
        } else {
          return std::chrono::milliseconds(0);
        }
      },
      item);
}

}  // namespace

HandlerWorld::HandlerWorld(const HandlerFactory& factory, const HandlerInvariant& invariant,
                           const CheckOptions& options, const HandlerPlan& plan, std::size_t traceLinesMax)
    : factory_(factory),
      invariant_(invariant),
      options_(options),
      plan_(plan),
      stepsMax_(kStepsMax + kStepsMaxPerFrame * options.frames),
      simulation_(plan.seed) {
  ledger_.folder_ = folder_.path();
  if (traceLinesMax > 0) {
    simulation_.startTrace(traceLinesMax);
  }
  prepareFiles();
  addReceiver();
  for (const std::vector<std::string>* names : {&options.senders, &options.sinks}) {
    for (const std::string& name : *names) {
      addSender(name);
    }
  }
}

HandlerWorld::~HandlerWorld() = default;

void HandlerWorld::run(std::chrono::nanoseconds until) {
  while (steps_ < stepsMax_ && simulation_.step(until)) {
    ++steps_;
  }
}

void HandlerWorld::start(const std::string& process) {
  try {
    simulation_.start(process);
    startFault_.clear();
  } catch (const std::exception& error) {
    // The next start creates its disk again.
    startFault_ = process + " cannot start: " + error.what();
  }
}

void HandlerWorld::startStopped() {
  for (const std::string& name : names_) {
    if (simulation_.running(name)) {
      continue;
    }
    const auto due = restartAt_.find(name);
    if (healed_ || due == restartAt_.end() || due->second <= simulation_.now()) {
      restartAt_.erase(name);
      start(name);
    }
    if (!simulation_.running(name) && !restartAt_.contains(name)) {
      restartAt_[name] = simulation_.now() + 50ms;
    }
  }
}

// Repeats the enqueues that failed or that a kill prevented: the id makes each take effect once.
void HandlerWorld::enqueue(const std::string& sender) {
  std::vector<std::size_t>& unsaid = unsaid_[sender];
  if (unsaid.empty() || !simulation_.running(sender)) {
    return;
  }
  std::vector<Frame> frames;
  frames.reserve(unsaid.size());
  for (const std::size_t place : unsaid) {
    frames.push_back(ledger_.sent_[place].frame);
  }
  try {
    for (const EnqueueReceipt& receipt : outboxOf(sender).enqueueBatch(frames)) {
      if (!receipt.accepted()) {
        throw std::invalid_argument("CheckOptions::frame made a frame that is refused: " + receipt.detail);
      }
      simulation_.note(sender, "has enqueued " + receipt.messageId);
    }
    unsaid.clear();
  } catch (const Error& error) {
    simulation_.note(sender, std::string("could not enqueue: ") + error.what());
    if (healed_) {
      // Its disk is gone, because the process was to be killed at a write.
      simulation_.kill(sender);
    }
  }
}

void HandlerWorld::begin(const PlannedItem& item) {
  if (const auto* const frame = std::get_if<PlannedFrame>(&item)) {
    const auto random = seededRandom(plan_.seed ^ (frame->number * 0x9E3779B97F4A7C15U));
    SentFrame sent;
    sent.number = frame->number;
    sent.sender = frame->sender;
    sent.frame.session = frame->session;
    sent.frame.type = "check.frame";
    sent.frame.data = std::to_string(frame->number);
    if (options_.frame) {
      sent.frame = options_.frame(frame->number, *random);
      // If `Frame::session` has its default, the check chooses the session.
      sent.frame.session = sent.frame.session == Frame().session ? frame->session : sent.frame.session;
    }
    sent.frame.peer = Frame().peer;
    sent.frame.id = "m" + std::to_string(frame->number);
    if (frame->expiresAfter) {
      sent.frame.expiresAt = WallTime(1'700'000'000'000ms + frame->at + *frame->expiresAfter);
    }
    places_[sent.frame.id] = ledger_.sent_.size();
    unsaid_[frame->sender].push_back(ledger_.sent_.size());
    ledger_.sent_.push_back(std::move(sent));
    return;
  }
  if (const auto* const kill = std::get_if<PlannedKill>(&item); kill != nullptr && simulation_.running(kill->process)) {
    ++result_.kills;
    restartAt_[kill->process] = simulation_.now() + kill->away;
    if (kill->atWrite) {
      simulation_.killAtWrite(kill->process, *kill->atWrite);
    } else {
      simulation_.kill(kill->process);
    }
  }
  if (const auto* const fault = std::get_if<PlannedDiskFault>(&item);
      fault != nullptr && simulation_.running(fault->process)) {
    ++result_.diskFaults;
    simulation_.failDisk(fault->process, fault->fault, fault->after, fault->count);
  }
  if (const auto* const block = std::get_if<PlannedBlock>(&item)) {
    simulation_.network().block(block->from, block->to);
  }
  if (const auto* const step = std::get_if<PlannedClockStep>(&item);
      step != nullptr && simulation_.running(step->process)) {
    simulation_.note(step->process, "its calendar is moved by " + std::to_string(step->by.count()) + " ms");
    simulation_.process(step->process).clock().step(step->by);
  }
}

void HandlerWorld::play() {
  NetworkFaults network;
  network.delayMax = plan_.delayMax;
  std::multimap<std::chrono::milliseconds, const PlannedItem*> due;
  std::multimap<std::chrono::milliseconds, const PlannedBlock*> unblock;
  for (std::size_t index = 0; index < plan_.items.size(); ++index) {
    const PlannedItem& item = plan_.items[index];
    if (!plan_.kept[index]) {
      continue;
    }
    if (const auto* const fault = std::get_if<PlannedNetworkFault>(&item)) {
      network.*(fault->kind) = fault->probability;
    } else if (const auto* const accident = std::get_if<PlannedAccident>(&item)) {
      accidents_.emplace(accident->number, *accident);
    } else {
      due.emplace(instantOf(item), &item);
      if (const auto* const block = std::get_if<PlannedBlock>(&item)) {
        unblock.emplace(block->at + block->time, block);
      }
    }
  }
  simulation_.network().setFaults(network);
  startStopped();
  while ((!due.empty() || !unblock.empty()) && steps_ < stepsMax_) {
    auto next = simulation_.now() + 25ms;
    next = due.empty() ? next : std::min<std::chrono::nanoseconds>(next, due.begin()->first);
    run(std::max<std::chrono::nanoseconds>(next, simulation_.now()));
    startStopped();
    while (!unblock.empty() && unblock.begin()->first <= simulation_.now()) {
      unblock.erase(unblock.begin());
      // A block that has not ended is set again.
      simulation_.network().heal();
      simulation_.network().setFaults(network);
      for (const auto& [until, block] : unblock) {
        if (block->at <= simulation_.now() && until > simulation_.now()) {
          simulation_.network().block(block->from, block->to);
        }
      }
    }
    while (!due.empty() && due.begin()->first <= simulation_.now()) {
      const PlannedItem* const item = due.extract(due.begin()).mapped();
      begin(*item);
    }
    for (const std::string& sender : options_.senders) {
      enqueue(sender);
    }
  }
  run(simulation_.now() + 200ms);
}

void HandlerWorld::heal() {
  healed_ = true;
  simulation_.note("check", "all faults end");
  simulation_.network().heal();
  for (const std::string& name : names_) {
    if (simulation_.running(name)) {
      simulation_.mendDisk(name);
    }
  }
}

bool HandlerWorld::isAtRest() {
  for (const auto& [sender, unsaid] : unsaid_) {
    if (!unsaid.empty()) {
      return false;
    }
  }
  for (const std::string& name : names_) {
    if (!simulation_.running(name)) {
      return false;
    }
    try {
      const Stats stats = outboxOf(name).getStats();
      if (stats.pending + stats.sending + stats.sent + stats.inbox > 0) {
        return false;
      }
    } catch (const Error&) {
      // Its disk is gone, because the process was to be killed at a write.
      simulation_.kill(name);
      return false;
    }
  }
  return true;
}

std::string HandlerWorld::whyNotAtRest() {
  if (!startFault_.empty()) {
    return startFault_ + "\n";
  }
  std::string why = steps_ >= stepsMax_ ? "the world goes on and on without coming to rest\n" : "";
  for (const std::string& name : names_) {
    if (!simulation_.running(name)) {
      why += name + " does not stay alive\n";
      continue;
    }
    const OutboxManager& outbox = outboxOf(name);
    if (const std::uint64_t waiting = outbox.getStats().inbox; waiting > 0) {
      why += name + " still has " + std::to_string(waiting) + " deferred frames\n";
    }
    for (const MessageInfo& message : OutboxReader(outbox).messages({}, 1'000).messages) {
      if (message.state != MessageState::failed && message.state != MessageState::acked) {
        const auto explanation = outbox.explain(message.messageId);
        why += name + "'s " + message.messageId + " is not delivered: " + (explanation ? explanation->sentence : "") +
               "\n";
        break;
      }
    }
  }
  return why;
}

void HandlerWorld::rest() {
  const auto end = simulation_.now() + options_.restMax;
  // No fault is active now, so a process that does not start now will not start later.
  constexpr int kStartsRefusedMax = 20;
  int startsRefused = 0;
  while (simulation_.now() < end && steps_ < stepsMax_ && startsRefused < kStartsRefusedMax) {
    startStopped();
    startsRefused = startFault_.empty() ? 0 : startsRefused + 1;
    for (const std::string& sender : options_.senders) {
      enqueue(sender);
    }
    run(simulation_.now() + 500ms);
    if (isAtRest()) {
      // Duplicated requests may still be on their way.
      run(simulation_.now() + 11 * plan_.delayMax);
      startStopped();
      if (isAtRest()) {
        return;
      }
    }
  }
  result_.fault += "after all faults had ended, not everything was delivered:\n" + whyNotAtRest();
}

HandlerWorldResult HandlerWorld::run() {
  play();
  heal();
  rest();
  for (const std::string& name : names_) {
    simulation_.kill(name);
  }
  readSenders();
  judge();
  result_.requests = simulation_.network().requests();
  result_.trace = simulation_.trace();
  result_.steps = steps_;
  return std::move(result_);
}

}  // namespace ackbox::testing
