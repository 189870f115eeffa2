#include "testing/handler_world.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/wire.hpp"

namespace ackbox::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::hours kYear{24 * 365};
// Ten times what a world takes: some forty steps a frame.
constexpr std::uint64_t kStepsMax = 10'000;
constexpr std::uint64_t kStepsMaxPerFrame = 400;

void execute(const std::filesystem::path& file, const std::string& sql) {
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

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

std::string nameOf(const InboundFrame& frame) {
  return frame.id + (frame.session.empty() ? "" : " (" + frame.session + "#" + std::to_string(frame.sequence) + ")");
}

}  // namespace

struct HandlerWorld::Receiver {
  Receiver(const std::filesystem::path& ownFile, const OutboxOptions& options)
      : file(ownFile), vfs(options.vfs), outbox(OutboxManager::open(file, options)) {}
  const std::filesystem::path file;
  const std::string vfs;
  OutboxManager outbox;
  std::optional<HandlerHost> host = {};
  std::optional<InboundHandler> inbox = {};
};

struct HandlerWorld::Sender {
  Sender(const std::filesystem::path& file, const OutboxOptions& options)
      : outbox(OutboxManager::open(file, options)) {}
  OutboxManager outbox;
  Subscription acked = {};
  std::optional<InboundHandler> inbox = {};
};

/// The handler's transaction, in which the queue may be full.
class HandlerWorld::Transaction final : public InboundTransaction {
public:
  Transaction(InboundTransaction& inner, Simulation& simulation, const std::string& process, bool queueFull)
      : inner_(inner), simulation_(simulation), process_(process), queueFull_(queueFull) {}

  [[nodiscard]] SQLite::Database& database() override { return inner_.database(); }

  EnqueueReceipt enqueue(const Frame& frame) override {
    EnqueueReceipt receipt;
    if (queueFull_) {
      receipt.status = EnqueueStatus::queueFull;
      receipt.detail = "the check lets the queue be full";
    } else {
      receipt = inner_.enqueue(frame);
    }
    simulation_.note(process_, "the handler enqueues " + frame.type + " for " + frame.peer + ": " +
                                   std::string(toString(receipt.status)) +
                                   (receipt.messageId.empty() ? "" : " as " + receipt.messageId));
    return receipt;
  }

private:
  InboundTransaction& inner_;
  Simulation& simulation_;
  const std::string& process_;
  const bool queueFull_;
};

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

void HandlerWorld::prepareFiles() {
  // The mark of what took effect is a row that the handler's own transaction writes.
  execute(fileOf(options_.receiver),
          "CREATE TABLE ackbox_testing_applied(at INTEGER PRIMARY KEY, frame TEXT);" + options_.schema);
  for (const std::vector<std::string>* names : {&options_.senders, &options_.sinks}) {
    for (const std::string& name : *names) {
      execute(fileOf(name),
              "CREATE TABLE replies(at INTEGER PRIMARY KEY, id TEXT, session TEXT, type TEXT, data TEXT,"
              " correlation TEXT)");
    }
  }
}

InboundOptions HandlerWorld::inboundOptions(const std::vector<std::string>& peers) const {
  InboundOptions inbound;
  for (const std::string& peer : peers) {
    inbound.peers.push_back({.agents = {uriOf(peer)}, .byCertificate = true});
  }
  return inbound;
}

void HandlerWorld::addReceiver() {
  names_.insert(options_.receiver);
  simulation_.add(options_.receiver, [this](SimulatedProcess& process) {
    std::vector<std::string> peers = options_.senders;
    peers.insert(peers.end(), options_.sinks.begin(), options_.sinks.end());
    OutboxOptions outbox = options_.outbox;
    outbox.agent = uriOf(options_.receiver);
    // The events of deferred frames are read in the end.
    outbox.ackedRetention = kYear;
    outbox.peers.clear();
    for (const std::string& peer : peers) {
      outbox.peers.push_back({.name = peer, .url = "sim://" + peer, .agent = uriOf(peer)});
    }
    auto receiver = std::make_shared<Receiver>(fileOf(options_.receiver), process.options(std::move(outbox)));
    receiver->outbox.setSender(process.sender());
    receiver->host.emplace(HandlerHost{process, receiver->outbox, receiver->file, receiver->vfs});
    CheckedHandler made = factory_(*receiver->host);
    InboundOptions inbound = options_.inbound;
    inbound.peers = inboundOptions(peers).peers;
    if (made.deferred) {
      inbound.deferred.handler = [this, deferred = std::move(made.deferred)](DeferredFrame frame) {
        callDeferred(deferred, std::move(frame));
      };
      inbound.deferred.executor = std::make_shared<boost::asio::any_io_executor>(process.executor());
    }
    receiver->inbox.emplace(
        receiver->outbox,
        [this, handler = std::move(made.handler)](const InboundFrame& frame, InboundTransaction& transaction) {
          return call(handler, frame, transaction);
        },
        inbound);
    process.listen(*receiver->inbox);
    receiver->outbox.runThen(process.executor(), [](std::error_code) {});
    receiver_ = receiver.get();
    return receiver;
  });
}

