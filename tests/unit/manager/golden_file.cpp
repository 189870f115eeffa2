#include "golden_file.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "ackbox/outbox_operator.hpp"
#include "ackbox/pull.hpp"

namespace ackbox::testing::golden {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr const char* kGolden = ACKBOX_GOLDEN_DIRECTORY "/schema_1.sql";
constexpr hours kSilence(24 * 181);
constexpr hours kDay(25);
// Of the rows with an instant of their own.
constexpr WallTime kBegun{std::chrono::milliseconds(1'700'000'000'000)};
constexpr const char* kSource = "urn:agent:bob";
constexpr const char* kStores[] = {"00000000000000000000000000000001", "00000000000000000000000000000002",
                                   "00000000000000000000000000000003"};

SendReport answer(const SendRequest& request) {
  if (request.peer == "away") {
    return ScriptedSender::failed(RequestOutcome::peerUnavailable, "connection refused");
  }
  if (request.peer == "refusing") {
    return ScriptedSender::failed(RequestOutcome::peerRefused, "HTTP 401");
  }
  if (request.peer == "gone") {
    return ScriptedSender::failed(RequestOutcome::peerGone, "HTTP 410");
  }
  SendReport report = ScriptedSender::all(request, Outcome::ack);
  report.store = kStores[0];
  report.storeEpoch = 1;
  for (std::size_t index = 0; index < request.frames.size(); ++index) {
    const std::string& id = request.frames[index].messageId;
    report.results[index].outcome = id.starts_with("deferred")  ? Outcome::defer
                                    : id.starts_with("dead")    ? Outcome::term
                                    : id.starts_with("retried") ? Outcome::nack
                                                                : Outcome::ack;
    report.results[index].unattended =
        id.starts_with("deferred") ? std::optional(std::chrono::milliseconds(minutes(5))) : std::nullopt;
    report.results[index].detail = report.results[index].outcome == Outcome::ack ? "" : "because of " + id;
  }
  return report;
}

/// What this agent sends: first what is settled, then what waits.
void sendAll(Agent& agent) {
  OutboxManager& manager = agent.manager();
  OutboxOperator operations(manager);
  const auto enqueue = [&](const Frame& frame) { REQUIRE(manager.enqueue(frame).isNew()); };
  agent.sender().setScript(answer);
  for (const char* id : {"acked-1", "acked-2", "deferred-3"}) {
    enqueue(message("bob", "orders", id));
  }
  for (const char* peer : {"away", "refusing", "gone"}) {
    enqueue(message(peer, peer, std::string(peer) + "-1"));
  }
  enqueue(message("bob", "retried", "retried-1"));
  enqueue(message("bob", "", "dead-unordered"));
  enqueue(message("bob", "blocked", "dead-blocking"));
  enqueue(message("bob", "left", "dead-discarded"));
  manager.drainOnce();
  REQUIRE(operations.discard("dead-discarded").done());
  for (const char* peer : {"away", "refusing", "gone"}) {
    enqueue(message(peer, peer, std::string(peer) + "-2"));
  }
  enqueue(message("bob", "retried", "retried-2"));
  enqueue(message("bob", "blocked", "blocked-2"));
  operations.pause("paused");
  for (const char* peer : {"added", "removed"}) {
    operations.addPeer({.name = peer, .agent = std::string("urn:agent:") + peer}, "{}");
  }
  operations.removePeer("removed");
  operations.pause("bob", "halted");
  enqueue(message("paused", "paused", "paused-1"));
  enqueue(message("bob", "halted", "halted-1"));
  enqueue(message("bob", "left", "left-2"));
  Frame full = message("bob", "orders", "full-4");
  full.idempotencyKey = "key-4";
  full.correlationId = "order-4";
  full.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  full.expiresAt = agent.clock().wallNow() + hours(24 * 365 * 100);
  full.notBefore = agent.clock().wallNow();
  full.resentOf = "acked-1";
  full.priority = 9;
  enqueue(full);
  Frame state = message("bob", "states", "state-1");
  state.supersedeKey = "k";
  enqueue(state);
  state.id = "state-2";
  enqueue(state);
  Frame unnamed = message("bob", "orders", "");
  unnamed.data = "\"of an id that ackbox made\"";
  enqueue(unnamed);
  enqueue(message("bob", "", "unordered-1"));
  enqueue(message("bob", "", "unordered-2"));
  operations.subscribe({.name = "all", .peer = "paused"});
  Frame published = message("", "published", "");
  published.idempotencyKey = "key-of-all";
  REQUIRE(manager.publish(published).isNew());
}

/// What this agent receives, from three stores of one sender, the first two of which were silent for long.
void receiveAll(Agent& agent) {
  agent.post(frames(0, "closed", 1, 1, "quick"));
  agent.post(frames(1, "waiting", 1, 2, "unwanted"));
  agent.clock().advance(kSilence);
  // A store that began less than a day ago has taken no other's place.
  agent.post(frames(2, "quick", 1, 1, "quick"));
  agent.clock().advance(kDay);
  agent.post(frames(2, "quick", 2, 3, "quick"));
  agent.post(frames(2, "booked", 1, 1, "booked"));
  agent.post(frames(2, "refused", 1, 1, "refused"));
  SendRequest alone = frames(2, "", 1, 1, "quick");
  alone.frames[0].sequence = 0;
  agent.post(alone);
  agent.awaitWork(0, 2);
  SendRequest failing = frames(2, "failing", 1, 2, "failing");
  failing.frames[0].resentOf = "first";
  agent.post(failing);
  agent.post(frames(2, "held", 1, 2, "held"));
  agent.awaitWork(1, 6);
}

std::string dump(const std::filesystem::path& file) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  // A process is another each time; and what the daemon writes of its applications, as `application_lines.hpp` has it.
  database.exec(
      "UPDATE ackbox_owners SET pid=4711, applications=char(9) || 'unwanted' || char(9) || '0' || char(9) || char(10)");
  std::string text = "-- A file of schema version 1, of a process that was killed: see schema_golden_test.cpp.\n";
  std::vector<std::string> tables;
  SQLite::Statement objects(database, "SELECT type,name,sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid");
  while (objects.executeStep()) {
    if (objects.getColumn(1).getString() != "sqlite_sequence") {
      text += objects.getColumn(2).getString() + ";\n";
    }
    if (objects.getColumn(0).getString() == "table") {
      tables.push_back(objects.getColumn(1).getString());
    }
  }
  for (const std::string& table : tables) {
    std::string columns;
    SQLite::Statement names(database, "SELECT name FROM pragma_table_info(?)");
    names.bind(1, table);
    while (names.executeStep()) {
      const std::string name = names.getColumn(0).getString();
      columns += columns.empty() ? "" : "||','||";
      columns += "iif(typeof(" + name + ")='blob','CAST('||quote(CAST(" + name + " AS TEXT))||' AS BLOB)',quote(" +
                 name + "))";
    }
    text += table == "sqlite_sequence" ? "DELETE FROM sqlite_sequence;\n" : "";
    SQLite::Statement rows(database, "SELECT " + columns + " FROM " + table);
    while (rows.executeStep()) {
      text += "INSERT INTO " + table + " VALUES(" + rows.getColumn(0).getString() + ");\n";
    }
  }
  return text;
}

}  // namespace

