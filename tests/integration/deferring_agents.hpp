#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/router.hpp"
#include "support/reserved_port.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

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
  }
  ~Agent() { close(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void knows(const std::string& name, const Agent& other, const std::string& agent) {
    options.peers.push_back({.name = name, .url = other.url(), .agent = agent, .secrets = sharedByAll()});
  }
  void open() {
    manager.emplace(OutboxManager::open(file_, options));
    database_.emplace(file_.string(), SQLite::OPEN_READWRITE);
    database_->exec("CREATE TABLE IF NOT EXISTS heard(id INTEGER PRIMARY KEY, session TEXT, data TEXT)");
    InboundOptions inbound;
    for (const char* agent : {"urn:agent:alice", "urn:agent:bob", "urn:agent:eve", "urn:agent:nobody"}) {
      if (agent != options.agent) {
        inbound.peers.push_back({.agents = {agent}, .secrets = sharedByAll(), .byCertificate = true});
      }
    }
    inbound.deferred.handler = router.deferredHandler();
    inbound.deferred.retry = retry;
    handler.emplace(*manager, router.frameHandler(), inbound);
  }
  void listen() {
    InboundServerOptions server;
    server.port = port_.number();
    server_.emplace(pool_.get_executor(), *handler, server);
  }
  void speak(std::shared_ptr<Sender> sender = std::make_shared<HttpSender>()) {
    subscriptions_.clear();
    subscriptions_.push_back(manager->onAcked([this](const AckedEvent& event) {
      const std::scoped_lock lock(mutex_);
      ++acks_[event.messageId];
      results_[event.messageId] = event.result;
    }));
    manager->setSender(std::move(sender));
    manager->start();
  }
  void close() {
    server_.reset();
    handler.reset();
    manager.reset();
    database_.reset();
  }
  [[nodiscard]] std::string url() const { return port_.url(); }

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
  /// Proved by a certificate of the event's source.
  InboundResponse post(const std::string& body) {
    std::promise<InboundResponse> answer;
    InboundRequest request;
    request.contentType = "application/cloudevents+json";
    request.body = body;
    request.webhookId = "w";
    request.certificateAgents = {sourceOf(body)};
    handler->asyncHandle(std::move(request), [&](InboundResponse response) { answer.set_value(std::move(response)); });
    return answer.get_future().get();
  }

  OutboxOptions options;
  /// Of deferred frames.
  RetryPolicy retry;
  Router router;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;

private:
  static SecretSource sharedByAll() {
    return SecretSource::fixed({Secret("whsec_YWxsIGFsbCBhbGwgYWxsIGFsbCBhbGwgYWxsIGFsbCE=")});
  }
  static std::string sourceOf(const std::string& event) {
    const std::string key = R"("source":")";
    const std::size_t begin = event.find(key) + key.size();
    return event.substr(begin, event.find('"', begin) - begin);
  }
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
  const ReservedPort port_;
  std::vector<Subscription> subscriptions_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, int> acks_;
  std::map<std::string, std::string> results_;
};

inline constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);

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

  TempDir dir;
  Agent alice;
  Agent bob;
};

}  // namespace ackbox::testing