void HandlerWorld::addSender(const std::string& name) {
  names_.insert(name);
  simulation_.add(name, [this, name](SimulatedProcess& process) {
    OutboxOptions outbox;
    outbox.agent = uriOf(name);
    outbox.peers = {{.url = "sim://" + options_.receiver, .agent = uriOf(options_.receiver)}};
    outbox.batchFrames = plan_.batchFrames;
    outbox.requestTimeout = 5s;
    outbox.ackTimeout = 5s;
    // So that each message can be asked for in the end.
    outbox.ackedRetention = kYear;
    outbox.retry.horizon = kYear;
    outbox.retry.delays = {10ms, 100ms, 1s};
    outbox.retry.maxRetries = 30;
    outbox.peerHealth.probeDelays = {50ms, 200ms, 1s};
    auto sender = std::make_shared<Sender>(fileOf(name), process.options(std::move(outbox)));
    sender->acked = sender->outbox.onAcked([this](const AckedEvent& event) {
      if (const auto found = places_.find(event.messageId); found != places_.end() && !event.result.empty()) {
        ledger_.sent_[found->second].result = event.result;
      }
    });
    sender->outbox.setSender(process.sender());
    sender->inbox.emplace(
        sender->outbox,
        [](const InboundFrame& frame, InboundTransaction& transaction) {
          SQLite::Statement add(transaction.database(),
                                "INSERT INTO replies(id, session, type, data, correlation) VALUES(?, ?, ?, ?, ?)");
          SQLite::bind(add, frame.id, frame.session, frame.type, frame.data, frame.correlationId);
          add.exec();
          return HandlerResult::ack();
        },
        inboundOptions({options_.receiver}));
    process.listen(*sender->inbox);
    sender->outbox.runThen(process.executor(), [](std::error_code) {});
    senders_[name] = sender.get();
    return sender;
  });
}

HandlerResult HandlerWorld::callHandler(const FrameHandler& handler, const InboundFrame& frame,
                                        InboundTransaction& transaction, bool queueFull) {
  ++result_.calls;
  simulation_.note(options_.receiver, "the handler is called with " + nameOf(frame));
  Transaction watched(transaction, simulation_, options_.receiver, queueFull);
  try {
    HandlerResult result = handler(frame, watched);
    simulation_.note(options_.receiver, "the handler answers " + std::string(toString(result.outcome)) + " to " +
                                            frame.id + (result.detail.empty() ? "" : ": " + result.detail));
    return result;
  } catch (const std::exception& error) {
    simulation_.note(options_.receiver, std::string("the handler throws: ") + error.what());
    throw;
  }
}

HandlerWorld::Accidents::iterator HandlerWorld::accidentOf(const InboundFrame& frame) {
  const auto place = places_.find(frame.id);
  return healed_ || place == places_.end() ? accidents_.end() : accidents_.find(ledger_.sent_[place->second].number);
}

HandlerResult HandlerWorld::call(const FrameHandler& handler, const InboundFrame& frame,
                                 InboundTransaction& transaction) {
  const auto accident = accidentOf(frame);
  const bool queueFull = accident != accidents_.end() && accident->second.kind == PlannedAccident::Kind::queueFull;
  HandlerResult result = callHandler(handler, frame, transaction, queueFull);
  if (result.outcome == Outcome::ack) {
    SQLite::Statement mark(transaction.database(), "INSERT INTO ackbox_testing_applied(frame) VALUES(?)");
    mark.bind(1, frame.id);
    mark.exec();
  }
  // Of a frame that was deferred, its own run meets it.
  if (accident == accidents_.end() || result.outcome == Outcome::defer) {
    return result;
  }
  const PlannedAccident met = accidents_.extract(accident).mapped();
  if (met.kind == PlannedAccident::Kind::undo && result.outcome == Outcome::ack) {
    ++result_.undone;
    simulation_.note(options_.receiver, "the check undoes what the handler wrote for " + frame.id);
    return HandlerResult::notNow("the check undoes this call", 10ms);
  }
  meetAccident(met, 0);
  return result;
}

void HandlerWorld::callDeferred(const DeferredHandler& handler, DeferredFrame frame) {
  ++result_.calls;
  simulation_.note(options_.receiver, "the deferred handler is called with " + nameOf(frame.frame()));
  if (const auto accident = accidentOf(frame.frame()); accident != accidents_.end()) {
    const PlannedAccident met = accidents_.extract(accident).mapped();
    // The fault meets its commit, or what it writes before by itself.
    meetAccident(met, met.write < 4 ? 0 : met.write);
  }
  handler(std::move(frame));
}

void HandlerWorld::meetAccident(const PlannedAccident& accident, std::uint64_t after) {
  switch (accident.kind) {
    case PlannedAccident::Kind::commitFull:
      ++result_.undone;
      simulation_.failDisk(options_.receiver, DiskFault::full, after, 1);
      break;
    case PlannedAccident::Kind::commitBroken:
      ++result_.undone;
      simulation_.failDisk(options_.receiver, DiskFault::ioError, after, 1);
      break;
    case PlannedAccident::Kind::kill:
      ++result_.kills;
      simulation_.killAtWrite(options_.receiver, accident.write);
      break;
    case PlannedAccident::Kind::undo:
      ++result_.diskFaults;
      simulation_.failDisk(options_.receiver, DiskFault::busy, 0, 1);
      break;
    case PlannedAccident::Kind::queueFull:
      break;
  }
}

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
    // Its disk is made anew at the next start.
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