const WallTime kLater = kBegun + kSilence + kDay + hours(2);

Frame message(const std::string& peer, const std::string& session, const std::string& id) {
  Frame made;
  made.peer = peer;
  made.session = session;
  made.type = "test.event";
  made.data = "{\"id\":\"" + id + "\"}";
  made.id = id;
  return made;
}

SendRequest frames(std::size_t store, const std::string& session, std::uint64_t first, std::uint64_t last,
                   const std::string& type) {
  std::vector<OutboundFrame> made;
  for (std::uint64_t number = first; number <= last; ++number) {
    made.push_back(outboundFrame(session, number, type));
  }
  SendRequest request = sendRequest(std::move(made));
  request.agent = kSource;
  request.origin = kStores[store];
  return request;
}

Agent::Agent(const std::filesystem::path& file, WallTime now)
    : file_(file), clock_(std::make_shared<ManualClock>(now)) {
  options_.agent = "urn:agent:alice";
  options_.clock = clock_;
  options_.random = seededRandom(1);
  options_.ackedRetention = hours(24 * 365 * 100);
  options_.retry.jitter = false;
  options_.log = [](const LogRecord&) {};
  options_.peerHealth.probeDelays = {minutes(1)};
  options_.sessionPolicies = {{.peer = "bob", .session = "blocked", .gap = GapPolicy::block}};
  for (const char* name : {"bob", "away", "refusing", "gone", "paused"}) {
    options_.peers.push_back({.name = name, .agent = std::string("urn:agent:") + name});
  }
  inbound_.allowAnonymous = true;
  inbound_.deferred.handler = [this](DeferredFrame frame) { work(std::move(frame)); };
  inbound_.deferred.retry.horizon = std::chrono::milliseconds(0);
  inbound_.deferred.timeout = hours(1);
  inbound_.deferred.pools = {{.types = {"unwanted"}, .demand = std::make_shared<DeferredDemand>()}};
}

