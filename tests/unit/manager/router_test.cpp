// Goal: frames find their handler by type, inbound and in a local sink; what has no handler, or cannot be read, gets
// the answer that the router was told to give. Method: a router in front of a real inbound handler, and as the sender
// of a real outbox.

#include "ackbox/router.hpp"
#include "ackbox/inbound_handler.hpp"

#include <doctest/doctest.h>

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/inbound_request.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::router_test {
namespace {

using nlohmann::json;

struct Order {
  int number = 0;
};

Codec<Order> orderCodec() {
  return {.type = "com.example.order",
          .encode =
              [](const Order& order) {
                return json{{"number", order.number}}.dump();
              },
          .decode = [](std::string_view data) { return Order{json::parse(data).at("number").get<int>()}; }};
}

FrameHandler answering(const std::string& name) {
  return [name](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack("\"" + name + "\""); };
}

/// An inbound handler behind a router.
struct Receiver {
  explicit Receiver(const Router& router) : manager(OutboxManager::open(dir.file("bob.db"))) {
    InboundOptions options;
    options.allowAnonymous = true;
    options.deferred.handler = router.deferredHandler();
    options.deferred.retry.maxRetries = 0;
    handler.emplace(manager, router.frameHandler(), options);
  }
  json ask(const std::string& type, const std::string& data = "{}", const std::string& id = "e") {
    const InboundRequest request = {
        "application/cloudevents+json",
        R"({"specversion":"1.0","source":"urn:x","id":")" + id + R"(","type":")" + type + R"(","data":)" + data +
            // In sessions of their own, whose rejections are remembered.
            R"(,"sessionid":")" + id +
            R"(","sessionorigin":"o","sessionepoch":"1","sessionseq":"1","sessionprev":"0"})",
        "w"};
    return json::parse(testing::answerTo(*handler, request).body)["results"][0];
  }
  json askAgain(const std::string& type, const std::string& data = "{}") {
    while (manager.getStats().inbox > 0) {
      std::this_thread::yield();
    }
    return ask(type, data);
  }

  testing::TempDir dir;
  OutboxManager manager;
  std::optional<InboundHandler> handler;
};

TEST_CASE("row 18: the exact type goes before the longest beginning") {
  Router router;
  router.on("com.example.order", answering("exact"))
      .on("com.example.*", answering("example"))
      .on("com.*", answering("com"));
  Receiver bob(router);
  CHECK(bob.ask("com.example.order", "{}", "1")["result"] == "exact");
  CHECK(bob.ask("com.example.order.placed", "{}", "2")["result"] == "example");
  CHECK(bob.ask("com.other", "{}", "3")["result"] == "com");
  router.on("*", answering("all"));
  Receiver carol(router);
  CHECK(carol.ask("org.example", "{}", "4")["result"] == "all");
  // What was taken before is not touched by later registrations.
  CHECK(bob.ask("org.example", "{}", "5")["code"] == "unknown-type");
}

TEST_CASE("row 18: an unknown type is rejected by default, or as onUnknown says") {
  Router router;
  router.on("known", answering("known"));
  CHECK(Receiver(router).ask("unknown")["outcome"] == "term");
  CHECK(Receiver(router).ask("unknown")["code"] == "unknown-type");
  router.onUnknown([](std::string_view type) { return HandlerResult::notNow("soon: " + std::string(type)); });
  const json word = Receiver(router).ask("unknown");
  CHECK(word["outcome"] == "nack");
  CHECK(word["detail"] == "soon: unknown");
}

TEST_CASE(
    "row 18, row 19: a codec decodes for the handler; what it cannot read is rejected, or as onUndecodable says") {
  int seen = 0;
  Router router;
  router.on(orderCodec(), [&](const Order& order, const InboundFrame& frame, InboundTransaction&) {
    CHECK(frame.type == "com.example.order");
    seen = order.number;
    return HandlerResult::ack();
  });
  const Frame frame = orderCodec().frame({7});
  CHECK(Receiver(router).ask(frame.type, frame.data)["outcome"] == "ack");
  CHECK(seen == 7);
  const json word = Receiver(router).ask(frame.type, "{\"secret\":1}");
  CHECK(word["outcome"] == "term");
  CHECK(word["code"] == "undecodable");
  CHECK(word.dump().find("secret") == std::string::npos);
  router.onUndecodable([](std::string_view type, std::string_view why) {
    CHECK_FALSE(why.empty());
    return HandlerResult::ack("\"ignored " + std::string(type) + "\"");
  });
  CHECK(Receiver(router).ask(frame.type, "{}")["result"] == "ignored com.example.order");
}

