// Goal: over HTTP, peers are subscribed, and what is published is answered with a message for each of them.
// Method: a daemon with two peers that answer; requests, and what its file says.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::subscriptions_test {
namespace {

using nlohmann::json;
using testing::HttpReply;
using testing::kJson;

struct Stage : testing::ServeStage {
  explicit Stage(const testing::Settings& settings = {}) : ServeStage(settings) {
    asker().ask("PUT", "/v1/peers/carol", json{{"url", carol.url()}}.dump(), kJson);
  }
  int subscribe(const std::string& name, const json& subscription) {
    return asker().ask("PUT", "/v1/subscriptions/" + name, subscription.dump(), kJson).status;
  }
  HttpReply publish(json message) {
    message["peer"] = "*";
    return asker().ask("POST", "/v1/messages", message.dump(), kJson);
  }
  json get(const std::string& target) { return json::parse(asker().ask("GET", target).body); }

  testing::ServedPeer carol;
};

}  // namespace

TEST_CASE("P2: What is published is a message for each subscriber, which is sent, and is shown as any other") {
  Stage stage;
  CHECK(stage.subscribe("bobs", {{"peer", "bob"}}) == 201);
  CHECK(stage.subscribe("carols", {{"peer", "carol"}, {"type", "order.*"}, {"session", "north"}}) == 201);
  const HttpReply reply = stage.publish({{"type", "order.placed"}, {"session", "north"}, {"data", 1}});
  CHECK(reply.status == 201);
  CHECK(reply.header("Location").empty());
  const json published = json::parse(reply.body);
  CHECK(published.at("status") == "stored");
  REQUIRE(published.at("messages").size() == 2);
  CHECK(published["messages"][0].at("peer") == "bob");
  CHECK(published["messages"][1].at("peer") == "carol");
  for (const json& message : published.at("messages")) {
    const json shown = stage.get("/v1/messages/" + message.at("message_id").get<std::string>() + "?wait=30s");
    CHECK(shown.at("state") == "acked");
    CHECK(message.at("sequence") == 1);
  }
  CHECK(json::parse(stage.publish({{"type", "t"}}).body).at("messages").size() == 1);
}

TEST_CASE("P3: What is published to nobody is answered as such") {
  Stage stage;
  const HttpReply reply = stage.publish({{"type", "t"}});
  CHECK(reply.status == 200);
  CHECK(json::parse(reply.body).at("status") == "noSubscriber");
  CHECK(json::parse(reply.body).at("messages").empty());
  CHECK(json::parse(reply.body).at("detail").get<std::string>().find("nothing was stored") != std::string::npos);
}

TEST_CASE("P5: A publish with a key happens once, and the key of a message to one peer is another key") {
  Stage stage;
  stage.subscribe("bobs", {{"peer", "bob"}});
  const json message = {{"type", "t"}, {"data", 1}, {"idempotency_key", "k"}};
  const json first = json::parse(stage.publish(message).body);
  stage.subscribe("carols", {{"peer", "carol"}});
  const HttpReply again = stage.publish(message);
  CHECK(again.status == 200);
  CHECK(json::parse(again.body).at("status") == "duplicate");
  CHECK(json::parse(again.body).at("messages") == first.at("messages"));
  // The id of a CloudEvent is a key as well.
  const std::string event = R"({"specversion":"1.0","id":"e","source":"urn:x","type":"t","peer":"*","data":2})";
  const std::string type = "Content-Type: application/cloudevents+json\r\n";
  CHECK(stage.asker().ask("POST", "/v1/messages", event, type).status == 201);
  CHECK(stage.asker().ask("POST", "/v1/messages", event, type).status == 200);
  // One peer's.
  const auto send = [&](const std::string& peer) {
    return stage.asker().ask("POST", "/v1/messages",
                             json{{"peer", peer}, {"type", "t"}, {"idempotency_key", "own"}}.dump(), kJson);
  };
  CHECK(send("bob").status == 201);
  CHECK(send("*").status == 201);
  CHECK(send("*").status == 200);
}

