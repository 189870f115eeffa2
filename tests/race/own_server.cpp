// Goal: a server on a thread of its own may end and come back at any time, with frames that come alone and in crowds.
// Method: two threads enqueue, one of them a frame at a time, while the server is made and destroyed beneath them; at
// the end every frame has taken effect once.

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "race/check.hpp"
#include "support/reserved_port.hpp"
#include "support/temp_dir.hpp"

int main() {
  using namespace ackbox;
  using std::chrono::milliseconds;
  testing::TempDir dir;
  OutboxManager bob = OutboxManager::open(dir.file("bob.db"), {.agent = "urn:agent:bob"});
  std::atomic<unsigned> effects = 0;
  const auto hear = [&](const InboundFrame&, InboundTransaction&) {
    ++effects;
    return HandlerResult::ack();
  };
  InboundHandler handler(bob, hear, {.allowAnonymous = true});
  const testing::ReservedPort port;
  InboundServerOptions same;
  same.port = port.number();
  auto server = std::make_unique<InboundServer>(handler, same);

  OutboxOptions options{.agent = "urn:agent:alice", .peers = {{.name = "bob", .url = server->url()}}};
  options.peerHealth.probeDelays = {milliseconds(1)};
  options.peerHealth.killerThreshold = 0;
  options.retry.delays = {milliseconds(1)};
  OutboxManager alice = OutboxManager::open(dir.file("alice.db"), options);
  alice.setSender(std::make_shared<HttpSender>());
  std::counting_semaphore<> alone(0);
  const Subscription acked = alice.onAcked([&](const AckedEvent& event) {
    if (event.session == "alone") {
      alone.release();
    }
  });
  alice.start();

  constexpr unsigned kAlone = 60;
  constexpr unsigned kCrowd = 200;
  const auto enqueue = [&](const std::string& session) {
    race::check(alice.enqueue({.peer = "bob", .session = session, .type = "race.event"}).isNew(), "an enqueue stores");
  };
  std::thread one([&] {
    for (unsigned number = 0; number < kAlone; ++number) {
      enqueue("alone");
      alone.acquire();
    }
  });
  std::thread many([&] {
    for (unsigned number = 0; number < kCrowd; ++number) {
      enqueue(std::to_string(number % 7));
    }
  });
  for (int round = 0; round < 20; ++round) {
    const unsigned before = effects;
    while (effects < kAlone + kCrowd && effects < before + 5) {
      std::this_thread::yield();
    }
    if (round % 2 == 0) {
      server->stop();
    }
    server.reset();
    server = std::make_unique<InboundServer>(handler, same);
  }
  one.join();
  many.join();
  while (alice.getStats().acked != kAlone + kCrowd) {
    std::this_thread::yield();
  }
  alice.stop();
  race::check(effects == kAlone + kCrowd, "each frame takes effect once");
}
