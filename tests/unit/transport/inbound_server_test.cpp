// Goal: the server and its handler end in any order that their contracts allow, at any moment, and abandoned requests
// never fill the memory, whatever their number. Method: the public facade over real connections; a handler that the
// test controls holds the store's thread where the test needs it. Meant to run under sanitizers.

#include "ackbox/inbound_server.hpp"

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/error.hpp"
#include "ackbox/health.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::inbound_server_test {
namespace {

using testing::RawConnection;

std::string post(const std::string& id, const std::string& type, const std::string& body) {
  return "POST /inbox HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/" + type + "\r\nwebhook-id: " + id +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string event(const std::string& id) {
  return R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:agent:alice","type":"test","data":1})";
}

std::string frame(const std::string& id) {
  return post(id, "cloudevents+json", event(id));
}

std::string twoFrames(const std::string& id) {
  return post(id, "cloudevents-batch+json", "[" + event(id + "1") + "," + event(id + "2") + "]");
}

OutboxOptions receiver() {
  OutboxOptions options;
  options.agent = "urn:agent:bob";
  return options;
}

TEST_CASE("A request that is still handled when server and executor are gone ends without touching either") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  std::latch begun(1);
  std::latch mayEnd(1);
  {
    InboundHandler handler(manager,
                           [&](const InboundFrame&, InboundTransaction&) {
                             begun.count_down();
                             mayEnd.wait();
                             return HandlerResult::ack();
                           },
                           {.allowAnonymous = true});
    std::optional<RawConnection> peer;
    {
      boost::asio::thread_pool pool(2);
      std::optional<InboundServer> server(std::in_place, pool.get_executor(), handler);
      peer.emplace(server->port());
      peer->send(frame("a"));
      begun.wait();
      server.reset();
      CHECK(peer->receiveAll().starts_with("HTTP/1.1 503 "));
    }
    mayEnd.count_down();
  }
  CHECK(manager.getStats().received == 1);
}

TEST_CASE("A request whose end comes only after the server has gone is answered with 503, and has no effect") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  boost::asio::thread_pool pool(1);
  InboundHandler handler(manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.allowAnonymous = true});
  std::optional<InboundServer> server(std::in_place, pool.get_executor(), handler);
  RawConnection peer(server->port());
  const std::string body = event("a");
  peer.send(
      "POST /inbox HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/cloudevents+json\r\nwebhook-id: a\r\n"
      "Expect: 100-continue\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  // The interim answer shows that the server is in the middle of the request.
  peer.receiveMessage();
  server.reset();
  peer.send(body);
  CHECK(peer.receiveAll().starts_with("HTTP/1.1 503 "));
  CHECK(manager.getStats().received == 0);
}

/// The machine's clock, until it is broken.
struct BreakingClock final : Clock {
  [[nodiscard]] SteadyTime steadyNow() const override {
    if (isBroken) {
      throw std::runtime_error("the clock is broken");
    }
    return sound->steadyNow();
  }
  [[nodiscard]] WallTime wallNow() const override { return sound->wallNow(); }
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override {
    return sound->makeAlarm(executor);
  }
  const std::shared_ptr<Clock> sound = systemClock();
  std::atomic<bool> isBroken{false};
};

