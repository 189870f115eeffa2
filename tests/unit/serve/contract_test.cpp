// Goal: proto/serve.openapi.json is what the server does: the same operations, roles and parameters, and each answer as
// described. Method: drive every operation of the document against a daemon and check each answer against its schema;
// compare the document with the table of operations.

#include <doctest/doctest.h>

#include <SQLiteCpp/Database.h>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "serve/api/operations.hpp"
#include "unit/serve/schema_check.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::contract_test {
namespace {

using nlohmann::json;
using testing::checkSchema;
using testing::HttpAsker;
using testing::HttpReply;
using testing::kJson;
using testing::openApi;
using testing::resolved;
using testing::ServeStage;
using testing::Settings;
using testing::StreamReader;

const std::string kEvent = "Content-Type: application/cloudevents+json\r\n";

std::string lower(std::string text) {
  for (char& letter : text) {
    letter = static_cast<char>(letter | 0x20);
  }
  return text;
}

/// Asks a daemon by the document's names, and checks what comes back.
class Driver {
public:
  explicit Driver(ServeStage& stage) : stage_(stage), asker_(stage.asker()) {}

  /// `path` is as in the document; `target` what to ask.
  json drive(const std::string& method, const std::string& path, const std::string& target, int status,
             const std::string& body = {}, const std::string& headers = {}) {
    INFO(method << " " << target);
    const HttpReply reply = asker_.ask(method, target, body, headers);
    INFO(reply.body);
    CHECK(reply.status == status);
    const json& operation = openApi().at("paths").at(path).at(lower(method));
    driven_.insert(method + " " + path + " " + std::to_string(reply.status));
    const json& response = resolved(operation.at("responses").at(std::to_string(reply.status)));
    const std::string type = reply.header("Content-Type");
    const json& content = response.at("content").at(type.substr(0, type.find(';')));
    if (type.starts_with("text/plain")) {
      return reply.body;
    }
    json answer = json::parse(reply.body);
    for (const std::string& finding : checkSchema(content.at("schema"), answer)) {
      FAIL_CHECK(finding);
    }
    return answer;
  }

  /// The same of an answer that goes on.
  StreamReader open(const std::string& path, const std::string& target, const std::string& type) {
    StreamReader reader(stage_.server().port(), target);
    CHECK(reader.status() == 200);
    CHECK(reader.head().find("Content-Type: " + type + "\r\n") != std::string::npos);
    driven_.insert("GET " + path + " 200");
    CHECK(openApi().at("paths").at(path).at("get").at("responses").at("200").at("content").contains(type));
    return reader;
  }

  /// Checks a value that comes by another way.
  static void check(const std::string& schema, const json& value) {
    INFO(value.dump());
    for (const std::string& finding : checkSchema({{"$ref", "#/components/schemas/" + schema}}, value)) {
      FAIL_CHECK(finding);
    }
  }

  [[nodiscard]] const std::set<std::string>& driven() const { return driven_; }

private:
  ServeStage& stage_;
  HttpAsker asker_;
  std::set<std::string> driven_;
};

std::vector<std::string> rolesOf(const Operation& operation) {
  std::vector<std::string> names;
  for (const Role role : {Role::read, Role::operate, Role::send, Role::receive, Role::mailbox}) {
    if (operation.roles.has(role)) {
      names.emplace_back(toString(role));
    }
  }
  return names;
}

}  // namespace

TEST_CASE("The document has the operations of the table, with their roles, and no others") {
  std::size_t described = 0;
  for (const auto& [path, methods] : openApi().at("paths").items()) {
    described += methods.size();
  }
  CHECK(described == operations().size());
  for (const Operation& operation : operations()) {
    INFO(operation.method << " " << operation.path);
    const json& entry = openApi().at("paths").at(std::string(operation.path)).at(lower(std::string(operation.method)));
    CHECK(entry.at("x-roles").get<std::vector<std::string>>() == rolesOf(operation));
    CHECK(entry.contains("requestBody") == (operation.bodyBytesMax > 0));
  }
}

