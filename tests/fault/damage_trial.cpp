#include "damage_trial.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "damage.hpp"
#include "protocol/inbound_port.hpp"
#include "support/scripted_sender.hpp"

namespace ackbox::testing {
namespace {

constexpr std::size_t kMessages = 24;
constexpr std::size_t kHeard = 8;
constexpr std::uint32_t kCheckpointPages = 40;
constexpr std::size_t kTurnsMax = 20'000;
// A healthy agent needs two or three rounds.
constexpr int kRoundsMax = 8;

}  // namespace

DamageTrial::DamageTrial(const TempDir& folder, MemoryDisk& disk, DamageLedger ledger, std::uint64_t seed)
    : folder_(folder), disk_(disk), ledger_(std::move(ledger)), random_(seed) {
  sender_ = std::make_shared<ScriptedSender>([this](const SendRequest& request) { return answer(request); });
}

DamageTrial::~DamageTrial() {
  close();
}

bool DamageTrial::attempt(const char* step, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    told_.push_back(std::string(step) + ": " + error.what());
  } catch (const std::exception& error) {
    violations_.insert(std::string(step) + " throws " + error.what());
  }
  return false;
}

bool DamageTrial::open() {
  return manager_ || attempt("open", [this] {
           OutboxOptions options;
           options.peers.resize(2);
           options.peers[0].name = "bob";
           options.peers[1].name = "carol";
           options.vfs = disk_.name();
           options.clock = clock_;
           options.random = seededRandom(random_());
           options.checkpointPages = kCheckpointPages;
           options.storeExecutor = [this](std::function<void()> work) { boost::asio::post(context_, std::move(work)); };
           options.log = [this](const LogRecord& record) { note(record); };
           manager_.emplace(OutboxManager::open(folder_.file(kFile), options));
           manager_->setSender(sender_);
           InboundOptions inbound;
           inbound.allowAnonymous = true;
           inbound.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(context_.get_executor());
           inbound.deferred.handler = [this](DeferredFrame frame) {
             look(frame.frame());
             frame.commit([this, frame](InboundTransaction&) { return handle(frame.frame()); });
           };
           inbound_.emplace(
               *manager_, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, inbound);
         });
}

void DamageTrial::close() {
  attempt("close", [this] {
    inbound_.reset();
    settle();
    manager_.reset();
    settle();
  });
}

void DamageTrial::prepare(const std::function<void()>& moment) {
  isPreparing_ = true;
  open();
  for (std::size_t index = 0; index < kMessages; ++index) {
    enqueue();
    if (index < kHeard) {
      hear();
    }
    if (index % 6 == 5) {
      moment();
      manager_->drainOnce();
      clock_->advance(std::chrono::seconds(5));
    }
  }
  isPreparing_ = false;
}

void DamageTrial::work() {
  for (int round = 0; round < kRoundsMax && manager_; ++round) {
    attempt("drain", [this] { manager_->drainOnce(); });
    attempt("retry", [this] { OutboxOperator(*manager_).retryFailed({}); });
    settle();
    clock_->advance(std::chrono::hours(2));
    settle();
  }
  attempt("read", [this] {
    for (const auto& [id, entry] : ledger_.sent) {
      static_cast<void>(manager_->explain(id));
    }
  });
}

void DamageTrial::verify() {
  attempt("verify", [this] {
    for (const Finding& finding : OutboxReader(*manager_).verify().findings) {
      told_.push_back("verify: " + finding.table + ": " + finding.problem);
    }
  });
}

std::vector<std::string> DamageTrial::missing() {
  std::vector<std::string> gone;
  for (const std::string& id : acknowledged_) {
    if (!handled_.contains(id)) {
      violations_.insert(id + " was acknowledged when it came once more, and was never handled");
    }
  }
  attempt("look", [&] {
    for (const auto& [id, entry] : ledger_.sent) {
      if (!ledger_.taken.contains(id) && !manager_->find(id)) {
        gone.push_back(id);
      }
    }
    for (const auto& [id, data] : ledger_.heard) {
      if (!handled_.contains(id)) {
        gone.push_back(id);
      }
    }
  });
  return gone;
}

std::set<std::string> DamageTrial::untaken() const {
  std::set<std::string> waiting;
  for (const auto& [id, entry] : ledger_.sent) {
    if (!ledger_.taken.contains(id)) {
      waiting.insert(id);
    }
  }
  return waiting;
}

std::string DamageTrial::dataOf(const std::string& id) {
  std::string data = std::string(kDataMark) + '"' + id + R"(","text":")";
  // Some data needs overflow pages.
  const std::size_t size = random_() % 6 == 0 ? 6000 : 200 + random_() % 500;
  while (data.size() < size) {
    data += static_cast<char>('a' + random_() % 26);
  }
  return data + "\"}";
}