TEST_CASE("P10 P11: what a request makes throw is answered with 500 and reported, and the server goes on") {
  const testing::TempDir directory;
  const auto clock = std::make_shared<BreakingClock>();
  OutboxOptions options = receiver();
  options.clock = clock;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), options);
  std::mutex mutex;
  std::vector<std::string> reported;
  const Subscription subscription = manager.onHealth([&](const HealthEvent& event) {
    const std::scoped_lock lock(mutex);
    reported.push_back(event.sentence);
  });
  // No client can prove to be the only peer, and refusals are counted with the time in seconds.
  InboundOptions inbound;
  inbound.peers = {{.agents = {"urn:agent:alice"}, .byCertificate = true}};
  InboundHandler handler(
      manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, inbound);
  InboundServer server(handler);
  RawConnection other(server.port());
  const auto statusOf = [](RawConnection& peer) {
    peer.send(frame("a"));
    return peer.receiveMessage().substr(9, 3);
  };
  CHECK(statusOf(other) == "401");
  {
    RawConnection peer(server.port());
    clock->isBroken = true;
    CHECK(statusOf(peer) == "500");
    clock->isBroken = false;
  }
  CHECK(statusOf(other) == "401");
  // The report comes after the answer, and before the next request is read.
  const std::scoped_lock lock(mutex);
  REQUIRE(reported.size() == 1);
  CHECK(reported[0].find("the clock is broken") != std::string::npos);
}

TEST_CASE("P11: an unsigned request that a web page may have made a browser send is refused, on either kind of path") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  InboundHandler handler(manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.allowAnonymous = true});
  InboundServerOptions options;
  options.compatibilityPath = "/message";
  InboundServer server(handler, options);
  const auto statusOf = [&](std::string request, const std::string& what, const std::string& with) {
    const std::size_t at = request.find(what);
    REQUIRE(at != std::string::npos);
    request.replace(at, what.size(), with);
    RawConnection peer(server.port());
    peer.send(request);
    return peer.receiveMessage().substr(9, 3);
  };
  const std::string host = "Host: localhost\r\n";
  CHECK(statusOf(frame("a"), host, host + "Origin: null\r\n") == "403");
  CHECK(statusOf(frame("a"), host, host + "Origin: http://localhost\r\n") == "403");
  CHECK(statusOf(frame("a"), host, host + "Sec-Fetch-Site: same-origin\r\n") == "403");
  CHECK(statusOf(frame("a"), host, "Host: rebound.example:80\r\n") == "403");
  const std::string untyped = R"({"version":"1.0","messageId":"a","type":"EVENT","timestamp":1,"sessionId":"",)"
                              R"("payload":{"event":"said"}})";
  const std::string head = "POST /message HTTP/1.1\r\nHost: localhost\r\n";
  const std::string length = "Content-Length: " + std::to_string(untyped.size()) + "\r\n\r\n" + untyped;
  CHECK(statusOf(head + length, host, host) == "415");
  CHECK(manager.getStats().received == 0);
  CHECK(statusOf(frame("a"), host, "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n") == "200");
  CHECK(statusOf(head + "Content-Type: application/json\r\n" + length, host, host) == "200");
}

TEST_CASE(
    "hostile: requests that nobody waits for any more, while a handler hangs: as limited as connections, 503 beyond") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  std::latch mayEnd(1);
  InboundHandler handler(manager,
                         [&](const InboundFrame&, InboundTransaction&) {
                           mayEnd.wait();
                           return HandlerResult::ack();
                         },
                         {.allowAnonymous = true});
  boost::asio::thread_pool pool(2);
  InboundServerOptions options;
  options.connectionsMax = 2;
  options.requestTimeout = std::chrono::milliseconds(100);
  InboundServer server(pool.get_executor(), handler, options);
  std::vector<std::string> answers;
  for (const char* id : {"a", "b", "c"}) {
    RawConnection peer(server.port());
    peer.send(frame(id));
    answers.push_back(peer.receiveMessage());
  }
  CHECK(answers[1].find("not handled in time") != std::string::npos);
  CHECK(answers[2].find("Too many requests") != std::string::npos);
  mayEnd.count_down();
  // The three requests have ended, so there is room again.
  std::string last;
  while (!last.starts_with("HTTP/1.1 200 ")) {
    RawConnection peer(server.port());
    peer.send(frame("d"));
    last = peer.receiveMessage();
  }
}

