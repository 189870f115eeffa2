// Goal: the whole path over real sockets and real files: ordered delivery, replies, a peer that is away and comes back.
// Method: two agents in one process on loopback; conditions are waited for, never slept for.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/reserved_port.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::loopback_test {
namespace {

/// An agent that keeps what it hears, in order, in its own file, and answers every tenth frame.
class Listener {
public:
  Listener(const std::filesystem::path& file, const std::string& name, std::vector<PeerOptions> peers)
      : manager(OutboxManager::open(file, optionsOf(name, std::move(peers)))),
        database_(file.string(), SQLite::OPEN_READWRITE, 10'000) {
    database_.exec("CREATE TABLE IF NOT EXISTS heard(id INTEGER PRIMARY KEY, session TEXT, data TEXT)");
    handler_.emplace(
        manager,
        [](const InboundFrame& frame, InboundTransaction& transaction) {
          SQLite::Statement insert(transaction.database(), "INSERT INTO heard(session, data) VALUES (?, ?)");
          insert.bind(1, frame.session);
          insert.bind(2, frame.data);
          insert.exec();
          if (frame.sequence % 10 == 0 && frame.type == "question") {
            Frame reply;
            reply.peer = "alice";
            reply.session = frame.session;
            reply.type = "answer";
            reply.data = frame.data;
            reply.correlationId = frame.id;
            transaction.enqueue(reply);
          }
          return HandlerResult::ack();
        },
        InboundOptions{.allowAnonymous = true});
  }

  void listen(const testing::ReservedPort& port) {
    InboundServerOptions options;
    options.port = port.number();
    server_.emplace(pool_.get_executor(), *handler_, options);
  }
  void hangUp() {
    server_->stop();
    server_.reset();
  }
  void speak() {
    manager.setSender(std::make_shared<HttpSender>());
    manager.start();
  }
  /// Until so many frames have taken effect.
  void awaitHeard(int count) {
    while (database_.execAndGet("SELECT count(*) FROM heard").getInt() < count) {
      std::this_thread::yield();
    }
  }
  std::map<std::string, std::vector<std::string>> heardBySession() {
    std::map<std::string, std::vector<std::string>> found;
    SQLite::Statement query(database_, "SELECT session, data FROM heard ORDER BY id");
    while (query.executeStep()) {
      found[query.getColumn(0).getString()].push_back(query.getColumn(1).getString());
    }
    return found;
  }

private:
  static OutboxOptions optionsOf(const std::string& name, std::vector<PeerOptions> peers) {
    OutboxOptions options;
    options.agent = "urn:agent:" + name;
    options.peers = std::move(peers);
    options.peerHealth.probeDelays = {std::chrono::milliseconds(5)};
    return options;
  }

public:
  OutboxManager manager;

private:
  SQLite::Database database_;
  std::optional<InboundHandler> handler_;
  boost::asio::thread_pool pool_{1};
  std::optional<InboundServer> server_;
};

Frame question(const std::string& session, int number) {
  Frame frame;
  frame.peer = "bob";
  frame.session = session;
  frame.type = "question";
  frame.data = std::to_string(number);
  return frame;
}

TEST_CASE("P4 P5: many sessions over HTTP arrive in order and once, and replies come back") {
  const testing::TempDir dir;
  const testing::ReservedPort alicePort;
  const testing::ReservedPort bobPort;
  Listener bob(dir.file("bob.db"), "bob", {{.name = "alice", .url = alicePort.url(), .agent = "urn:agent:alice"}});
  Listener alice(dir.file("alice.db"), "alice", {{.name = "bob", .url = bobPort.url(), .agent = "urn:agent:bob"}});
  alice.listen(alicePort);
  bob.listen(bobPort);
  alice.speak();
  bob.speak();
  constexpr int kSessions = 20;
  constexpr int kPerSession = 50;
  for (int number = 0; number < kPerSession; ++number) {
    for (int session = 0; session < kSessions; ++session) {
      CHECK(alice.manager.enqueue(question("s" + std::to_string(session), number)).isNew());
    }
  }
  bob.awaitHeard(kSessions * kPerSession);
  alice.awaitHeard(kSessions * kPerSession / 10);
  alice.manager.stop();
  bob.manager.stop();
  for (const auto& [session, data] : bob.heardBySession()) {
    REQUIRE(data.size() == kPerSession);
    for (int number = 0; number < kPerSession; ++number) {
      CHECK(data[static_cast<std::size_t>(number)] == std::to_string(number));
    }
  }
  for (const auto& [session, data] : alice.heardBySession()) {
    CHECK(data == std::vector<std::string>{"9", "19", "29", "39", "49"});
  }
}

TEST_CASE("P8: a peer that is away and comes back gets everything in order, and no message was charged") {
  const testing::TempDir dir;
  const testing::ReservedPort port;
  Listener bob(dir.file("bob.db"), "bob", {});
  Listener alice(dir.file("alice.db"), "alice", {{.name = "bob", .url = port.url()}});
  alice.speak();
  for (int number = 0; number < 100; ++number) {
    alice.manager.enqueue(question("s" + std::to_string(number % 3), number));
  }
  bob.listen(port);
  bob.awaitHeard(50);
  bob.hangUp();
  for (int number = 100; number < 200; ++number) {
    alice.manager.enqueue(question("s" + std::to_string(number % 3), number));
  }
  bob.listen(port);
  bob.awaitHeard(200);
  while (alice.manager.getStats().acked != 200) {
    std::this_thread::yield();
  }
  alice.manager.stop();
  CHECK(alice.manager.getStats().totalRetries == 0);
  CHECK(alice.manager.getStats().failed == 0);
  std::size_t total = 0;
  for (const auto& [session, data] : bob.heardBySession()) {
    total += data.size();
    for (std::size_t index = 1; index < data.size(); ++index) {
      CHECK(std::stoi(data[index - 1]) + 3 == std::stoi(data[index]));
    }
  }
  CHECK(total == 200);
}

TEST_CASE("P8: a wrong agent in a peer's options holds the peer; once it is right, every message is delivered") {
  const testing::TempDir dir;
  const testing::ReservedPort port;
  Listener bob(dir.file("bob.db"), "bob", {});
  bob.listen(port);
  const auto alice = [&](const std::string& agent) {
    OutboxOptions options;
    options.agent = "urn:agent:alice";
    options.peers = {{.name = "bob", .url = port.url(), .agent = agent}};
    OutboxManager manager = OutboxManager::open(dir.file("alice.db"), options);
    manager.setSender(std::make_shared<HttpSender>());
    return manager;
  };
  {
    OutboxManager mistaken = alice("urn:agent:robert");
    for (int number = 0; number < 3; ++number) {
      mistaken.enqueue(question("s", number));
    }
    mistaken.processAll();
    CHECK(mistaken.getStats().failed == 0);
    CHECK(mistaken.getStats().pending == 3);
    const PeerStatus peer = OutboxReader(mistaken).peers().at(0);
    CHECK((peer.state == PeerState::held));
    CHECK(peer.lastError.find("the peer's `agent`") != std::string::npos);
  }
  OutboxManager right = alice("urn:agent:bob");
  right.processAll();
  CHECK(right.getStats().acked == 3);
  CHECK(right.getStats().totalRetries == 0);
}

}  // namespace
}  // namespace ackbox::loopback_test
