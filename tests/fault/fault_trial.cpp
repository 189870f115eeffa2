#include "fault_trial.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <utility>

#include "ackbox/dead_letters.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/pull.hpp"
#include "protocol/inbound_port.hpp"

namespace ackbox::testing {
namespace {

// Short: a wait for a lock takes no time here, only turns.
constexpr std::chrono::milliseconds kBusyTimeout{20};
// More turns than a healthy agent needs at one instant.
constexpr std::size_t kTurnsMax = 5'000;
constexpr int kRoundsMax = 60;

FrameResult resultOf(Outcome outcome) {
  FrameResult result;
  result.outcome = outcome;
  return result;
}

std::uint64_t waiting(const Stats& stats) {
  return stats.pending + stats.sending + stats.sent + stats.inbox;
}

// Whether the frame's effect is in the database.
bool hasEffect(SQLite::Database& database, const std::string& id) {
  if (!database.tableExists("effects")) {
    return false;
  }
  SQLite::Statement query(database, "SELECT count(*) FROM effects WHERE id=?");
  query.bind(1, id);
  query.executeStep();
  return query.getColumn(0).getInt() == 1;
}

}  // namespace

FaultTrial::FaultTrial(const TempDir& folder, MemoryDisk& disk, std::set<Errc> mayReport)
    : folder_(folder), disk_(disk), mayReport_(std::move(mayReport)) {
  sender_ = std::make_shared<ScriptedSender>([this](const SendRequest& request) { return answer(request); });
}

FaultTrial::~FaultTrial() {
  close();
}

void FaultTrial::work() {
  if (!attempt("open", [&] { open(); }) && !attempt("open again", [&] { open(); })) {
    return;
  }
  enqueue(1, "order");
  enqueue(1, "later");
  enqueue(1, "reject");
  enqueue(3, "order");
  attempt("drain", [&] { manager_->drainOnce(); });
  enqueue(2, "order");
  takeIn();
  takeIn();
  clock_->advance(std::chrono::minutes(1));
  attempt("drain late", [&] { manager_->drainOnce(); });
  readAll();
  attempt("retry", [&] { OutboxOperator(*manager_).retryFailed({}); });
  attempt("drain redriven", [&] { manager_->drainOnce(); });
  takeIn();
  enqueue(3, "order");
  // Without a notification, a pause is read at the next look at the file.
  attempt("pause", [&] { OutboxOperator(*manager_).pause("default"); });
  attempt("resume", [&] { OutboxOperator(*manager_).resume("default"); });
  pull();
  attempt("discard", [&] { OutboxOperator(*manager_).discardFailed({}); });
  attempt("cleanup", [&] { OutboxOperator(*manager_).cleanupDone(std::chrono::milliseconds(0)); });
  close();
  if (attempt("reopen", [&] { open(); })) {
    enqueue(1, "order");
    attempt("drain reopened", [&] { manager_->drainOnce(); });
  }
}

void FaultTrial::workWithRun() {
  if (!attempt("open", [&] { open(); }) && !attempt("open again", [&] { open(); })) {
    return;
  }
  bool ended = false;
  manager_->runThen(context_.get_executor(), [&](const std::error_code&) { ended = true; });
  workInRun();
  for (int round = 0; round < kRoundsMax && !ended; ++round) {
    settle();
    clock_->advance(std::chrono::seconds(1));
  }
  require(ended, "the run does not end");
}

void FaultTrial::workStarted() {
  if (!attempt("open", [&] { open(); }) && !attempt("open again", [&] { open(); })) {
    return;
  }
  manager_->start();
  workInRun();
  for (int round = 0; round < kRoundsMax && isRunning(); ++round) {
    settle();
    clock_->advance(std::chrono::seconds(1));
  }
  require(!isRunning(), "the run does not end");
}

// A run that no caller waits for reports its end only in this way.
bool FaultTrial::isRunning() {
  try {
    manager_->drainOnce();
  } catch (const Error& error) {
    return error.code() == Errc::alreadyRunning;
  }
  return false;
}

void FaultTrial::workInRun() {
  for (const char* type : {"order", "later", "reject", "order", "order"}) {
    enqueue(1, type);
    settle();
    clock_->advance(std::chrono::milliseconds(400));
    settle();
  }
  for (int frames = 0; frames < 4; ++frames) {
    takeIn();
  }
  attempt("stop", [&] { manager_->stop(); });
}

void FaultTrial::recover() {
  if (!manager_) {
    attempt("open after the fault", [&] { open(); });
  }
  require(manager_.has_value(), "it does not open after the fault");
  if (!manager_) {
    return;
  }
  // A log that could not be repaired is tried again after 100 ms.
  clock_->advance(std::chrono::seconds(1));
  const std::size_t before = accepted_.size();
  enqueue(1, "order");
  require(accepted_.size() == before + 1, "an enqueue fails after the fault");
  try {
    check();
    close();
    open();
    require(OutboxReader(*manager_).verify().clean(), "verify complains after the last opening");
  } catch (const std::exception& error) {
    require(false, std::string("after the fault: ") + error.what());
  }
}

void FaultTrial::check() {
  // The earlier resume may have failed.
  OutboxOperator(*manager_).resume("default");
  Stats stats = manager_->getStats();
  for (int round = 0; round < kRoundsMax && waiting(stats) != 0; ++round) {
    clock_->advance(std::chrono::minutes(2));
    settle();
    manager_->drainOnce();
    stats = manager_->getStats();
  }
  require(waiting(stats) == 0, "messages are left over");
  for (const Finding& finding : OutboxReader(*manager_).verify().findings) {
    require(false, "verify: " + finding.table + ": " + finding.problem);
  }
  for (const std::string& id : accepted_) {
    require(taken_.contains(id) || rejectable_.contains(id), id + " is lost though its enqueue returned");
  }
  for (const std::string& id : refused_) {
    require(!tried_.contains(id), id + " was sent though its enqueue failed");
    require(!manager_->find(id).has_value(), id + " is stored though its enqueue failed");
  }
  std::map<std::string, std::uint64_t> last;
  std::set<std::string> seen;
  for (const OutboundFrame& frame : sender_->frames()) {
    if (seen.insert(frame.messageId).second && frame.sequence != 0) {
      require(frame.sequence > last[frame.session], frame.messageId + " was sent out of order");
      last[frame.session] = frame.sequence;
    }
  }
  SQLite::Database database(folder_.file("agent.db").string(), SQLite::OPEN_READWRITE, 0, disk_.name());
  require(database.execAndGet("PRAGMA integrity_check").getString() == "ok", "SQLite finds the file damaged");
  const bool any = database.tableExists("effects");
  require(any || heardIds_.empty(), "effects are gone that were acknowledged");
  for (const auto& [ids, count] : {std::pair(heardIds_, 1), std::pair(unheardIds_, 0)}) {
    for (const std::string& id : any ? ids : std::set<std::string>()) {
      SQLite::Statement query(database, "SELECT count(*) FROM effects WHERE id=?");
      query.bind(1, id);
      query.executeStep();
      require(query.getColumn(0).getInt() == count, id + " does not stand by its answer");
    }
  }
}

void FaultTrial::judge(const DiskFiles& image) {
  const TempDir elsewhere;
  const std::string from = folder_.file("agent.db").string();
  const std::string to = elsewhere.file("agent.db").string();
  DiskFiles moved;
  for (const auto& [path, bytes] : image) {
    moved.emplace(to + path.substr(from.size()), bytes);
  }
  const MemoryDisk rest(moved);
  try {
    OutboxOptions options;
    options.vfs = rest.name();
    options.clock = clock_;
    options.random = seededRandom(7);
    const OutboxManager manager = OutboxManager::open(to, options);
    require(OutboxReader(manager).verify().clean(), "verify complains after a power cut");
    for (const std::string& id : accepted_) {
      require(taken_.contains(id) || rejectable_.contains(id) || manager.find(id).has_value(),
              "a power cut loses " + id + " though its enqueue returned");
    }
    SQLite::Database database(to, SQLite::OPEN_READWRITE, 0, rest.name());
    require(database.execAndGet("PRAGMA integrity_check").getString() == "ok", "a power cut damages the file");
    std::uint64_t deferred = 0;
    for (const std::string& id : heardIds_) {
      const bool stands = hasEffect(database, id);
      deferred += !stands && deferredIds_.contains(id) ? 1U : 0U;
      require(stands || deferredIds_.contains(id), "a power cut loses the effect of " + id);
    }
    require(deferred <= manager.getStats().inbox, "a power cut loses a deferred frame");
  } catch (const std::exception& error) {
    require(false, std::string("after a power cut: ") + error.what());
  }
}

void FaultTrial::stepEnded() const {
  if (afterStep) {
    afterStep();
  }
}

void FaultTrial::require(bool holds, const std::string& violation) {
  if (!holds) {
    violations_.push_back(violation);
  }
}

bool FaultTrial::attempt(const std::string& step, const std::function<void()>& work) {
  bool isDone = false;
  try {
    work();
    isDone = true;
  } catch (const Error& error) {
    ++failures_;
    require(mayReport_.contains(static_cast<Errc>(error.code().value())), step + " reports: " + error.what());
  } catch (const std::exception& error) {
    require(false, step + " throws: " + error.what());
  }
  stepEnded();
  return isDone;
}

void FaultTrial::open() {
  OutboxOptions options;
  options.vfs = disk_.name();
  options.clock = clock_;
  options.random = seededRandom(7);
  options.checkpointPages = checkpointPages;
  options.busyTimeout = kBusyTimeout;
  options.storeExecutor = [this](std::function<void()> work) { boost::asio::post(context_, std::move(work)); };
  manager_.emplace(OutboxManager::open(folder_.file("agent.db"), options));
  manager_->setSender(sender_);
  const FrameHandler take = [](const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Database& database = transaction.database();
    database.exec("CREATE TABLE IF NOT EXISTS effects(id TEXT)");
    SQLite::Statement insert(database, "INSERT INTO effects VALUES(?)");
    insert.bind(1, frame.id);
    insert.exec();
    return HandlerResult::ack();
  };
  InboundOptions inboundOptions;
  inboundOptions.allowAnonymous = true;
  inboundOptions.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(context_.get_executor());
  inboundOptions.deferred.handler = [take](DeferredFrame frame) {
    frame.commit([take, frame](InboundTransaction& transaction) { return take(frame.frame(), transaction); });
  };
  inbound_.emplace(
      *manager_,
      [take](const InboundFrame& frame, InboundTransaction& transaction) {
        return frame.type == "slow" ? HandlerResult::defer() : take(frame, transaction);
      },
      inboundOptions);
}

void FaultTrial::close() {
  // Posted work may still refer to the handler and the manager.
  inbound_.reset();
  settle();
  manager_.reset();
  settle();
}

void FaultTrial::enqueue(std::size_t count, const std::string& type) {
  std::vector<Frame> frames;
  for (std::size_t index = 0; index < count; ++index) {
    Frame frame;
    frame.id = type + "-" + std::to_string(++said_);
    // Every third message is outside sessions.
    frame.session = said_ % 3 == 0 ? "" : (said_ % 3 == 1 ? "one" : "two");
    frame.type = type;
    frame.data = '"' + std::string(600, 'x') + '"';
    frames.push_back(std::move(frame));
  }
  const bool stored =
      attempt("enqueue", [&] { require(manager_->enqueueBatch(frames).front().isNew(), "an enqueue is refused"); });
  for (const Frame& frame : frames) {
    (stored ? accepted_ : refused_).insert(frame.id);
    if (type == "reject") {
      rejectable_.insert(frame.id);
    }
  }
  stepEnded();
}

void FaultTrial::takeIn() {
  const std::string id = "in-" + std::to_string(++heard_);
  InboundRequest request;
  request.contentType = "application/cloudevents+json";
  request.webhookId = id;
  request.body = R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:x","type":")" +
                 (heard_ % 2 == 0 ? "slow" : "quick") + R"(","data":{}})";
  int status = 0;
  // Of every two frames that are handled in the same way, one is handled on the caller's thread.
  const auto thread = heard_ % 4 < 2 ? protocol::HandlerThread::store : protocol::HandlerThread::caller;
  protocol::InboundPort::of(*inbound_).handle(
      request, [&](const InboundResponse& response) { status = response.status; }, thread,
      protocol::RequestForm::cloudEvents);
  settle();
  const bool taken = status == 200 || status == 202;
  require(taken || status == 503 || status == 507, "a frame is answered with " + std::to_string(status));
  (taken ? heardIds_ : unheardIds_).insert(id);
  if (status == 202) {
    deferredIds_.insert(id);
  }
  failures_ += taken ? 0U : 1U;
  stepEnded();
}