TEST_CASE("Servers that end under load, on threads of others and of their own, lose no frame that they took") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  std::atomic<std::uint64_t> handled = 0;
  InboundHandler handler(manager,
                         [&](const InboundFrame&, InboundTransaction&) {
                           ++handled;
                           return HandlerResult::ack();
                         },
                         {.allowAnonymous = true});
  boost::asio::thread_pool pool(3);
  std::atomic<std::uint64_t> acknowledged = 0;
  std::atomic<std::uint64_t> nextId = 0;
  for (int round = 0; round < 20; ++round) {
    InboundServerOptions options;
    options.connectionsMax = 3;
    std::optional<InboundServer> server;
    if (round < 10) {
      server.emplace(pool.get_executor(), handler, options);
    } else {
      server.emplace(handler, options);
    }
    // As many as there are places. The fourth peer, whichever it is, waits outside, or gets the place of a connection
    // between two requests: then all four are answered.
    std::latch warm(3);
    std::atomic<int> answered = 0;
    std::vector<std::thread> peers;
    for (int index = 0; index < 4; ++index) {
      peers.emplace_back([&, port = server->port()] {
        bool isFirst = true;
        try {
          RawConnection peer(port);
          while (true) {
            peer.sendWhileTaken(frame("f" + std::to_string(++nextId)));
            if (peer.receiveMessage().find("\"outcome\":\"ack\"") == std::string::npos) {
              break;
            }
            ++acknowledged;
            if (std::exchange(isFirst, false) && ++answered <= 3) {
              warm.count_down();
            }
          }
        } catch (const std::exception&) {
          // The server ended the connection.
        }
      });
    }
    warm.wait();
    if (round % 2 == 0) {
      server->stop();
    }
    server.reset();
    for (std::thread& peer : peers) {
      peer.join();
    }
  }
  CHECK(acknowledged > 0);
  CHECK(handled >= acknowledged);
  CHECK(manager.getStats().received >= acknowledged);
}

TEST_CASE("On a server's own thread, what comes alone takes effect there, and what comes together on the store's") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  std::map<std::string, std::thread::id> threads;
  std::error_code refusal;
  std::latch begun(1);
  std::latch mayEnd(1);
  InboundHandler handler(manager,
                         [&](const InboundFrame& given, InboundTransaction&) {
                           threads.emplace(given.id, std::this_thread::get_id());
                           if (given.id == "a") {
                             try {
                               manager.drainOnce();
                             } catch (const Error& error) {
                               refusal = error.code();
                             }
                           }
                           if (given.id == "holds") {
                             begun.count_down();
                             mayEnd.wait();
                           }
                           return HandlerResult::ack();
                         },
                         {.allowAnonymous = true});
  const InboundServer server(handler);
  RawConnection first(server.port());
  RawConnection second(server.port());
  RawConnection third(server.port());
  const auto isTaken = [](RawConnection& peer) { return peer.receiveMessage().starts_with("HTTP/1.1 200 "); };
  for (const auto& [peer, id] : {std::pair(&first, "a"), std::pair(&second, "b"), std::pair(&third, "c")}) {
    peer->send(frame(id));
    REQUIRE(isTaken(*peer));
  }
  // Two requests that come while the thread is held are gathered together.
  first.send(frame("holds"));
  begun.wait();
  second.send(frame("x"));
  third.send(frame("y"));
  second.awaitDelivery();
  third.awaitDelivery();
  mayEnd.count_down();
  CHECK(isTaken(first));
  CHECK(isTaken(second));
  CHECK(isTaken(third));
  first.send(twoFrames("of two"));
  CHECK(isTaken(first));

  // As on the store's thread, a call that would wait for this very transaction is refused.
  CHECK(refusal == Errc::wouldDeadlock);
  const std::thread::id own = threads.at("a");
  CHECK(threads.at("b") == own);
  CHECK(threads.at("holds") == own);
  CHECK(threads.at("of two1") != own);
  CHECK(threads.at("x") == threads.at("of two1"));
  CHECK(threads.at("y") == threads.at("of two1"));
}

