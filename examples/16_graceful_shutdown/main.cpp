// A service that ends well on SIGTERM: it accepts no more requests, lets those under way end, drains its outbox until a
// deadline, and exits with 0. What is not delivered by then waits in the file for the next start.

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

namespace {

using namespace ackbox;
using namespace std::chrono_literals;

/// The service. Everything happens on one `io_context`, but the store's commits.
class Service {
public:
  Service(boost::asio::io_context& context, OutboxManager& outbox, InboundHandler& inbox)
      : outbox_(outbox), server_(context.get_executor(), inbox), signals_(context, SIGTERM, SIGINT), timer_(context) {
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (!error) {
        shutDown();
      }
    });
  }
  [[nodiscard]] std::string url() const { return server_.url(); }

private:
  static constexpr auto kDrain = 1s;  // Below the time that the service manager waits before SIGKILL.

  void shutDown() {
    std::cout << "SIGTERM: no more requests" << std::endl;
    deadline_ = std::chrono::steady_clock::now() + kDrain;
    server_.stop();
    drain();
  }

  void drain() {
    // Idle connections are closed by `stop`, the others behind their answer.
    const bool isClosed = server_.stats().connections == 0;
    // Deferred messages (`sent`) are the peer's by now.
    const Stats stats = outbox_.getStats();
    const bool isDone = isClosed && stats.pending + stats.sending == 0;
    if (!isDone && std::chrono::steady_clock::now() < deadline_) {
      timer_.expires_after(20ms);
      timer_.async_wait([this](boost::system::error_code) { drain(); });
      return;
    }
    outbox_.stop();  // Waits up to `stopTimeout` for requests under way, and puts the rest back without a charge.
    std::cout << (isDone ? "drained" : "the deadline has passed") << std::endl;
  }

  OutboxManager& outbox_;
  InboundServer server_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_;
};

HandlerResult forward(const InboundFrame& frame, InboundTransaction& transaction) {
  transaction.enqueue({.peer = frame.session, .session = "jobs", .type = frame.type, .data = frame.data});
  return HandlerResult::ack();
}

}  // namespace

int main() {
  // Something for the service to do: alice's jobs go through it to bob, and one to carol, who is away.
  auto bob = OutboxManager::open("bob.db", {.agent = "urn:agent:bob"});
  InboundHandler bobInbox(bob, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); },
                          {.allowAnonymous = true});
  const InboundServer bobServer(bobInbox);

  boost::asio::io_context context;
  OutboxOptions options{.agent = "urn:agent:service"};
  options.peers = {{.name = "bob", .url = bobServer.url()}, {.name = "carol", .url = "http://127.0.0.1:1/inbox"}};
  options.log = logToStandardError();
  auto outbox = OutboxManager::open("service.db", options);
  InboundHandler inbox(outbox, forward, {.allowAnonymous = true});
  Service service(context, outbox, inbox);
  outbox.setSender(std::make_shared<HttpSender>());
  outbox.start();

  auto alice = OutboxManager::open("alice.db", {.agent = "urn:agent:alice", .peers = {{.url = service.url()}}});
  alice.setSender(std::make_shared<HttpSender>());
  int acked = 0;
  const Subscription subscription = alice.onAcked([&](const AckedEvent&) {
    if (++acked == 6) {
      std::raise(SIGTERM);  // As `systemctl stop` does.
    }
  });
  alice.start();
  for (int job = 0; job < 5; ++job) {
    alice.enqueue("bob", "job", std::to_string(job));
  }
  alice.enqueue("carol", "job", "5");

  context.run();  // Until nothing is left to do.
  const Stats stats = outbox.getStats();
  std::cout << stats.acked << " delivered, " << stats.pending << " for the next start" << std::endl;
  return stats.acked == 5 && stats.pending == 1 ? 0 : 1;
}