TEST_CASE("A batch has messages to peers and publishes, in the order of the request") {
  Stage stage;
  stage.subscribe("bobs", {{"peer", "bob"}});
  const json batch = {
      {{"peer", "bob"}, {"type", "t"}}, {{"peer", "*"}, {"type", "t"}}, {{"peer", "bob"}, {"type", "t"}}};
  const HttpReply reply = stage.asker().ask("POST", "/v1/messages", batch.dump(), kJson);
  CHECK(reply.status == 200);
  const json results = json::parse(reply.body).at("results");
  CHECK(results.at(0).at("sequence") == 1);
  CHECK(results.at(1).at("messages").at(0).at("sequence") == 2);
  CHECK(results.at(2).at("sequence") == 3);
}

TEST_CASE("P12: a batch of many publishes keeps its order, and lets other requests have their turn") {
  Stage stage;
  stage.subscribe("bobs", {{"peer", "bob"}});
  json batch = json::array();
  for (int number = 0; number < 1'000; ++number) {
    batch.push_back({{"peer", "*"}, {"type", "t"}, {"session", "s"}, {"data", number}});
  }
  std::atomic<bool> isAnswered = false;
  json results;
  std::thread asking([&] {
    testing::HttpAsker own(stage.server().port());
    results = json::parse(own.ask("POST", "/v1/messages", batch.dump(), kJson).body).at("results");
    isAnswered = true;
  });
  std::vector<std::uint64_t> between;
  while (!isAnswered) {
    const std::string one = json{{"peer", "bob"}, {"type", "t"}, {"session", "s"}}.dump();
    between.push_back(json::parse(stage.asker().ask("POST", "/v1/messages", one, kJson).body).at("sequence"));
  }
  asking.join();
  std::vector<std::uint64_t> published;
  for (const json& result : results) {
    published.push_back(result.at("messages").at(0).at("sequence"));
  }
  REQUIRE(published.size() == 1'000);
  CHECK(std::ranges::is_sorted(published));
  CHECK(std::ranges::any_of(
      between, [&](std::uint64_t sequence) { return sequence > published.front() && sequence < published.back(); }));
}

TEST_CASE("A subscription is shown, changed and removed, goes with its peer, and is refused with what is wrong") {
  Stage stage;
  CHECK(stage.subscribe("all", {{"peer", "carol"}}) == 201);
  CHECK(stage.subscribe("all", {{"peer", "carol"}, {"type", "order.*"}}) == 200);
  CHECK(stage.get("/v1/subscriptions/all").at("type") == "order.*");
  CHECK(stage.get("/v1/subscriptions").at("subscriptions").size() == 1);
  CHECK(stage.subscribe("x", {{"peer", "nobody"}}) == 422);
  CHECK(stage.subscribe("x", {{"type", "t"}}) == 422);
  CHECK(stage.subscribe("x", {{"peer", "bob"}, {"typ", "t"}}) == 422);
  CHECK(stage.subscribe("x", {{"peer", "bob"}, {"type", 1}}) == 422);
  CHECK(stage.subscribe("x", {{"peer", "bob"}, {"type", "*.t"}}) == 422);
  CHECK(stage.subscribe("bobs", {{"peer", "bob"}}) == 201);
  CHECK(stage.asker().ask("DELETE", "/v1/subscriptions/bobs").status == 200);
  CHECK(stage.asker().ask("DELETE", "/v1/subscriptions/bobs").status == 404);
  CHECK(json::parse(stage.asker().ask("DELETE", "/v1/peers/carol").body).at("subscriptions") == 1);
  CHECK(stage.asker().ask("GET", "/v1/subscriptions/all").status == 404);
  CHECK(stage.logged("operation=subscriptions:add").size() == 2);
  CHECK(stage.logged("operation=subscriptions:remove").size() == 1);
}

TEST_CASE("P3: A late subscriber is given what another was sent, once, after a preview, within the caller's limits") {
  Stage stage;
  stage.subscribe("bobs", {{"peer", "bob"}});
  json published;
  for (int index = 0; index < 3; ++index) {
    published = json::parse(stage.publish({{"type", "t"}, {"data", index}}).body);
  }
  stage.get("/v1/messages/" + published["messages"][0].at("message_id").get<std::string>() + "?wait=30s");
  stage.subscribe("carols", {{"peer", "carol"}});
  const auto resend = [&](const std::string& query, const json& choice) {
    return stage.asker().ask("POST", "/v1/messages:resend" + query, choice.dump(), kJson);
  };
  const json choice{{"peer", "bob"}, {"type", "t"}, {"to", "carol"}};
  CHECK(json::parse(resend("?dry_run=true", choice).body).at("count") == 3);
  CHECK(json::parse(stage.get("/v1/messages?peer=carol").dump()).at("messages").empty());
  CHECK(json::parse(resend("", choice).body).at("changed") == 3);
  CHECK(json::parse(resend("", choice).body).at("changed") == 0);
  CHECK(stage.get("/v1/messages?peer=carol").at("messages").size() == 3);
  CHECK(resend("", {{"type", "t"}, {"to", "carol"}}).status == 422);
  CHECK(resend("", {{"peer", "carol"}, {"to", "carol"}}).status == 422);
  const json copy = stage.get("/v1/messages?peer=carol").at("messages").at(0);
  const json shown = stage.get("/v1/messages/" + copy.at("message_id").get<std::string>() + "?data=true");
  CHECK(shown.dump().find(R"("resent_of":")") != std::string::npos);
}

TEST_CASE("A resend that names a peer that the file does not know is refused, before and when it is made") {
  Stage stage;
  const std::string unknown = "the outbox has no peer 'nobody'";
  for (const char* query : {"?dry_run=true", ""}) {
    for (const json& choice : {json{{"peer", "bob"}, {"to", "nobody"}}, json{{"peer", "nobody"}, {"to", "bob"}},
                               json{{"peer", "nobody"}}, json{{"peer", "nobody"}, {"new_ids", true}}}) {
      const auto answer = stage.asker().ask("POST", std::string("/v1/messages:resend") + query, choice.dump(), kJson);
      CHECK(answer.status == 422);
      CHECK(json::parse(answer.body).at("detail") == unknown);
    }
  }
}

TEST_CASE("P3: A name that is empty, as of a variable that was not set, is refused and named, and changes nothing") {
  Stage stage;
  const auto refusal = [&](const char* method, const std::string& target, const json& body) {
    const HttpReply reply = stage.asker().ask(method, target, body.dump(), kJson);
    CHECK_MESSAGE(reply.status == 422, target << " " << body.dump());
    return json::parse(reply.body).at("detail").get<std::string>();
  };
  const auto refuses = [&](const std::string& operation, const std::vector<const char*>& names) {
    for (const char* const name : names) {
      CHECK(refusal("POST", operation, {{name, ""}}) == std::string(name) + " is empty: set it, or leave it out");
    }
  };
  refuses("/v1/messages:resend", {"to", "peer", "type"});
  CHECK(refusal("POST", "/v1/messages:resend", {{"peer", "bob"}, {"to", ""}}).starts_with("to is empty"));
  CHECK(refusal("POST", "/v1/messages:resend", {{"ids", {""}}}).starts_with("ids is empty"));
  refuses("/v1/dead-letters:retry", {"peer", "type", "error"});
  CHECK(refusal("POST", "/v1/messages:mark-failed", {{"ids", {"a"}}, {"reason", ""}}).starts_with("reason is empty"));
  refuses("/v1/inbox:retry", {"source", "mailbox"});
  const json frame{{"source", ""}, {"message_id", "a"}};
  CHECK(refusal("POST", "/v1/inbox:discard", {{"frames", {frame}}}).starts_with("source is empty"));
  for (const char* const field : {"agent", "url"}) {
    json definition{{"url", "http://127.0.0.1:1/"}};
    definition[field] = "";
    CHECK(refusal("PUT", "/v1/peers/dora", definition).find(std::string(field) + ": ") != std::string::npos);
  }
  for (const char* const field : {"peer", "type"}) {
    json subscription{{"peer", "bob"}};
    subscription[field] = "";
    CHECK(refusal("PUT", "/v1/subscriptions/x", subscription).find(field) != std::string::npos);
  }
  CHECK(stage.get("/v1/subscriptions").at("subscriptions").empty());
  CHECK(stage.logged("operated").size() == 1);
  // What has no session, or no error, is chosen by an empty text.
  CHECK(stage.asker().ask("POST", "/v1/dead-letters:retry", R"({"session":"","error_like":""})", kJson).status == 200);
}

TEST_CASE("P5: Acknowledged messages are sent again under new ids, once, after a preview that says what it means") {
  Stage stage;
  const std::string id = "m1";
  const auto post = [&](const std::string& target, const json& body) {
    const auto answer = stage.asker().ask("POST", target, body.dump(), kJson);
    CHECK(answer.status < 300);
    return json::parse(answer.body);
  };
  post("/v1/messages", {{"id", id}, {"peer", "bob"}, {"session", "s"}, {"type", "t"}, {"data", 1}});
  stage.get("/v1/messages/" + id + "?wait=30s");
  const std::string resend = "/v1/messages:resend";
  const std::string kept = post(resend + "?dry_run=true", {{"peer", "bob"}}).at("meaning");
  const std::string renewed = post(resend + "?dry_run=true", {{"peer", "bob"}, {"new_ids", true}}).at("meaning");
  CHECK(kept.find("keeps its id") != std::string::npos);
  CHECK(renewed.find("takes effect again") != std::string::npos);
  CHECK(post(resend, {{"peer", "bob"}, {"new_ids", true}}).at("changed") == 1);
  CHECK(post(resend, {{"ids", json::array({id, "none"})}, {"new_ids", true}}).at("changed") == 0);
  CHECK(stage.asker().ask("POST", resend, R"({"all":true,"new_ids":"yes"})", kJson).status == 422);
  const json messages = stage.get("/v1/messages?peer=bob&session=s").at("messages");
  REQUIRE(messages.size() == 2);
  CHECK(messages.at(0).at("message_id") == id);
  CHECK(messages.at(1).at("sequence") == 2);
  const std::string copy = messages.at(1).at("message_id");
  CHECK(stage.get("/v1/messages/" + copy + "?data=true").dump().find(R"("resent_of":"m1")") != std::string::npos);
  CHECK(post(resend, {{"ids", json::array({id})}, {"new_ids", false}}).at("changed") == 1);
}

TEST_CASE("P3: a full outbox refuses a resend as it refuses an enqueue, and tells what was stored before") {
  Stage stage(testing::Settings{{"outbox.max_pending", "2"}});
  for (const char* id : {"m1", "m2", "m3"}) {
    const json message{{"id", id}, {"peer", "bob"}, {"type", "t"}};
    CHECK(stage.asker().ask("POST", "/v1/messages", message.dump(), kJson).status == 201);
    CHECK(stage.get("/v1/messages/" + std::string(id) + "?wait=30s").at("state") == "acked");
  }
  stage.asker().ask("POST", "/v1/peers/bob:pause");
  const auto refused = [&](const json& choice) {
    const HttpReply reply = stage.asker().ask("POST", "/v1/messages:resend", choice.dump(), kJson);
    CHECK(reply.status == 429);
    CHECK(reply.header("Retry-After") == "1");
    CHECK(json::parse(reply.body).at("title") == "queueFull");
    return json::parse(reply.body).at("detail").get<std::string>();
  };
  const std::string cause = "maxPending = 2 is reached: try again later; the same request goes on from there";
  CHECK(refused({{"ids", {"m1", "m2", "m3"}}, {"new_ids", true}}) == "2 were changed, then: " + cause);
  CHECK(refused({{"peer", "bob"}, {"new_ids", true}}) == cause);
  CHECK(refused({{"peer", "bob"}, {"to", "carol"}}) == cause);
  CHECK(stage.logged("operation=messages:resend").front().find("changed=2") != std::string::npos);
  stage.asker().ask("POST", "/v1/peers/bob:resume");
  const json copies = stage.get("/v1/messages?peer=bob&newest=true&limit=2").at("messages");
  for (const json& copy : copies) {
    stage.get("/v1/messages/" + copy.at("message_id").get<std::string>() + "?wait=30s");
  }
  const HttpReply rest = stage.asker().ask("POST", "/v1/messages:resend", R"({"peer":"bob","new_ids":true})", kJson);
  CHECK(json::parse(rest.body).at("changed") == 1);
}

}  // namespace ackbox::serve::subscriptions_test
