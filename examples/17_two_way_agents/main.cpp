// Two agents that send to each other, each with one file for both directions. What each side needs:
//
//   agent                 its own URI: the `source` of its frames, and the audience that it accepts
//   peers                 the other, to send to: `url`, `agent` (the other's own URI) and `secrets`
//   InboundOptions::peers the other, to receive from: `agents` (the same URI) and the same `secrets`
//
// Without the second half of either, requests are answered 401, or deferred messages are acknowledged only at their
// `ackTimeout`.

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <semaphore>
#include <string>

#include "reserved_port.hpp"

namespace {

using namespace ackbox;

constexpr int kRallies = 3;

struct Neighbour {
  std::string agent;
  std::string url;
  SecretSource secrets;
};

/// One agent: its file, its inbox and its sender. The members' order is that of their lives.
class Agent {
public:
  Agent(const std::string& name, std::uint16_t port, const Neighbour& other, FrameHandler handler)
      : outbox_(OutboxManager::open(name + ".db", outboxOptions(name, other))),
        inbox_(outbox_, std::move(handler), inboundOptions(other)),
        server_(inbox_, {.port = port}) {
    outbox_.setSender(std::make_shared<HttpSender>());
    outbox_.start();
  }

  OutboxManager& outbox() { return outbox_; }

private:
  static OutboxOptions outboxOptions(const std::string& name, const Neighbour& other) {
    OutboxOptions options{.agent = "urn:agent:" + name};
    options.peers = {{.name = "other", .url = other.url, .agent = other.agent, .secrets = other.secrets}};
    // Whichever starts first finds the other away; then this is how soon it asks again.
    options.peerHealth.probeDelays = {std::chrono::milliseconds(20)};
    return options;
  }
  static InboundOptions inboundOptions(const Neighbour& other) {
    InboundOptions options;
    options.peers = {{.agents = {other.agent}, .secrets = other.secrets}};
    return options;
  }

  OutboxManager outbox_;
  InboundHandler inbox_;
  InboundServer server_;
};

}  // namespace

int main() {
  const ReservedPort alicePort;
  const ReservedPort bobPort;
  // One key for both directions, known to these two agents only; in production a file on each side.
  const SecretSource secrets = SecretSource::fixed({Secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")});
  std::binary_semaphore done(0);

  // Each answers a ball by the next one, in the transaction that takes the ball.
  const auto hit = [](const InboundFrame& frame, InboundTransaction& transaction) {
    const int ball = std::stoi(frame.data);
    transaction.enqueue({.peer = "other",
                         .session = "match",
                         .type = "ball",
                         .data = std::to_string(ball + 1),
                         .correlationId = frame.id});
    return HandlerResult::ack();
  };
  const auto aliceHits = [&](const InboundFrame& frame, InboundTransaction& transaction) {
    std::cout << "alice got " << frame.data << " from " << frame.source << std::endl;
    if (std::stoi(frame.data) < 2 * kRallies) {
      return hit(frame, transaction);
    }
    done.release();
    return HandlerResult::ack();
  };
  Agent alice("alice", alicePort.number(), {"urn:agent:bob", bobPort.url(), secrets}, aliceHits);
  Agent bob("bob", bobPort.number(), {"urn:agent:alice", alicePort.url(), secrets}, hit);

  alice.outbox().enqueue({.peer = "other", .session = "match", .type = "ball", .data = "1"});
  done.acquire();
  alice.outbox().stop();
  bob.outbox().stop();
  const std::uint64_t received = alice.outbox().getStats().received + bob.outbox().getStats().received;
  std::cout << received << " balls" << std::endl;
  return received == 2 * kRallies ? 0 : 1;
}