TEST_CASE("deferred handlers by type: worked on later, decoded, and rejected when they cannot be read") {
  std::promise<int> seen;
  Router router;
  router.onDeferred(orderCodec(), [&](const Order& order, DeferredFrame frame) {
    seen.set_value(order.number);
    frame.finish(HandlerResult::ack("1"));
  });
  CHECK(static_cast<bool>(router.deferredHandler()));
  Receiver bob(router);
  CHECK(bob.ask("com.example.order", "{\"number\":9}")["outcome"] == "defer");
  CHECK(seen.get_future().get() == 9);
  CHECK(bob.askAgain("com.example.order", "{\"number\":9}")["result"] == 1);
  Receiver carol(router);
  CHECK(carol.ask("com.example.order", "[]")["outcome"] == "defer");
  CHECK(carol.askAgain("com.example.order", "[]")["code"] == "undecodable");
  CHECK_FALSE(static_cast<bool>(Router().deferredHandler()));
}

TEST_CASE("a frame that was deferred for a handler that a later version lacks gets that version's answer") {
  const testing::TempDir dir;
  OutboxManager manager = OutboxManager::open(dir.file("bob.db"));
  InboundOptions options;
  options.allowAnonymous = true;
  options.deferred.handler = [](DeferredFrame frame) {
    while (!frame.stopRequested()) {
      std::this_thread::yield();
    }
  };
  const auto ask = [](InboundHandler& handler) {
    const InboundRequest request = {"application/cloudevents+json",
                                    R"({"specversion":"1.0","id":"e","source":"urn:x","type":"old"})", "w"};
    return json::parse(testing::answerTo(handler, request).body)["results"][0];
  };
  {
    Router old;
    old.onDeferred("old", options.deferred.handler);
    InboundHandler handler(manager, old.frameHandler(), options);
    CHECK(ask(handler)["outcome"] == "defer");
  }
  Router newer;
  newer.onDeferred("new", [](const DeferredFrame&) {});
  options.deferred.handler = newer.deferredHandler();
  InboundHandler handler(manager, newer.frameHandler(), options);
  while (manager.getStats().inbox > 0) {
    std::this_thread::yield();
  }
  CHECK(ask(handler)["code"] == "unknown-type");
}

TEST_CASE("row 18: frames are relayed by type into local functions, and each outcome is the message's") {
  const testing::TempDir dir;
  OutboxOptions options;
  options.retry.delays = {std::chrono::milliseconds(0)};
  OutboxManager manager = OutboxManager::open(dir.file("alice.db"), options);
  std::vector<int> orders;
  Router router;
  router
      .onLocal(orderCodec(),
               [&](const Order& order, const OutboundFrame&) {
                 orders.push_back(order.number);
                 return HandlerResult::ack("{\"kept\":true}");
               })
      .onLocal("later", [&](const OutboundFrame& frame) {
        return frame.retryCount == 0 ? HandlerResult::notNow("once more") : HandlerResult::ack();
      });
  std::vector<std::string> results;
  const Subscription acked = manager.onAcked([&](const AckedEvent& event) { results.push_back(event.result); });
  manager.setSender(router.sender());
  const auto enqueue = [&](const std::string& session, const std::string& type, const std::string& data) {
    return manager.enqueue(session, type, data).messageId;
  };
  Frame order = orderCodec().frame({1});
  order.session = "a";
  manager.enqueue(order);
  const std::string broken = enqueue("a", order.type, "[]");
  enqueue("a", order.type, "{\"number\":2}");
  const std::string unknown = enqueue("b", "nobody.knows", "1");
  enqueue("c", "later", "1");
  while (manager.getStats().pending > 0) {
    manager.drainOnce();
  }
  CHECK(orders == std::vector<int>{1, 2});
  CHECK(manager.getStats().acked == 3);
  CHECK(manager.getStats().totalRetries == 1);
  CHECK(manager.find(broken)->reason == "undecodable");
  CHECK(manager.find(unknown)->reason == "unknown-type");
  CHECK(results.at(0) == "{\"kept\":true}");
}

TEST_CASE("a pattern that could match nothing, or an empty handler, is refused when it is registered") {
  Router router;
  CHECK_THROWS_AS(router.on("", answering("x")), Error);
  CHECK_THROWS_AS(router.on("com.*.order", answering("x")), Error);
  CHECK_THROWS_AS(router.on("x", FrameHandler()), Error);
  CHECK_THROWS_AS(router.onDeferred("x", DeferredHandler()), Error);
  CHECK_THROWS_AS(router.onLocal("x", LocalHandler()), Error);
}

}  // namespace
}  // namespace ackbox::router_test
