// A router: one handler for each type of frame. A quick one answers in the short transaction; a slow one is deferred:
// its frame is kept, worked on off the store's lock, and its effects, its reply and the ACK event commit together.

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_handler.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/outbox_manager.hpp>
#include <ackbox/router.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <string>
#include <vector>

#include "reserved_port.hpp"

namespace {

using namespace ackbox;

struct Order {
  std::string item;
  int count = 0;
};

/// How orders travel: written once, used to enqueue and to handle.
const Codec<Order> kOrder = {.type = "order.placed",
                             .encode =
                                 [](const Order& order) {
                                   return nlohmann::json{{"item", order.item}, {"count", order.count}}.dump();
                                 },
                             .decode =
                                 [](std::string_view text) {
                                   const nlohmann::json json = nlohmann::json::parse(text);
                                   return Order{json.at("item"), json.at("count")};
                                 }};

Router shopRouter() {
  Router router;
  router.on(kOrder, [](const Order& order, const InboundFrame& frame, InboundTransaction& transaction) {
    if (order.count < 1) {
      return HandlerResult::reject("the count is below 1", "bad-count");  // A dead letter at alice.
    }
    SQLite::Statement insert(transaction.database(), "INSERT INTO orders(item, count) VALUES (?, ?)");
    SQLite::bind(insert, order.item, order.count);
    insert.exec();
    transaction.enqueue({.peer = "alice", .type = "order.confirmed", .data = frame.data, .correlationId = frame.id});
    return HandlerResult::ack();
  });
  router.onDeferred("report.wanted", [](DeferredFrame frame) {
    const std::string report = "\"a long report on " + frame.frame().data.substr(1);  // Minutes of work; `progress`.
    frame.commit([frame, report](InboundTransaction& transaction) {
      transaction.enqueue({.peer = "alice", .type = "report.made", .data = report, .correlationId = frame.frame().id});
      return HandlerResult::ack();
    });
  });
  return router;  // Any other type is rejected with code `unknown-type`, see `onUnknown`.
}

}  // namespace

int main() {
  // The shop sends, too (replies and ACK events), so each side knows the other in both directions: 17_two_way_agents.
  const ReservedPort alicePort;
  const ReservedPort shopPort;
  const SecretSource secrets = SecretSource::fixed({Secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")});

  OutboxOptions shopOptions{.agent = "urn:agent:shop"};
  shopOptions.peers = {{.name = "alice", .url = alicePort.url(), .agent = "urn:agent:alice", .secrets = secrets}};
  auto shop = OutboxManager::open("shop.db", shopOptions);
  SQLite::Database("shop.db", SQLite::OPEN_READWRITE, 5000)
      .exec("DROP TABLE IF EXISTS orders; CREATE TABLE orders(item TEXT, count INTEGER)");
  const Router router = shopRouter();
  InboundOptions shopInbound;
  shopInbound.peers = {{.agents = {"urn:agent:alice"}, .secrets = secrets}};
  shopInbound.deferred.handler = router.deferredHandler();  // Forgotten, deferred frames end as dead letters.
  InboundHandler shopInbox(shop, router.frameHandler(), shopInbound);
  InboundServer shopServer(shopInbox, {.port = shopPort.number()});
  shop.setSender(std::make_shared<HttpSender>());

  OutboxOptions aliceOptions{.agent = "urn:agent:alice"};
  aliceOptions.peers = {{.name = "shop", .url = shopPort.url(), .agent = "urn:agent:shop", .secrets = secrets}};
  auto alice = OutboxManager::open("alice.db", aliceOptions);
  std::counting_semaphore<> ended(0);
  const auto read = [&](const InboundFrame& frame, InboundTransaction&) {
    std::cout << frame.type << " " << frame.data << " for " << frame.correlationId << std::endl;
    ended.release();
    return HandlerResult::ack();
  };
  InboundOptions aliceInbound;
  aliceInbound.peers = {{.agents = {"urn:agent:shop"}, .secrets = secrets}};
  InboundHandler aliceInbox(alice, read, aliceInbound);
  InboundServer aliceServer(aliceInbox, {.port = alicePort.number()});
  alice.setSender(std::make_shared<HttpSender>());
  const Subscription acked = alice.onAcked([&](const AckedEvent&) { ended.release(); });
  const Subscription failed = alice.onFailed([&](const FailedEvent& event) {
    std::cout << "given up: " << event.messageId << ", " << event.reason << std::endl;
    ended.release();
  });
  shop.start();
  alice.start();

  // An ACK and a reply; a dead letter; an ACK by event and a reply.
  const auto send = [&](Frame frame, const std::string& id, int ends) {
    frame.peer = "shop";
    frame.id = id;
    alice.enqueue(std::move(frame));
    for (int end = 0; end < ends; ++end) {
      ended.acquire();
    }
  };
  send(kOrder.frame({"lamp", 2}), "order-1", 2);
  send(kOrder.frame({"lamp", 0}), "order-2", 1);
  send({.type = "report.wanted", .data = "\"lamps\""}, "report-1", 2);
  const Stats stats = alice.getStats();
  std::cout << stats.acked << " acknowledged, " << stats.failed << " given up, " << stats.received << " replies"
            << std::endl;
  return stats.acked == 2 && stats.failed == 1 && stats.received == 2 ? 0 : 1;
}