// A frame that the handler does not let go of would keep the file open.
Agent::~Agent() {
  std::vector<DeferredFrame> held;
  {
    const std::scoped_lock lock(mutex_);
    isClosing_ = true;
    held.swap(held_);
  }
  held.clear();
  handler_.reset();
}

void Agent::open() {
  manager_.emplace(OutboxManager::open(file_, options_));
  manager_->setSender(sender_);
  handler_.emplace(
      *manager_,
      [this](const InboundFrame& frame, InboundTransaction&) {
        const std::scoped_lock lock(mutex_);
        handled_.push_back(frame.id);
        return frame.type == "quick" ? HandlerResult::ack() : HandlerResult::defer();
      },
      inbound_);
}

InboundResponse Agent::post(const SendRequest& request) {
  return answerTo(*handler_, inboundRequest(request));
}

std::vector<std::string> Agent::handled() {
  const std::scoped_lock lock(mutex_);
  return handled_;
}

void Agent::awaitWork(std::size_t held, std::uint64_t inInbox) {
  const SteadyTime patience = systemClock()->steadyNow() + minutes(1);
  const auto isDone = [&] {
    const std::scoped_lock lock(mutex_);
    return held_.size() == held && manager_->getStats().inbox == inInbox;
  };
  while (!isDone()) {
    REQUIRE(systemClock()->steadyNow() < patience);
    std::this_thread::yield();
  }
}

void Agent::work(DeferredFrame frame) {
  const std::string type = frame.frame().type;
  if (type == "held") {
    const std::scoped_lock lock(mutex_);
    if (!isClosing_) {
      held_.push_back(std::move(frame));
    }
  } else if (type == "refused") {
    frame.finish(HandlerResult::reject("no such order", "unknown-order"));
  } else if (type == "failing") {
    frame.finish(HandlerResult::notNow("the warehouse is closed", hours(1)));
  } else {
    frame.finish(HandlerResult::ack("{\"booked\":true}"));
  }
}

File::File() {
  std::ifstream stream(kGolden, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  REQUIRE(!text.empty());
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("BEGIN;" + text + "COMMIT");
}

void regenerate() {
  const TempDir folder;
  const auto file = folder.file("agent.db");
  const auto copy = folder.file("copy.db");
  { Agent(file, kBegun).open(); }
  // The next opening finds that the file was taken away, and notes it.
  std::filesystem::remove(file);
  Agent agent(file, kBegun);
  agent.open();
  receiveAll(agent);
  sendAll(agent);
  const auto claims = PullConsumer(agent.manager()).claim(2);
  REQUIRE(claims.size() == 2);
  OutboxReader(agent.manager()).backUp(copy);
  std::ofstream(kGolden, std::ios::binary) << dump(copy);
}

void checkSound(const OutboxReader& reader) {
  for (const Finding& finding : reader.verify().findings) {
    FAIL_CHECK(finding.table << " " << finding.row << " " << finding.problem);
  }
}

}  // namespace ackbox::testing::golden