TEST_CASE("Every operation of the document answers as it says") {
  ServeStage stage(Settings{{"outbox.frame_bytes_max", "1000"},
                            {"inbox", R"({"listen":"127.0.0.1:0","allow_anonymous":true,"pull":["*"]})"}});
  Driver driver(stage);
  const std::string messages = "/v1/messages";
  const std::string one = "/v1/messages/{id}";

  // Enqueues.
  const json first =
      driver.drive("POST", messages, messages, 201, R"({"peer":"bob","type":"t","data":{"a":1}})", kJson);
  const std::string id = first.at("message_id");
  const std::string key = kJson + "Idempotency-Key: \"k-1\"\r\n";
  driver.drive("POST", messages, messages, 201, R"({"peer":"away","type":"t","data":1})", key);
  driver.drive("POST", messages, messages, 200, R"({"peer":"away","type":"t","data":1})", key);
  driver.drive("POST", messages, messages, 409, R"({"peer":"away","type":"t","data":2})", key);
  driver.drive("POST", messages, messages + "?peer=bob&type=t", 200, R"([{"data":1},{"data":2}])", kJson);
  driver.drive("POST", messages, messages + "?type=t", 207, R"([{"peer":"bob"},{"peer":"nobody"}])", kJson);
  driver.drive("POST", messages, messages, 201,
               R"({"specversion":"1.0","id":"ce-1","source":"/s","type":"t","peer":"bob"})", kEvent);
  driver.drive("POST", messages, messages, 413, R"({"peer":"bob","type":"t","data":")" + std::string(2000, 'x') + "\"}",
               kJson);
  driver.drive("POST", messages, messages, 422, R"({"peer":"nobody","type":"t"})", kJson);

  // What became of them.
  const json acked = driver.drive("GET", one, messages + "/" + id + "?wait=10s&data=true", 200);
  CHECK(acked.at("state") == "acked");
  driver.drive("GET", one, messages + "/none", 404);
  driver.drive("GET", one, messages + "/none?wait=tomorrow", 422);
  driver.drive("POST", messages, messages, 201, R"({"peer":"bob","type":"bad","id":"bad-1"})", kJson);
  CHECK(driver.drive("GET", one, messages + "/bad-1?wait=10s", 200).at("state") == "failed");
  CHECK(driver.drive("GET", messages, messages + "?state=failed&peer=bob", 200).at("messages").size() == 1);

  // Figures.
  driver.drive("GET", "/v1/stats", "/v1/stats", 200);
  driver.drive("GET", "/v1/peers", "/v1/peers", 200);
  driver.drive("GET", "/v1/sessions", "/v1/sessions?all=true&limit=2", 200);
  driver.drive("GET", "/v1/inbox", "/v1/inbox?state=waiting", 200);

  // Streams.
  const std::string inbox = stage.server().inboxUrl();
  HttpAsker sender(static_cast<std::uint16_t>(std::stoi(inbox.substr(inbox.rfind(':') + 1))));
  const auto send = [&](const std::string& event) { CHECK(sender.ask("POST", "/inbox", event, kEvent).status == 202); };
  StreamReader frames = driver.open("/v1/inbox/stream", "/v1/inbox/stream?window=2", "application/x-ndjson");
  send(
      R"({"specversion":"1.0","id":"in-1","source":"/s","type":"t","data":{"a":1},"correlationid":"c","resentof":"r"})");
  const json frame = json::parse(frames.line());
  driver.check("PulledFrame", frame);
  const std::string settle = "/v1/inbox/settle";
  const json settlements = {
      {"settlements",
       json::array({{{"receipt", frame.at("receipt")}, {"outcome", "ack"}, {"result", {{"b", 2}}}},
                    {{"receipt", frame.at("receipt")}, {"outcome", "retry"}, {"reason", "r"}, {"after", "5s"}}})}};
  driver.check("Settlements", settlements);
  driver.drive("POST", settle, settle, 200, settlements.dump(), kJson);
  driver.drive("POST", settle, settle, 422, "{}", kJson);
  for (const char* const more : {"in-2", "in-3", "in-4", "in-5"}) {
    send(R"({"specversion":"1.0","source":"/s","type":"t","data":1,"id":")" + std::string(more) + "\"}");
  }
  static_cast<void>(frames.line());
  driver.drive("POST", "/v1/inbox/take", "/v1/inbox/take?max=1", 200);
  driver.drive("POST", "/v1/inbox/take", "/v1/inbox/take?max=0", 422);
  const std::string runAgain = "/v1/inbox:retry";
  const std::string giveUp = "/v1/inbox:discard";
  CHECK(driver.drive("POST", runAgain, runAgain + "?dry_run=true", 200, R"({"source":"/s"})", kJson).at("count") >= 1);
  driver.drive("POST", runAgain, runAgain, 200, R"({"all":true})", kJson);
  driver.drive("POST", giveUp, giveUp, 200, R"({"all":true,"reason":"gone"})", kJson);
  driver.drive("POST", giveUp, giveUp, 422, R"({"reason":"gone"})", kJson);
  // Readers differ in which of two equal keys counts: no row is chosen by such a text.
  for (const char* const doubled :
       {R"({"source":"/s","source":"/other"})", R"({"frames":[{"source":"/s","message_id":"a","message_id":"b"}]})"}) {
    const json refusal = driver.drive("POST", giveUp, giveUp, 422, doubled, kJson);
    CHECK(refusal.at("detail").get<std::string>().find("twice") != std::string::npos);
  }
  StreamReader events = driver.open("/v1/events", "/v1/events", "text/event-stream");
  CHECK(events.line() == "event: figures");
  const json figures = json::parse(events.line().substr(std::string("data: ").size()));
  driver.check("Figures", figures);
  json stats = figures;
  stats.erase("peers");
  driver.check("Stats", stats);
  driver.drive("POST", "/v1/peers/{peer}:pause", "/v1/peers/away:pause", 200);
  std::string record = events.line();
  while (!record.starts_with("data: {\"at\":")) {
    record = events.line();
  }
  driver.check("LogRecord", json::parse(record.substr(std::string("data: ").size())));

  // Dead letters.
  const std::string retry = "/v1/dead-letters:retry";
  const std::string discard = "/v1/dead-letters:discard";
  driver.drive("GET", "/v1/dead-letters", "/v1/dead-letters?reason=rejected&older_than=0s", 200);
  const json preview = driver.drive("POST", retry, retry + "?dry_run=true", 200, R"({"reason":"rejected"})", kJson);
  CHECK(preview.at("count") == 1);
  CHECK(driver.drive("POST", retry, retry, 200, R"({"reason":"rejected"})", kJson).at("changed") == 1);
  CHECK(driver.drive("GET", one, messages + "/bad-1?wait=10s", 200).at("state") == "failed");
  const json change = driver.drive("POST", discard, discard, 200, R"({"ids":["bad-1","none"]})", kJson);
  CHECK(change.at("changed") == 1);
  driver.drive("POST", discard, discard, 422, R"({})", kJson);
  driver.drive("GET", "/v1/dead-letters", "/v1/dead-letters?older_than=long", 422);
  driver.drive("POST", discard, discard + "?wait=31s", 422, R"({"all":true})", kJson);
  {
    // While another process writes.
    SQLite::Database other(stage.path("agent.db"), SQLite::OPEN_READWRITE);
    other.exec("BEGIN IMMEDIATE");
    const json begun = driver.drive("POST", retry, retry + "?wait=0ms", 202, R"({"all":true})", kJson);
    CHECK(begun.at("state") == "running");
    other.exec("ROLLBACK");
    const std::string place = "/v1/operations/" + begun.at("id").dump();
    while (driver.drive("GET", "/v1/operations/{id}", place, 200).at("state") != "done") {
    }
  }
  driver.drive("GET", "/v1/operations/{id}", "/v1/operations/" + change.at("id").dump(), 200);
  driver.drive("GET", "/v1/operations/{id}", "/v1/operations/99", 404);

  // Acknowledged messages.
  const std::string resend = "/v1/messages:resend";
  const std::string all = R"({"since":"2000-01-01T00:00:00Z","before":"2000-01-02T00:00:00Z"})";
  CHECK(driver.drive("POST", resend, resend + "?dry_run=true", 200, R"({"all":true})", kJson).at("count") != 0);
  CHECK(driver.drive("POST", resend, resend, 200, all, kJson).at("changed") == 0);
  CHECK(driver.drive("POST", resend, resend, 200, R"({"ids":["none"]})", kJson).at("changed") == 0);
  driver.drive("POST", resend, resend, 422, R"({"since":"yesterday"})", kJson);
  driver.drive("POST", resend, resend, 422, R"({"reason":"x"})", kJson);
  driver.drive("POST", resend, resend, 422, R"({"to":"bob","all":true})", kJson);
  driver.drive("POST", resend, resend, 422, R"({"peer":"bob","to":"nobody"})", kJson);
  // Pending messages become dead letters.
  const std::string mark = "/v1/messages:mark-failed";
  driver.drive("POST", "/v1/peers/{peer}:pause", "/v1/peers/bob:pause", 200);
  driver.drive("POST", "/v1/messages", "/v1/messages", 201, R"({"id":"stuck","peer":"bob","type":"t"})", kJson);
  const std::string stuck = R"({"ids":["stuck","none"],"reason":"not-needed"})";
  CHECK(driver.drive("POST", mark, mark + "?dry_run=true", 200, stuck, kJson).at("count") == 1);
  CHECK(driver.drive("POST", mark, mark, 200, stuck, kJson).at("changed") == 1);
  CHECK(driver.drive("GET", "/v1/messages/{id}", "/v1/messages/stuck", 200).at("reason") == "not-needed");
  CHECK(driver.drive("POST", mark, mark, 200, stuck, kJson).at("changed") == 0);
  driver.drive("POST", mark, mark, 422, R"({"state":"acked"})", kJson);
  driver.drive("POST", mark, mark, 422, R"({"ids":["stuck"],"peer":"bob"})", kJson);
  driver.drive("POST", "/v1/dead-letters:discard", "/v1/dead-letters:discard", 200, R"({"ids":["stuck"]})", kJson);
  driver.drive("POST", "/v1/peers/{peer}:resume", "/v1/peers/bob:resume", 200);
  driver.drive("GET", "/v1/messages", "/v1/messages?since=2h", 422);
  driver.drive("GET", "/v1/messages", "/v1/messages?newest=true&limit=1", 200);
  CHECK(driver.drive("GET", "/v1/messages", "/v1/messages?before=2000-01-01T00:00:00Z", 200).at("messages").empty());

  // Holds.
  for (const std::string verb : {"pause", "resume"}) {
    const json changed = driver.drive("POST", "/v1/peers/{peer}:" + verb, "/v1/peers/bob:" + verb, 200);
    CHECK(changed.at("changed") == true);
    driver.drive("POST", "/v1/peers/{peer}:" + verb, "/v1/peers/nobody:" + verb, 404);
    driver.drive("POST", "/v1/sessions/{peer}/{session}:" + verb, "/v1/sessions/bob/s%2F1:" + verb, 200);
  }

  // Peers that are added.
  const std::string peer = "/v1/peers/{peer}";
  driver.drive("PUT", peer, "/v1/peers/carol", 201, R"({"url":"http://127.0.0.1:1/inbox"})", kJson);
  driver.drive("PUT", peer, "/v1/peers/carol", 200, R"({"url":"http://127.0.0.1:1/inbox","max_requests":1})", kJson);
  driver.drive("PUT", peer, "/v1/peers/carol", 422, R"({"url":1})", kJson);
  CHECK(driver.drive("GET", peer, "/v1/peers/carol", 200).at("definition").at("max_requests") == 1);
  driver.drive("GET", peer, "/v1/peers/nobody", 404);
  driver.drive("POST", "/v1/peers/{peer}:pause", "/v1/peers/carol:pause", 200);
  driver.drive("POST", messages, messages, 201, R"({"peer":"carol","type":"t"})", kJson);
  driver.drive("DELETE", peer, "/v1/peers/carol", 409);

  // Subscriptions.
  const std::string subscription = "/v1/subscriptions/{name}";
  driver.drive("POST", messages, messages, 200, R"({"peer":"*","type":"t"})", kJson);
  driver.drive("PUT", subscription, "/v1/subscriptions/all", 201, R"({"peer":"carol"})", kJson);
  driver.drive("PUT", subscription, "/v1/subscriptions/all", 200, R"({"peer":"carol","type":"t"})", kJson);
  driver.drive("PUT", subscription, "/v1/subscriptions/all", 422, R"({"peer":"nobody"})", kJson);
  driver.drive("POST", messages, messages, 201, R"({"peer":"*","type":"t"})", kJson);
  driver.drive("GET", "/v1/subscriptions", "/v1/subscriptions", 200);
  driver.drive("GET", subscription, "/v1/subscriptions/all", 200);
  driver.drive("DELETE", subscription, "/v1/subscriptions/all", 200);
  driver.drive("DELETE", subscription, "/v1/subscriptions/all", 404);
  driver.drive("GET", subscription, "/v1/subscriptions/all", 404);
  CHECK(driver.drive("DELETE", peer, "/v1/peers/carol?messages=fail", 200).at("failed") == 2);
  driver.drive("DELETE", peer, "/v1/peers/carol", 200);
  driver.drive("DELETE", peer, "/v1/peers/nobody", 404);

  const std::string unblock = "/v1/sessions/{peer}/{session}:unblock";
  CHECK(driver.drive("POST", unblock, "/v1/sessions/bob/s:unblock", 200).at("changed") == false);

  // Health.
  CHECK(driver.drive("GET", "/openapi.json", "/openapi.json", 200) == openApi());
  driver.drive("GET", "/healthz", "/healthz", 200);
  driver.drive("GET", "/readyz", "/readyz", 200);
  driver.drive("GET", "/metrics", "/metrics", 200);

  for (const Operation& operation : operations()) {
    const std::string name = std::string(operation.method) + " " + std::string(operation.path) + " 20";
    const auto found = driver.driven().lower_bound(name);
    CHECK_MESSAGE((found != driver.driven().end() && found->starts_with(name)), name << "x was not driven");
  }
}

TEST_CASE("The checker of schemas finds what is wrong") {
  const json schema = {{"$ref", "#/components/schemas/Changed"}};
  CHECK(checkSchema(schema, json{{"changed", true}}).empty());
  CHECK(checkSchema(schema, json{{"changed", 1}}).size() == 1);
  CHECK(checkSchema(schema, json::object()).size() == 1);
  CHECK(checkSchema(schema, json{{"changed", true}, {"more", 1}}).size() == 1);
  CHECK(checkSchema(json{{"pattern", "x"}}, json("x")).size() == 1);
}

}  // namespace ackbox::serve::contract_test
