// Goal: deferred ACKs end to end, both directions over real servers: the ACK event settles, early, late, repeated, for
// unknown ids and from the wrong peer (defect 8); without it the sender's question settles. Effects happen once, in
// order. Method: agents in one process on loopback, with real files; conditions are waited for, never slept for.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/router.hpp"
#include "support/temp_dir.hpp"

namespace ackbox {
namespace {

template <typename Condition>
void until(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

/// An agent that keeps what it hears in its own file: `quick` frames at once, `slow` ones deferred.
class Agent {
public:
  Agent(const std::filesystem::path& file, const std::string& name, std::chrono::milliseconds ackTimeout)
      : file_(file), pool_(2) {
    options.agent = "urn:agent:" + name;
    options.ackTimeout = ackTimeout;
    options.peerHealth.probeDelays = {std::chrono::milliseconds(5)};
    router.on("quick",
              [](const InboundFrame& frame, InboundTransaction& transaction) { return write(frame, transaction); });
    router.onDeferred("slow", [this](DeferredFrame frame) {
      frame.commit([this, frame](InboundTransaction& transaction) {
        write(frame.frame(), transaction);
        return frame.frame().data == "\"reject\"" ? HandlerResult::reject("no such order", "no-order")
                                                  : HandlerResult::ack("{\"by\":\"" + options.agent + "\"}");
      });
    });
    // The port is taken before the peers are known, which name each other.
    open();
    listen();
    close();
  }
  ~Agent() { close(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void knows(const std::string& name, const Agent& other, const std::string& agent) {
    options.peers.push_back({.name = name, .url = other.url(), .agent = agent});
  }
  void open() {
    manager.emplace(OutboxManager::open(file_, options));
    database_.emplace(file_.string(), SQLite::OPEN_READWRITE);
    database_->exec("CREATE TABLE IF NOT EXISTS heard(id INTEGER PRIMARY KEY, session TEXT, data TEXT)");
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    inbound.deferred.handler = router.deferredHandler();
    handler.emplace(*manager, router.frameHandler(), inbound);
  }
  void listen() {
    InboundServerOptions server;
    server.port = port_;
    server_.emplace(pool_.get_executor(), *handler, server);
    port_ = server_->port();
  }
  void speak() {
    subscriptions_.clear();
    subscriptions_.push_back(manager->onAcked([this](const AckedEvent& event) {
      const std::scoped_lock lock(mutex_);
      ++acks_[event.messageId];
      results_[event.messageId] = event.result;
    }));
    manager->setSender(std::make_shared<HttpSender>());
    manager->start();
  }
  void close() {
    server_.reset();
    handler.reset();
    manager.reset();
    database_.reset();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/inbox"; }

  std::string say(const std::string& peer, const std::string& session, const std::string& type,
                  const std::string& data) {
    Frame frame;
    frame.peer = peer;
    frame.session = session;
    frame.type = type;
    frame.data = data;
    return manager->enqueue(frame).messageId;
  }
  std::vector<std::string> heard(const std::string& session) {
    std::vector<std::string> found;
    SQLite::Statement query(*database_, "SELECT data FROM heard WHERE session=? ORDER BY id");
    query.bind(1, session);
    while (query.executeStep()) {
      found.push_back(query.getColumn(0).getString());
    }
    return found;
  }
  std::map<std::string, int> acks() {
    const std::scoped_lock lock(mutex_);
    return acks_;
  }
  std::string resultOf(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    return results_[id];
  }
  [[nodiscard]] std::uint64_t live() const {
    const Stats stats = manager->getStats();
    return stats.pending + stats.sending + stats.sent;
  }
  InboundResponse post(const std::string& body) {
    std::promise<InboundResponse> answer;
    InboundRequest request;
    request.contentType = "application/cloudevents+json";
    request.body = body;
    request.webhookId = "w";
    handler->asyncHandle(std::move(request), [&](InboundResponse response) { answer.set_value(std::move(response)); });
    return answer.get_future().get();
  }

  OutboxOptions options;
  Router router;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;

private:
  static HandlerResult write(const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement insert(transaction.database(), "INSERT INTO heard(session, data) VALUES (?, ?)");
    insert.bind(1, frame.session);
    insert.bind(2, frame.data);
    insert.exec();
    return HandlerResult::ack();
  }

  const std::filesystem::path file_;
  boost::asio::thread_pool pool_;
  std::optional<SQLite::Database> database_;
  std::optional<InboundServer> server_;
  std::uint16_t port_ = 0;
  std::vector<Subscription> subscriptions_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, int> acks_;
  std::map<std::string, std::string> results_;
};

constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);

std::string ackEvent(const std::string& source, const std::string& id, const std::string& message,
                     const std::string& outcome = "ack") {
  return R"({"specversion":"1.0","type":"ackbox.ack.v1","source":")" + source + R"(","id":")" + id +
         R"(","data":{"results":[{"id":")" + message + R"(","outcome":")" + outcome +
         R"(","code":"no-order","result":{"n":1}}]}})";
}

struct Pair {
  explicit Pair(std::chrono::milliseconds ackTimeout = kLong)
      : alice(dir.file("alice.db"), "alice", ackTimeout), bob(dir.file("bob.db"), "bob", ackTimeout) {}
  void introduce() {
    alice.knows("bob", bob, "urn:agent:bob");
    bob.knows("alice", alice, "urn:agent:alice");
  }
  void open() {
    for (Agent* agent : {&alice, &bob}) {
      agent->open();
      agent->listen();
      agent->speak();
    }
  }