TEST_CASE(
    "Requests that are sent ahead of their turn are answered in turn, on threads of others and of the server's own") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  InboundHandler handler(manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.allowAnonymous = true});
  boost::asio::thread_pool pool(2);
  InboundServer ofOthers(pool.get_executor(), handler, {});
  InboundServer ofItsOwn(handler, {});
  for (const InboundServer* server : {&ofOthers, &ofItsOwn}) {
    RawConnection peer(server->port());
    const std::string name = std::to_string(server->port());
    peer.send(frame(name + "a") + frame(name + "b") + frame(name + "c"));
    for (const char* each : {"a", "b", "c"}) {
      const std::string message = peer.receiveMessage();
      CHECK(message.starts_with("HTTP/1.1 200 "));
      CHECK(message.find("\"" + name + each + "\"") != std::string::npos);
    }
  }
  CHECK(manager.getStats().received == 6);
}

TEST_CASE("A server's own thread waits for no other connection's lock on the file") {
  const testing::TempDir directory;
  OutboxOptions options = receiver();
  // Longer than the test waits for an answer.
  options.busyTimeout = std::chrono::minutes(1);
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), options);
  InboundHandler handler(manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.allowAnonymous = true});
  const InboundServer server(handler);
  RawConnection peer(server.port());
  RawConnection other(server.port());
  SQLite::Database foreign(directory.file("bob.db").string(), SQLite::OPEN_READWRITE);
  foreign.exec("BEGIN IMMEDIATE");
  peer.send(frame("a"));
  // After the other request, as the thread takes them in order.
  other.send("GET /inbox HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(other.receiveMessage().starts_with("HTTP/1.1 405 "));
  CHECK(manager.getStats().received == 0);
  foreign.exec("ROLLBACK");
  CHECK(peer.receiveMessage().starts_with("HTTP/1.1 200 "));
}

TEST_CASE("A server of its own thread that goes answers what is under way with 503, and its port is free") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  std::latch begun(1);
  std::latch mayEnd(1);
  {
    InboundHandler handler(manager,
                           [&](const InboundFrame& given, InboundTransaction&) {
                             if (given.id == "a01") {
                               begun.count_down();
                               mayEnd.wait();
                             }
                             return HandlerResult::ack();
                           },
                           {.allowAnonymous = true});
    std::optional<InboundServer> server(std::in_place, handler);
    const std::uint16_t port = server->port();
    std::vector<std::unique_ptr<RawConnection>> peers;
    for (int index = 0; index < 50; ++index) {
      peers.push_back(std::make_unique<RawConnection>(port));
      peers.back()->send(twoFrames("a" + std::to_string(index)));
      peers.back()->awaitDelivery();
    }
    begun.wait();
    // When this request gets its answer, all earlier ones have been taken, as one thread takes them.
    peers.push_back(std::make_unique<RawConnection>(port));
    peers.back()->send("GET /inbox HTTP/1.1\r\nHost: localhost\r\n\r\n");
    REQUIRE(peers.back()->receiveMessage().starts_with("HTTP/1.1 405 "));
    peers.pop_back();
    server.reset();
    for (const auto& peer : peers) {
      CHECK(peer->receiveAll().starts_with("HTTP/1.1 503 "));
    }
    InboundServerOptions same;
    same.port = port;
    CHECK_NOTHROW(InboundServer(handler, same));
    CHECK_THROWS_AS(([&] {
                      const InboundServer one(handler, same);
                      const InboundServer two(handler, same);
                    }()),
                    Error);
    mayEnd.count_down();
  }
  CHECK(manager.getStats().received == 100);
}

/// Runs `body` with a handler and a server on the requested kind of thread.
template <typename Body>
void onEitherThread(const Body& body) {
  boost::asio::thread_pool pool(1);
  for (const bool isOwn : {true, false}) {
    CAPTURE(isOwn);
    const testing::TempDir directory;
    std::optional<OutboxManager> manager(OutboxManager::open(directory.file("bob.db"), receiver()));
    std::optional<InboundHandler> handler(
        std::in_place, *manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
        InboundOptions{.allowAnonymous = true});
    std::optional<InboundServer> server(isOwn ? InboundServer(*handler) : InboundServer(pool.get_executor(), *handler));
    body(manager, handler, server);
  }
}

