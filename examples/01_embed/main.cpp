#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <future>
#include <iostream>

int main() {
  using namespace ackbox;
  auto bob = OutboxManager::open("bob.db", {.agent = "urn:agent:bob"});
  const auto handle = [](const InboundFrame& frame, InboundTransaction&) {
    std::cout << "bob got " << frame.data << std::endl;
    return HandlerResult::ack();
  };
  InboundHandler handler(bob, handle, {.allowAnonymous = true});
  InboundServer server(handler);

  auto alice = OutboxManager::open("alice.db", {.agent = "urn:agent:alice", .peers = {{.url = server.url()}}});
  alice.setSender(std::make_shared<HttpSender>());
  std::promise<void> done;
  auto subscription = alice.onAcked([&](const AckedEvent&) { done.set_value(); });
  alice.start();
  alice.enqueue("orders", "order.placed", R"({"order": 7})");
  done.get_future().wait();  // It was on disk before enqueue returned; now bob has handled it.
}