  testing::TempDir dir;
  Agent alice;
  Agent bob;
};

TEST_CASE("row 9: ACK events settle deferred messages both ways, in order, once, and carry results to onAcked") {
  Pair pair;
  pair.introduce();
  pair.open();
  constexpr int kFrames = 60;
  std::vector<std::string> expected;
  std::string first;
  for (int number = 0; number < kFrames; ++number) {
    const std::string type = number % 3 == 0 ? "slow" : "quick";
    for (const std::string session : {"s", "t"}) {
      const std::string id = pair.alice.say("bob", session, type, std::to_string(number));
      first = first.empty() ? id : first;
      pair.bob.say("alice", session, type, std::to_string(number));
    }
    expected.push_back(std::to_string(number));
  }
  until([&] { return pair.alice.live() == 0 && pair.bob.live() == 0; });
  for (Agent* agent : {&pair.alice, &pair.bob}) {
    CHECK(agent->heard("s") == expected);
    CHECK(agent->heard("t") == expected);
    const Stats stats = agent->manager->getStats();
    CHECK(stats.received == 2 * kFrames);
    CHECK(stats.inbox == 0);
    CHECK(stats.deferred >= 2 * kFrames / 3);
    CHECK(stats.totalRetries == 0);
    CHECK(stats.refusedAcks == 0);
    CHECK(agent->manager->verify().clean());
    for (const auto& [id, count] : agent->acks()) {
      CHECK(count == 1);
    }
  }
  CHECK(pair.alice.resultOf(first) == "{\"by\":\"urn:agent:bob\"}");
}

TEST_CASE("row 9: a deferred handler's reject reaches the sender as a dead letter with its code") {
  Pair pair;
  pair.introduce();
  pair.open();
  const std::string id = pair.alice.say("bob", "s", "slow", "\"reject\"");
  pair.alice.say("bob", "s", "slow", "2");
  until([&] { return pair.alice.live() == 0; });
  CHECK(pair.alice.manager->find(id)->reason == "no-order");
  CHECK(pair.alice.manager->find(id)->lastError == "no such order");
  CHECK(pair.bob.heard("s") == std::vector<std::string>{"2"});
}

TEST_CASE("row 9: where the receiver knows no such peer, the sender's question at its ACK deadline settles") {
  Pair pair(std::chrono::milliseconds(20));
  pair.alice.knows("bob", pair.bob, "urn:agent:bob");
  pair.open();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  const std::string rejected = pair.alice.say("bob", "s", "slow", "\"reject\"");
  until([&] { return pair.alice.live() == 0; });
  CHECK(pair.bob.heard("s") == std::vector<std::string>{"1"});
  CHECK(pair.alice.resultOf(id) == "{\"by\":\"urn:agent:bob\"}");
  CHECK(pair.alice.manager->find(rejected)->reason == "no-order");
  CHECK(pair.bob.manager->getStats().enqueued == 0);
}

TEST_CASE("defect 8: an ACK event settles only messages to its source, in any live state, once; others are counted") {
  Pair pair;
  pair.introduce();
  pair.alice.knows("eve", pair.bob, "urn:agent:eve");
  pair.alice.open();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  const std::string second = pair.alice.say("bob", "s", "slow", "2");
  const std::string third = pair.alice.say("bob", "s", "slow", "3");
  const Subscription acked =
      pair.alice.manager->onAcked([&](const AckedEvent& event) { CHECK(event.result == "{\"n\":1}"); });
  const auto post = [&](const std::string& body) { return pair.alice.post(body).status; };
  // From a peer that it was not addressed to, and from one that is none: nothing settles, and nothing is learned.
  CHECK(post(ackEvent("urn:agent:eve", "e1", id)) == 200);
  CHECK(post(ackEvent("urn:agent:nobody", "e2", id)) == 200);
  CHECK(pair.alice.manager->find(id)->state == MessageState::pending);
  CHECK(pair.alice.manager->getStats().refusedAcks == 2);
  // Unknown ids are benign.
  CHECK(post(ackEvent("urn:agent:bob", "e3", "never-heard-of")) == 200);
  // Before anything was sent at all; then once more, as another event and as a repetition of this one.
  CHECK(post(ackEvent("urn:agent:bob", "e4", id)) == 200);
  CHECK_FALSE(pair.alice.manager->find(id));
  CHECK(post(ackEvent("urn:agent:bob", "e5", id)) == 200);
  CHECK(post(ackEvent("urn:agent:bob", "e4", id)) == 200);
  CHECK(pair.alice.manager->getStats().acked == 1);
  CHECK(post(ackEvent("urn:agent:bob", "e6", second, "term")) == 200);
  CHECK(pair.alice.manager->find(second)->reason == "no-order");
  CHECK(post(ackEvent("urn:agent:bob", "e7", second)) == 200);
  CHECK(pair.alice.manager->find(second)->state == MessageState::failed);
  // What is no list of results is refused for good, and none of it counts.
  CHECK(post(R"({"specversion":"1.0","type":"ackbox.ack.v1","source":"urn:agent:bob","id":"e8","data":{"results":[)"
             R"({"id":")" +
             third + R"(","outcome":"ack"},{"id":7}]}})") == 422);
  CHECK(pair.alice.manager->find(third)->state == MessageState::pending);
  CHECK(pair.alice.manager->getStats().received == 0);
  CHECK(pair.alice.manager->verify().clean());
}