void DamageTrial::enqueue() {
  const std::size_t number = ledger_.sent.size();
  Frame frame;
  frame.peer = number % 5 == 0 ? "carol" : "bob";
  frame.session = number % 4 == 0 ? "" : (number % 4 == 1 ? kSessionOne : "two");
  frame.type = number % 7 == 3 ? "reject" : (number % 7 == 5 ? "defer" : "order");
  frame.id = number % 3 == 0 ? "named-" + std::to_string(number) : "";
  frame.correlationId = number % 2 == 0 ? "about-" + std::to_string(number) : "";
  frame.idempotencyKey = number % 4 == 0 ? "key-" + std::to_string(number) : "";
  frame.data = dataOf("m" + std::to_string(number));
  // Messages that may not be sent yet still wait when the damage comes.
  if (number % 3 != 1) {
    frame.notBefore = clock_->wallNow() + std::chrono::hours(1);
  }
  const EnqueueReceipt receipt = manager_->enqueue(frame);
  ledger_.sent[receipt.messageId] = {frame.peer, frame.session, receipt.sequence,
                                     frame.type, frame.data,    frame.correlationId};
}

void DamageTrial::hear() {
  const std::string id = "in-" + std::to_string(ledger_.heard.size());
  const std::string data = dataOf(id);
  ledger_.heard[id] = data;
  takeIn(id, "slow", data);
}

void DamageTrial::hearAgain() {
  attempt("hear", [this] {
    for (const auto& [id, data] : ledger_.heard) {
      takeIn(id, "slow", data);
    }
  });
}

void DamageTrial::takeIn(const std::string& id, const std::string& type, const std::string& data) {
  InboundRequest request;
  request.contentType = "application/cloudevents+json";
  request.webhookId = id;
  request.body =
      R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:x","type":")" + type + R"(","data":)" + data + "}";
  protocol::InboundPort::of(*inbound_).handle(
      request,
      [this, id](const InboundResponse& response) {
        constexpr int kAcknowledged = 200;
        if (response.status == kAcknowledged) {
          acknowledged_.insert(id);
        }
      },
      protocol::HandlerThread::store, protocol::RequestForm::cloudEvents);
  settle();
}

void DamageTrial::settle() {
  context_.restart();
  std::size_t turns = 0;
  while (turns < kTurnsMax && context_.poll_one() != 0) {
    ++turns;
  }
  if (turns == kTurnsMax) {
    violations_.emplace("work goes round and round");
  }
}

SendReport DamageTrial::answer(const SendRequest& request) {
  SendReport report;
  report.outcome = RequestOutcome::answered;
  for (const OutboundFrame& frame : request.frames) {
    FrameResult result;
    result.outcome = Outcome::ack;
    if (isPreparing_) {
      result.outcome = frame.type == "reject" ? Outcome::term : frame.type == "defer" ? Outcome::defer : Outcome::ack;
    } else if (const std::string difference = differenceOf(request.peer, frame); !difference.empty()) {
      violations_.insert(frame.messageId + " goes out as good with another " + difference);
    }
    if (result.outcome == Outcome::ack) {
      ledger_.taken.insert(frame.messageId);
    }
    report.results.push_back(result);
  }
  return report;
}

std::string DamageTrial::differenceOf(const std::string& peer, const OutboundFrame& frame) const {
  const auto known = ledger_.sent.find(frame.messageId);
  if (known == ledger_.sent.end()) {
    return "id";
  }
  const DamageLedger::Entry& entry = known->second;
  // A redriven dead letter has a new number.
  const bool hasNumber = frame.sequence == entry.sequence || entry.type == "reject" || frame.retryCount > 0;
  return frame.data != entry.data                     ? "data"
         : frame.type != entry.type                   ? "type"
         : peer != entry.peer                         ? "peer"
         : frame.session != entry.session             ? "session"
         : frame.correlationId != entry.correlationId ? "correlation"
         : !hasNumber                                 ? "number"
                                                      : "";
}

// A handler may use its frame before it commits anything.
void DamageTrial::look(const InboundFrame& frame) {
  const auto known = ledger_.heard.find(frame.id);
  if (known == ledger_.heard.end() || frame.source != "urn:x" || frame.type != "slow" || frame.data != known->second) {
    violations_.insert(frame.id + " is handed over as good, and is not what came in");
  }
}

HandlerResult DamageTrial::handle(const InboundFrame& frame) {
  if (isPreparing_) {
    return HandlerResult::notNow("later");
  }
  handled_.insert(frame.id);
  return HandlerResult::ack();
}

void DamageTrial::note(const LogRecord& record) {
  if (!isPreparing_ && record.level >= LogLevel::warning) {
    told_.push_back("log: " + std::string(record.event) + ": " + std::string(record.text));
  }
}

}  // namespace ackbox::testing
