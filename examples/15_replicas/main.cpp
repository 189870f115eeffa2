// Two replicas of a service on one file: both take requests, both send. One is killed in the middle and started again;
// nothing is lost, nothing happens twice, and each session keeps its order. What it had in flight, the other sends.

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "reserved_port.hpp"

namespace {

using namespace ackbox;
using namespace std::chrono_literals;

constexpr int kOrders = 200;

/// A replica: passes each order on to the warehouse, in the transaction that takes it.
[[noreturn]] void serve(std::uint16_t port, const std::string& warehouseUrl) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // For this example: ends with its parent.
  OutboxOptions options{.agent = "urn:agent:shop", .peers = {{.name = "warehouse", .url = warehouseUrl}}};
  // The same file and agent in each replica. A local disk: the locks on it show which replica is alive.
  auto shop = OutboxManager::open("shop.db", options);
  const auto passOn = [](const InboundFrame& frame, InboundTransaction& transaction) {
    transaction.enqueue({.peer = "warehouse", .session = frame.session, .type = frame.type, .data = frame.data});
    return HandlerResult::ack();
  };
  InboundHandler inbox(shop, passOn, {.allowAnonymous = true});
  const InboundServer server(inbox, {.port = port});
  shop.setSender(std::make_shared<HttpSender>());
  shop.start();
  for (;;) {
    pause();
  }
}

/// This program as a replica, in a process of its own.
class Replica {
public:
  Replica(std::string program, std::string port, std::string warehouseUrl) {
    std::array<char*, 4> arguments = {program.data(), port.data(), warehouseUrl.data(), nullptr};
    if (posix_spawn(&process_, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + program);
    }
  }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  /// With SIGKILL: an end by force is as good as any other.
  ~Replica() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

private:
  pid_t process_ = 0;
};

HandlerResult store(const InboundFrame& frame, InboundTransaction& transaction) {
  SQLite::Statement insert(transaction.database(), "INSERT INTO orders(session, number) VALUES (?, ?)");
  SQLite::bind(insert, frame.session, std::stoi(frame.data));
  insert.exec();
  return HandlerResult::ack();
}

}  // namespace

int main(int argumentCount, char** argumentValues) {
  if (argumentCount > 2) {
    serve(static_cast<std::uint16_t>(std::stoi(argumentValues[1])), argumentValues[2]);
  }
  auto warehouse = OutboxManager::open("warehouse.db", {.agent = "urn:agent:warehouse"});
  SQLite::Database orders("warehouse.db", SQLite::OPEN_READWRITE, 5000);
  orders.exec("DROP TABLE IF EXISTS orders; CREATE TABLE orders(id INTEGER PRIMARY KEY, session TEXT, number INTEGER)");
  InboundHandler inbox(warehouse, store, {.allowAnonymous = true});
  const InboundServer server(inbox);

  const ReservedPort firstPort;
  const ReservedPort secondPort;
  const auto start = [&](const ReservedPort& port) {
    return std::make_unique<Replica>(argumentValues[0], std::to_string(port.number()), server.url());
  };
  std::unique_ptr<Replica> first = start(firstPort);
  const std::unique_ptr<Replica> second = start(secondPort);

  OutboxOptions options{.agent = "urn:agent:alice"};
  options.peers = {{.name = "first", .url = firstPort.url()}, {.name = "second", .url = secondPort.url()}};
  options.peerHealth.probeDelays = {20ms};
  options.log = [](const LogRecord&) {};
  auto alice = OutboxManager::open("alice.db", options);
  alice.setSender(std::make_shared<HttpSender>());
  alice.start();
  boost::asio::io_context context;
  const auto awaitAtWarehouse = [&](std::uint64_t count) {
    while (warehouse.getStats().received < count) {
      boost::asio::steady_timer(context, 5ms).wait();
    }
  };
  for (int order = 0; order < kOrders; ++order) {
    const std::string peer = order % 2 == 0 ? "first" : "second";
    alice.enqueue({.peer = peer, .session = "by " + peer, .type = "order", .data = std::to_string(order)});
    if (order == kOrders / 4) {
      awaitAtWarehouse(kOrders / 8);
    } else if (order == kOrders / 2) {
      first.reset();
      std::cout << "one replica is killed" << std::endl;
    }
  }
  awaitAtWarehouse(kOrders / 2);  // What the other takes alone.
  first = start(firstPort);       // As its supervisor does.
  awaitAtWarehouse(kOrders);

  const int different = orders.execAndGet("SELECT count(DISTINCT number) FROM orders");
  const int all = orders.execAndGet("SELECT count(*) FROM orders");
  const int misplaced = orders.execAndGet(
      "SELECT count(*) FROM (SELECT number < lag(number) OVER (PARTITION BY session ORDER BY id) AS back FROM orders)"
      " WHERE back");
  std::cout << different << " of " << kOrders << " orders, " << all - different << " twice, " << misplaced
            << " out of order" << std::endl;
  return different == kOrders && all == kOrders && misplaced == 0 ? 0 : 1;
}