TEST_CASE("defect 8: an ACK event that comes before the answer to its own request is kept, and settles once") {
  // The sender's own inbox is told in the middle of its request, before it has the answer.
  class EarlySender final : public Sender {
  public:
    explicit EarlySender(Agent& agent) : agent_(agent) {}
    void asyncSend(SendRequest request, SendHandler handler) override {
      CHECK(agent_.manager->find(request.frames.front().messageId)->state == MessageState::sending);
      // Not from this strand, which the event's settlement crosses.
      threads_.emplace_back([this, sent = std::move(request), done = std::move(handler)] {
        SendReport report;
        report.outcome = RequestOutcome::answered;
        for (const OutboundFrame& frame : sent.frames) {
          agent_.post(ackEvent("urn:agent:bob", "early-" + frame.messageId, frame.messageId));
          report.results.emplace_back().outcome = Outcome::defer;
        }
        done(report);
      });
    }

  private:
    Agent& agent_;
    std::vector<std::jthread> threads_;
  };
  Pair pair;
  pair.introduce();
  pair.alice.open();
  pair.alice.speak();
  pair.alice.manager->stop();
  pair.alice.manager->setSender(std::make_shared<EarlySender>(pair.alice));
  pair.alice.manager->start();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  const std::string next = pair.alice.say("bob", "s", "slow", "2");
  until([&] { return pair.alice.acks().contains(id) && pair.alice.acks().contains(next); });
  pair.alice.manager->stop();
  CHECK(pair.alice.acks().at(id) == 1);
  CHECK(pair.alice.resultOf(id) == "{\"n\":1}");
  CHECK(pair.alice.live() == 0);
  CHECK(pair.alice.manager->getStats().acked == 2);
  CHECK(pair.alice.manager->verify().clean());
}

TEST_CASE("row 9: the ACK event that asks for a message again gets it sent again") {
  Pair pair;
  pair.alice.knows("bob", pair.bob, "urn:agent:bob");
  pair.alice.open();
  pair.alice.speak();
  // Bob's file is lost after it deferred, and somebody says so for it.
  pair.bob.router.onDeferred("slow", [](const DeferredFrame& frame) { until([&] { return frame.stopRequested(); }); });
  pair.bob.open();
  pair.bob.listen();
  const std::string id = pair.alice.say("bob", "s", "slow", "1");
  until([&] { return pair.alice.manager->getStats().sent == 1; });
  const std::uint64_t duplicates = pair.bob.manager->getStats().duplicates;
  CHECK(pair.alice.post(ackEvent("urn:agent:bob", "again", id, "nack")).status == 200);
  until([&] { return pair.bob.manager->getStats().duplicates > duplicates; });
  CHECK(pair.alice.manager->getStats().totalRetries == 1);
}

TEST_CASE("defect 1: P5: whatever step an agent ends at, effect and mark are together, and each effect happens once") {
  Pair pair(std::chrono::milliseconds(50));
  pair.introduce();
  constexpr int kFrames = 40;
  std::vector<std::string> expected;
  pair.alice.open();
  for (int number = 0; number < kFrames; ++number) {
    pair.alice.say("bob", "s", number % 2 == 0 ? "slow" : "quick", std::to_string(number));
    expected.push_back(std::to_string(number));
  }
  pair.alice.listen();
  pair.alice.speak();
  // Each life of Bob ends at another step of the work.
  for (std::size_t life = 0; life < 12; ++life) {
    pair.bob.open();
    pair.bob.listen();
    pair.bob.speak();
    until([&] { return pair.bob.heard("s").size() >= life * 3; });
    pair.bob.close();
  }
  pair.bob.open();
  pair.bob.listen();
  pair.bob.speak();
  until([&] { return pair.alice.live() == 0; });
  CHECK(pair.bob.heard("s") == expected);
  CHECK(pair.alice.manager->getStats().failed == 0);
  CHECK(pair.alice.manager->getStats().acked == kFrames);
  CHECK(pair.bob.manager->verify().clean());
}

}  // namespace
}  // namespace ackbox
