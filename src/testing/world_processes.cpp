#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <chrono>
#include <optional>
#include <utility>

#include "ackbox/inbound_handler.hpp"
#include "testing/handler_world.hpp"

// The processes of a handler's world, and the accidents of the handler when it is called.

namespace ackbox::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::hours kYear{24 * 365};
constexpr const char* kQueueFull = "the check lets the queue be full";

void execute(const std::filesystem::path& file, const std::string& sql) {
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
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
      receipt.detail = kQueueFull;
    } else {
      receipt = inner_.enqueue(frame);
    }
    simulation_.note(process_, "the handler enqueues " + frame.type + " for " + frame.peer + ": " +
                                   std::string(toString(receipt.status)) +
                                   (receipt.messageId.empty() ? "" : " as " + receipt.messageId));
    return receipt;
  }

  PublishReceipt publish(const Frame& frame) override {
    PublishReceipt receipt;
    if (queueFull_) {
      receipt.status = PublishStatus::queueFull;
      receipt.detail = kQueueFull;
    } else {
      receipt = inner_.publish(frame);
    }
    simulation_.note(process_, "the handler publishes " + frame.type + ": " + std::string(toString(receipt.status)) +
                                   ", " + std::to_string(receipt.messages.size()) + " messages");
    return receipt;
  }

private:
  InboundTransaction& inner_;
  Simulation& simulation_;
  const std::string& process_;
  const bool queueFull_;
};

void HandlerWorld::prepareFiles() {
  // The mark of a frame that took effect is a row that the handler's own transaction writes.
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
    // The ACK events of deferred frames are read at the end.
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
    // So that each message can be looked up at the end.
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

OutboxManager& HandlerWorld::outboxOf(const std::string& process) const {
  return process == options_.receiver ? receiver_->outbox : senders_.at(process)->outbox;
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
  // The accident of a deferred frame occurs in the frame's own run.
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
    // The fault meets the commit of the handler, or an earlier write of its own.
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

}  // namespace ackbox::testing
