// Goal: the server and the handler behind it end in any order that their contracts allow, at any moment, and no number
// of requests that nobody waits for any more fills the memory. Method: the public facade over real connections; a
// handler in the test's hands holds the store's thread where the test wants it. Meant to run under sanitizers.

#include "ackbox/inbound_server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox {
namespace {

using testing::RawConnection;

std::string frame(const std::string& id) {
  const std::string body =
      R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:agent:alice","type":"test","data":1})";
  return "POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Type: application/cloudevents+json\r\nwebhook-id: " + id +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
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
  // The three of them were let go of, so there is room again.
  std::string last;
  while (!last.starts_with("HTTP/1.1 200 ")) {
    RawConnection peer(server.port());
    peer.send(frame("d"));
    last = peer.receiveMessage();
  }
}

TEST_CASE("Servers that end under load, on threads of their own, answer or cut, and lose no frame that they took") {
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
  for (int round = 0; round < 10; ++round) {
    InboundServerOptions options;
    options.connectionsMax = 3;
    std::optional<InboundServer> server(std::in_place, pool.get_executor(), handler, options);
    // As many as there are places; the fourth peer waits outside, whichever it is.
    std::latch warm(3);
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
            if (std::exchange(isFirst, false)) {
              warm.count_down();
            }
          }
        } catch (const std::exception&) {
          // The connection was ended.
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

}  // namespace
}  // namespace ackbox