std::string answerTo(const InboundServer& server, const std::string& request) {
  RawConnection peer(server.port());
  peer.send(request);
  return peer.receiveMessage();
}

TEST_CASE("A handler that was moved goes on serving, and so does a server") {
  onEitherThread([](auto& manager, auto& handler, auto& server) {
    InboundHandler moved(std::move(*handler));
    handler.reset();
    CHECK(answerTo(*server, frame("a")).starts_with("HTTP/1.1 200 "));
    const InboundServer movedServer(*std::exchange(server, std::nullopt));
    CHECK(answerTo(movedServer, frame("b")).starts_with("HTTP/1.1 200 "));
    CHECK(manager->getStats().received == 2);
  });
}

TEST_CASE("A handler that goes before its server leaves one that answers 503 with Retry-After, and a free file") {
  onEitherThread([](auto& manager, auto& handler, auto& server) {
    RawConnection peer(server->port());
    peer.send(frame("a"));
    REQUIRE(peer.receiveMessage().starts_with("HTTP/1.1 200 "));
    handler.reset();
    peer.send(frame("b"));
    CHECK(peer.receiveMessage().starts_with("HTTP/1.1 503 "));
    for (const std::string& request : {frame("b"), twoFrames("c")}) {
      const std::string answer = answerTo(*server, request);
      CHECK(answer.starts_with("HTTP/1.1 503 "));
      CHECK(answer.find("\r\nRetry-After: ") != std::string::npos);
    }
    CHECK(manager->getStats().received == 1);
    manager.reset();
    CHECK(answerTo(*server, frame("d")).starts_with("HTTP/1.1 503 "));
  });
}

TEST_CASE("A handler that takes another's place ends, and its server with it") {
  onEitherThread([](auto& manager, auto& handler, auto& server) {
    InboundHandler other(*manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                         {.allowAnonymous = true});
    const InboundServer ofOther(other);
    *handler = std::move(other);
    CHECK(answerTo(*server, frame("a")).starts_with("HTTP/1.1 503 "));
    CHECK(answerTo(ofOther, frame("b")).starts_with("HTTP/1.1 200 "));
  });
}

TEST_CASE("A handler that goes first waits for a frame that is taking effect") {
  const testing::TempDir directory;
  OutboxManager manager = OutboxManager::open(directory.file("bob.db"), receiver());
  std::latch begun(1);
  std::latch mayEnd(1);
  std::atomic<bool> isOver = false;
  std::optional<InboundHandler> handler(
      std::in_place, manager,
      [&](const InboundFrame&, InboundTransaction&) {
        begun.count_down();
        mayEnd.wait();
        isOver = true;
        return HandlerResult::ack();
      },
      InboundOptions{.allowAnonymous = true});
  const InboundServer server(*handler);
  RawConnection peer(server.port());
  peer.send(frame("a"));
  begun.wait();
  std::thread ending([&] {
    handler.reset();
    CHECK(isOver.load());
  });
  mayEnd.count_down();
  CHECK(peer.receiveMessage().starts_with("HTTP/1.1 200 "));
  ending.join();
}

TEST_CASE("A manager that goes before its handler leaves the file open for it") {
  onEitherThread([](auto& manager, auto& handler, auto& server) {
    manager.reset();
    CHECK(answerTo(*server, frame("a")).starts_with("HTTP/1.1 200 "));
    CHECK(answerTo(*server, frame("a")).find("\"duplicate\":true") != std::string::npos);
    server.reset();
    handler.reset();
  });
}

}  // namespace
}  // namespace ackbox::inbound_server_test