void FaultTrial::pull() {
  std::vector<ClaimResult> results;
  attempt("claim", [&] {
    for (const Claim& claim : PullConsumer(*manager_).claim(2)) {
      tried_.insert(claim.frame.messageId);
      taken_.insert(claim.frame.messageId);
      results.push_back({claim.token, resultOf(Outcome::ack)});
    }
  });
  // A decided settle stays decided; the second call commits what the first one could not.
  if (!attempt("settle", [&] { PullConsumer(*manager_).settleAll(results); })) {
    attempt("settle again", [&] { PullConsumer(*manager_).settleAll(results); });
  }
  attempt("stop pulling", [&] { manager_->stop(); });
}

void FaultTrial::readAll() {
  attempt("getStats", [&] { static_cast<void>(manager_->getStats()); });
  attempt("find", [&] { static_cast<void>(manager_->find("order-1")); });
  attempt("deadLetters", [&] { static_cast<void>(OutboxReader(*manager_).deadLetters({})); });
  attempt("explain", [&] { static_cast<void>(manager_->explain("order-1")); });
  attempt("verify", [&] { static_cast<void>(OutboxReader(*manager_).verify()); });
}

void FaultTrial::settle() {
  context_.restart();
  std::size_t turns = 0;
  while (turns < kTurnsMax && context_.poll_one() != 0) {
    ++turns;
  }
  require(turns < kTurnsMax, "work goes round and round while the fault lasts");
}

SendReport FaultTrial::answer(const SendRequest& request) {
  SendReport report;
  report.outcome = RequestOutcome::answered;
  for (const OutboundFrame& frame : request.frames) {
    const bool first = tried_.insert(frame.messageId).second;
    if (frame.type == "reject") {
      report.results.push_back(resultOf(Outcome::term));
    } else if (frame.type == "later" && first) {
      report.results.push_back(resultOf(Outcome::nack));
    } else {
      taken_.insert(frame.messageId);
      report.results.push_back(resultOf(Outcome::ack));
    }
  }
  return report;
}

}  // namespace ackbox::testing