// What failed, or was not done because the process was killed, is done again: the id makes it happen once.
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
    for (const EnqueueReceipt& receipt : senders_.at(sender)->outbox.enqueueBatch(frames)) {
      if (!receipt.accepted()) {
        throw std::invalid_argument("CheckOptions::frame made a frame that is refused: " + receipt.detail);
      }
      simulation_.note(sender, "has enqueued " + receipt.messageId);
    }
    unsaid.clear();
  } catch (const Error& error) {
    simulation_.note(sender, std::string("could not enqueue: ") + error.what());
    if (healed_) {
      // Its disk is gone: it was to be killed at a write.
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
      // The default of `Frame::session` is the check's to choose.
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
      // One that goes on is set again.
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
      // Its disk is gone: it was to be killed at a write.
      simulation_.kill(name);
      return false;
    }
  }
  return true;
}

const OutboxManager& HandlerWorld::outboxOf(const std::string& process) const {
  return process == options_.receiver ? receiver_->outbox : senders_.at(process)->outbox;
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
  // What does not start now that nothing fails will not start later.
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
      // Second copies may still be on their way.
      run(simulation_.now() + 11 * plan_.delayMax);
      startStopped();
      if (isAtRest()) {
        return;
      }
    }
  }
  result_.fault += "after all faults had ended, not everything was delivered:\n" + whyNotAtRest();
}

void HandlerWorld::readSenders() {
  for (const std::string& name : options_.senders) {
    const OutboxReader reader = OutboxReader::open(fileOf(name));
    std::int64_t after = 0;
    do {
      const MessagePage page = reader.messages({}, 1'000, after);
      for (const MessageInfo& message : page.messages) {
        if (const auto found = places_.find(message.messageId); found != places_.end()) {
          SentFrame& sent = ledger_.sent_[found->second];
          sent.sequence = message.sequence;
          sent.state = message.state;
          sent.reason = message.reason;
        }
      }
      after = page.next;
    } while (after != 0);
  }
}

// The event that acknowledges a deferred frame is enqueued in the commit that ends the frame.
std::vector<std::string> HandlerWorld::readDeferred() {
  OutboxOptions options;
  options.tablePrefix = options_.outbox.tablePrefix;
  const OutboxReader reader = OutboxReader::open(fileOf(options_.receiver), options);
  std::vector<std::string> ids;
  std::int64_t after = 0;
  do {
    const MessagePage page = reader.messages({}, 1'000, after);
    for (const MessageInfo& message : page.messages) {
      const auto event = message.type == protocol::kAckEventType ? reader.frame(message.messageId) : std::nullopt;
      for (const protocol::NamedResult& result :
           event ? protocol::readAckEvent(event->data).value_or(std::vector<protocol::NamedResult>())
                 : std::vector<protocol::NamedResult>()) {
        if (result.result.outcome == Outcome::ack) {
          ids.push_back(result.id);
        }
      }
    }
    after = page.next;
  } while (after != 0);
  return ids;
}

void HandlerWorld::readReplies(const std::string& process) {
  SQLite::Database database(fileOf(process).string(), SQLite::OPEN_READWRITE);
  SQLite::Statement rows(database, "SELECT id, session, type, data, correlation FROM replies ORDER BY at");
  while (rows.executeStep()) {
    ledger_.replies_.push_back(
        {process, rows.getColumn(0), rows.getColumn(1), rows.getColumn(2), rows.getColumn(3), rows.getColumn(4)});
  }
}

void HandlerWorld::judge() {
  for (const std::vector<std::string>* names : {&options_.senders, &options_.sinks}) {
    for (const std::string& name : *names) {
      readReplies(name);
    }
  }
  // Writable, because the log of a killed process is recovered; but not by what follows.
  SQLite::Database database(fileOf(options_.receiver).string(), SQLite::OPEN_READWRITE);
  std::set<std::string> applied;
  SQLite::Statement rows(database, "SELECT frame FROM ackbox_testing_applied ORDER BY at");
  while (rows.executeStep()) {
    const std::string id = rows.getColumn(0);
    if (const auto found = places_.find(id); found != places_.end() && applied.insert(id).second) {
      ledger_.applied_.push_back(ledger_.sent_[found->second]);
    }
  }
  for (const std::string& id : readDeferred()) {
    if (const auto found = places_.find(id); found != places_.end() && applied.insert(id).second) {
      ledger_.applied_.push_back(ledger_.sent_[found->second]);
    }
  }
  database.exec("PRAGMA query_only = 1");
  try {
    result_.fault += invariant_(database, ledger_);
  } catch (const std::exception& error) {
    result_.fault += std::string("the invariant throws: ") + error.what() + "\n";
  }
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
