// Goal: a token that is limited to peers or types names and sees nothing beyond them, at no operation, also at one that
// is added later. Method: a table with a row for each operation of the API and the page, driven against a daemon with
// limited tokens; files of tokens.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api/operations.hpp"
#include "serve/http/tokens.hpp"
#include "serve/page/routes.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::limits_test {
namespace {

using nlohmann::json;
using testing::bearer;
using testing::HttpAsker;
using testing::HttpReply;
using testing::kJson;
using testing::kOperator;
using testing::ServeStage;
using testing::Settings;
using testing::TempDir;
using testing::writePrivateFile;

const std::string kOfBob = "ofbob-0123456789abcdef0123";
const std::string kOrders = "orders-0123456789abcdef0123";
const std::string kPublisher = "publisher-0123456789abcdef0";
const std::string kOfTwo = "oftwo-0123456789abcdef0123";
const std::string kLimited = "ops read,operate,send " + kOperator + "\nofbob read,operate,send,peer=bob " + kOfBob +
                             "\norders send,peer=bob,type=order.*,type=note " + kOrders +
                             "\npublisher send,peer=*,type=news.* " + kPublisher +
                             "\noftwo read,operate,peer=bob,peer=carol " + kOfTwo + "\n";

/// A daemon with the peers `bob` and `away`, and tokens with limits.
struct LimitedStage : TempDir, ServeStage {
  explicit LimitedStage(Settings settings = {})
      : TempDir(), ServeStage([&] {
          settings.push_back({"tokens_file", written(*this)});
          return settings;
        }()) {}

  static std::string written(const TempDir& dir) {
    const std::string tokens = dir.file("tokens").string();
    writePrivateFile(tokens, kLimited);
    return tokens;
  }
  /// Enqueues with the token that has no limits. Returns the message's id.
  std::string enqueue(const std::string& peer, const std::string& type) {
    const std::string body = json{{"peer", peer}, {"type", type}}.dump();
    const HttpReply reply = asker().ask("POST", "/v1/messages", body, bearer(kOperator) + kJson);
    REQUIRE(reply.status == 201);
    return json::parse(reply.body).at("message_id");
  }
  HttpReply ask(const std::string& token, const std::string& method, const std::string& target,
                const std::string& body = {}) {
    return asker().ask(method, target, body, bearer(token) + (body.empty() ? "" : kJson) + "x-ackbox: 1\r\n");
  }
};

/// What an operation answers to a token with `read,operate,send,peer=bob`.
struct Row {
  Reach reach = Reach::all;
  // For `Reach::limited`: requests beyond the limits and within them, each with its status.
  std::string beyond = {};
  std::string beyondBody = {};
  int beyondStatus = 403;
  std::string within = {};
  std::string withinBody = {};
  int withinStatus = 200;
};

const Row kAll{};
const Row kNone{.reach = Reach::none};

/// A row for each operation. `AWAY` is the id of a message to `away`.
const std::map<std::string, Row>& rows() {
  const auto limited = [](const std::string& beyond, const std::string& body, int status, const std::string& within,
                          const std::string& withinBody, int withinStatus = 200) {
    return Row{Reach::limited, beyond, body, status, within, withinBody, withinStatus};
  };
  static const std::map<std::string, Row> kRows = {
      {"POST /v1/messages", limited("/v1/messages", R"({"peer":"away","type":"t"})", 403, "/v1/messages",
                                    R"({"peer":"bob","type":"t"})", 201)},
      {"GET /v1/messages", limited("/v1/messages?peer=away", "", 403, "/v1/messages?peer=bob", "")},
      {"GET /v1/messages/{id}", limited("/v1/messages/AWAY", "", 404, "/v1/messages/BOB", "")},
      {"POST /v1/messages:resend", limited("/v1/messages:resend?dry_run", R"({"peer":"away"})", 403,
                                           "/v1/messages:resend?dry_run", R"({"all":true})")},
      {"POST /v1/messages:mark-failed", limited("/v1/messages:mark-failed?dry_run", R"({"peer":"away"})", 403,
                                                "/v1/messages:mark-failed?dry_run", R"({"ids":["none"]})")},
      {"GET /v1/stats", kAll},
      {"GET /v1/peers", limited("", "", 0, "/v1/peers", "")},
      {"GET /v1/peers/{peer}", limited("/v1/peers/away", "", 403, "/v1/peers/bob", "")},
      {"PUT /v1/peers/{peer}", kAll},
      {"DELETE /v1/peers/{peer}", kAll},
      {"GET /v1/subscriptions", limited("", "", 0, "/v1/subscriptions", "")},
      {"GET /v1/subscriptions/{name}", limited("/v1/subscriptions/foreign", "", 404, "/v1/subscriptions/own", "")},
      {"PUT /v1/subscriptions/{name}", limited("/v1/subscriptions/s", R"({"peer":"away","type":"t"})", 403,
                                               "/v1/subscriptions/own", R"({"peer":"bob","type":"t"})")},
      {"DELETE /v1/subscriptions/{name}", limited("/v1/subscriptions/foreign", "", 403, "/v1/subscriptions/own", "")},
      {"GET /v1/sessions", limited("/v1/sessions?peer=away", "", 403, "/v1/sessions", "")},
      {"GET /v1/inbox", kAll},
      {"GET /v1/inbox/stream", kAll},
      {"POST /v1/inbox/take", kAll},
      {"POST /v1/inbox/settle", kAll},
      {"POST /v1/inbox:retry", kAll},
      {"POST /v1/inbox:discard", kAll},
      {"GET /v1/dead-letters", limited("/v1/dead-letters?peer=away", "", 403, "/v1/dead-letters", "")},
      {"POST /v1/dead-letters:retry",
       limited("/v1/dead-letters:retry", R"({"peer":"away"})", 403, "/v1/dead-letters:retry", R"({"all":true})")},
      {"POST /v1/dead-letters:discard",
       limited("/v1/dead-letters:discard", R"({"peer":"away"})", 403, "/v1/dead-letters:discard", R"({"all":true})")},
      {"GET /v1/operations/{id}", limited("/v1/operations/1", "", 404, "/v1/operations/2", "")},
      {"POST /v1/peers/{peer}:pause", limited("/v1/peers/away:pause", "", 403, "/v1/peers/bob:pause", "")},
      {"POST /v1/peers/{peer}:resume", limited("/v1/peers/away:resume", "", 403, "/v1/peers/bob:resume", "")},
      {"POST /v1/sessions/{peer}/{session}:pause",
       limited("/v1/sessions/away/default:pause", "", 403, "/v1/sessions/bob/default:pause", "")},
      {"POST /v1/sessions/{peer}/{session}:resume",
       limited("/v1/sessions/away/default:resume", "", 403, "/v1/sessions/bob/default:resume", "")},
      {"POST /v1/sessions/{peer}/{session}:unblock",
       limited("/v1/sessions/away/default:unblock", "", 403, "/v1/sessions/bob/default:unblock", "")},
      {"GET /v1/events", kAll},
      {"GET /openapi.json", kNone},
      {"GET /healthz", kNone},
      {"GET /readyz", kNone},
      {"GET /metrics", kAll},
      {"GET /", kAll},
      {"GET /peers", kAll},
      {"GET /peers/{peer}", kAll},
      {"GET /dead-letters", kAll},
      {"GET /messages", kAll},
      {"GET /messages/{id}", kAll},
      {"GET /search", kAll},
      {"GET /sessions", kAll},
      {"GET /inbox", kAll},
      {"GET /inbox/{id}", kAll},
      {"GET /history", kAll},
      {"GET /changes", kAll},
      {"GET /doctor", kAll},
      {"GET /assets/{name}", kNone},
      {"GET /login", kNone},
      {"POST /login", kNone},
      {"POST /logout", kNone},
  };
  return kRows;
}

std::vector<Operation> all() {
  std::vector<Operation> made(operations().begin(), operations().end());
  made.insert(made.end(), page::routes().begin(), page::routes().end());
  return made;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

/// The path of an operation with a name for each part in braces.
std::string anyTarget(std::string_view path) {
  std::string made;
  bool isName = false;
  for (const char letter : path) {
    made += isName ? "" : std::string(1, letter == '{' ? 'x' : letter);
    isName = letter == '{' || (isName && letter != '}');
  }
  return made;
}

}  // namespace

TEST_CASE("Each operation has its row of the limits, and is as its row says") {
  CHECK(rows().size() == all().size());
  for (const Operation& operation : all()) {
    const auto row = rows().find(std::string(operation.method) + " " + std::string(operation.path));
    REQUIRE_MESSAGE(row != rows().end(), operation.method << " " << operation.path);
    CHECK_MESSAGE(row->second.reach == operation.reach, row->first);
  }
}

TEST_CASE("A limited token is refused what is beyond its peers, at each operation, and the refusal says what it may") {
  LimitedStage stage;
  const std::string away = stage.enqueue("away", "t");
  const std::string bob = stage.enqueue("bob", "t");
  REQUIRE(stage.ask(kOperator, "PUT", "/v1/subscriptions/foreign", R"({"peer":"away","type":"t"})").status == 201);
  REQUIRE(stage.ask(kOperator, "PUT", "/v1/subscriptions/own", R"({"peer":"bob","type":"t"})").status == 201);
  // The operations 1 and 2: of the operator, and of the limited token.
  REQUIRE(stage.ask(kOperator, "POST", "/v1/dead-letters:retry", R"({"all":true})").status == 200);
  REQUIRE(stage.ask(kOfBob, "POST", "/v1/dead-letters:retry", R"({"all":true})").status == 200);
  for (const Operation& operation : all()) {
    const std::string name = std::string(operation.method) + " " + std::string(operation.path);
    INFO(name);
    const Row& row = rows().at(name);
    const std::string method(operation.method);
    if (row.reach == Reach::none || operation.roles.names(" ").find("receive") == 0) {
      continue;
    }
    if (row.reach == Reach::all) {
      const HttpReply refused = stage.ask(kOfBob, method, anyTarget(operation.path));
      CHECK(refused.status == 403);
      CHECK(refused.body.find("The token of 'ofbob' is limited to peer=bob.") != std::string::npos);
      continue;
    }
    if (row.beyondStatus != 0) {
      const HttpReply refused = stage.ask(kOfBob, method, replaced(row.beyond, "AWAY", away), row.beyondBody);
      CHECK(refused.status == row.beyondStatus);
      CHECK((refused.status == 404 || refused.body.find("is limited to peer=bob.") != std::string::npos));
    }
    const HttpReply granted = stage.ask(kOfBob, method, replaced(row.within, "BOB", bob), row.withinBody);
    // An acknowledged message is gone.
    CHECK((granted.status == row.withinStatus || name == "GET /v1/messages/{id}"));
    CHECK(granted.body.find("away") == std::string::npos);
  }
  const std::string figures = stage.ask(kOperator, "GET", "/metrics").body;
  CHECK(figures.find("ackbox_refused_callers_total{cause=\"beyond-limits\"} ") != std::string::npos);
  CHECK(figures.find("ackbox_refused_callers_total{cause=\"beyond-limits\"} 0\n") == std::string::npos);
  CHECK(stage.logged("caller-refused").front().find("caller=ofbob cause=\"the token is limited ") != std::string::npos);
}

TEST_CASE("A token limited to types enqueues these alone, and nothing of a batch with another") {
  LimitedStage stage;
  const auto enqueue = [&](const std::string& token, const std::string& body) {
    return stage.ask(token, "POST", "/v1/messages", body);
  };
  CHECK(enqueue(kOrders, R"({"peer":"bob","type":"order.placed"})").status == 201);
  CHECK(enqueue(kOrders, R"({"peer":"bob","type":"note"})").status == 201);
  CHECK(enqueue(kOrders, R"({"peer":"bob","type":"notes"})").status == 403);
  CHECK(enqueue(kOrders, R"({"peer":"away","type":"note"})").status == 403);
  CHECK(enqueue(kOrders, R"({"peer":"*","type":"note"})").status == 403);
  const HttpReply refused =
      enqueue(kOrders, R"([{"peer":"bob","type":"order.first","session":"s"},{"peer":"bob","type":"invoice"}])");
  CHECK(refused.status == 403);
  CHECK(refused.body.find("This has the type 'invoice'. The token of 'orders' is limited to peer=bob, type=order.*, "
                          "type=note.") != std::string::npos);
  CHECK(stage.ask(kOperator, "GET", "/v1/sessions?peer=bob&all=true").body.find("\"s\"") == std::string::npos);
  CHECK(stage.asker()
            .ask("POST", "/v1/messages", R"({"specversion":"1.0","id":"1","source":"x","type":"invoice"})",
                 bearer(kOrders) + "Content-Type: application/cloudevents+json\r\n")
            .status != 201);
}

TEST_CASE("P3: a key that a limited token has used takes no message to another peer away") {
  LimitedStage stage(Settings{{"outbox.acked_retention", "0s"}});
  const auto enqueue = [&](const std::string& token, const std::string& peer, int data) {
    return stage.ask(token, "POST", "/v1/messages",
                     json{{"peer", peer}, {"type", "note"}, {"data", data}, {"idempotency_key", "order-42"}}.dump());
  };
  REQUIRE(stage.ask(kOperator, "PUT", "/v1/subscriptions/all", R"({"peer":"away"})").status == 201);
  const HttpReply first = enqueue(kOfBob, "bob", 1);
  REQUIRE(first.status == 201);
  const std::string id = json::parse(first.body).at("message_id");
  // It ends, and is deleted.
  static_cast<void>(stage.ask(kOfBob, "GET", "/v1/messages/" + id + "?wait=20s"));
  REQUIRE(stage.ask(kOfBob, "GET", "/v1/messages/" + id).status == 404);
  CHECK(enqueue(kOperator, "away", 2).status == 201);
  CHECK(enqueue(kOperator, "*", 3).status == 201);
}

TEST_CASE("P11: a conflict does not name the message that has the key, which the caller may not see") {
  LimitedStage stage;
  const auto enqueue = [&](const std::string& token, const std::string& type) {
    return stage.ask(token, "POST", "/v1/messages",
                     json{{"peer", "bob"}, {"type", type}, {"idempotency_key", "order-42"}}.dump());
  };
  const HttpReply first = enqueue(kOperator, "secret");
  REQUIRE(first.status == 201);
  const HttpReply other = enqueue(kOrders, "note");
  CHECK(other.status == 409);
  CHECK(json::parse(other.body).at("title") == "conflict");
  CHECK(other.body.find(json::parse(first.body).at("message_id").get<std::string>()) == std::string::npos);
}

TEST_CASE("The right to publish is a limit of its own") {
  LimitedStage stage;
  REQUIRE(stage.ask(kOperator, "PUT", "/v1/subscriptions/news", R"({"peer":"bob","type":"news.*"})").status == 201);
  const auto enqueue = [&](const std::string& token, const std::string& body) {
    return stage.ask(token, "POST", "/v1/messages", body).status;
  };
  CHECK(enqueue(kPublisher, R"({"peer":"*","type":"news.today"})") == 201);
  CHECK(enqueue(kPublisher, R"({"peer":"*","type":"other"})") == 403);
  CHECK(enqueue(kPublisher, R"({"peer":"bob","type":"news.today"})") == 403);
  CHECK(enqueue(kOfBob, R"({"peer":"*","type":"news.today"})") == 403);
}

TEST_CASE("A token with several peers names one of them, and ids beyond them change nothing") {
  LimitedStage stage;
  const std::string away = stage.enqueue("away", "t");
  const auto preview = [&](const std::string& token, const std::string& body) {
    const HttpReply reply = stage.ask(token, "POST", "/v1/dead-letters:discard?dry_run", body);
    return reply.status == 200 ? json::parse(reply.body).at("count").get<int>() : -reply.status;
  };
  REQUIRE(stage.ask(kOperator, "DELETE", "/v1/peers/away?messages=fail").status == 404);
  CHECK(stage.ask(kOfTwo, "GET", "/v1/messages").status == 403);
  CHECK(stage.ask(kOfTwo, "GET", "/v1/messages?peer=bob").status == 200);
  CHECK(preview(kOfTwo, R"({"all":true})") == -403);
  CHECK(preview(kOfTwo, R"({"peer":"bob"})") == 0);
  // A message that the peer refuses becomes a dead letter of bob.
  const std::string bad = stage.enqueue("bob", "bad");
  REQUIRE(stage.ask(kOperator, "GET", "/v1/messages/" + bad + "?wait=20s").status == 200);
  const std::string ids = json{{"ids", {bad}}}.dump();
  REQUIRE(preview(kOperator, ids) == 1);
  CHECK(preview(kOfTwo, ids) == 1);
  writePrivateFile(stage.file("tokens").string(),
                   "ops read,operate,send " + kOperator + "\noftwo read,operate,peer=away " + kOfTwo + "\n");
  stage.server().reload();
  CHECK(preview(kOfTwo, ids) == 0);
  const HttpReply changed = stage.ask(kOfTwo, "POST", "/v1/dead-letters:discard", ids);
  CHECK(json::parse(changed.body).at("changed") == 0);
  CHECK(preview(kOperator, ids) == 1);
}

TEST_CASE("What a limited token's peer was sent is given to no other peer, and what others were sent not to it") {
  LimitedStage stage;
  const std::string resend = "/v1/messages:resend?dry_run";
  CHECK(stage.ask(kOfBob, "POST", resend, R"({"peer":"bob","to":"away"})").status == 403);
  CHECK(stage.ask(kOfBob, "POST", resend, R"({"peer":"away","to":"bob"})").status == 403);
  CHECK(stage.ask(kOperator, "POST", resend, R"({"peer":"away","to":"bob"})").status == 200);
}

TEST_CASE("A subscription of another peer is not taken over by its name, and a limited token opens no page") {
  LimitedStage stage;
  REQUIRE(stage.ask(kOperator, "PUT", "/v1/subscriptions/news", R"({"peer":"away","type":"*"})").status == 201);
  CHECK(stage.ask(kOfBob, "PUT", "/v1/subscriptions/news", R"({"peer":"bob","type":"*"})").status == 403);
  const HttpReply login =
      stage.asker().ask("POST", "/login", "token=" + kOfBob,
                        "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n");
  CHECK(login.status == 403);
  CHECK(login.body.find("is limited to some peers") != std::string::npos);
  CHECK(login.header("Set-Cookie").empty());
}

TEST_CASE("Limits in a file of tokens are those of roles that have them") {
  const TempDir dir;
  const std::string file = dir.file("tokens").string();
  const std::string token = " 0123456789abcdef01234567\n";
  const auto problem = [&](const std::string& roles) {
    writePrivateFile(file, "ada " + roles + token);
    std::vector<std::string> problems;
    static_cast<void>(Tokens::read(file, problems));
    return problems.empty() ? std::string() : problems.front();
  };
  for (const char* const good : {"send,peer=bob", "peer=bob,send", "send,type=a.*", "read,peer=a,peer=b",
                                 "read,send,operate,peer=a", "send,peer=*,type=a", "send,type=*"}) {
    CHECK_MESSAGE(problem(good).empty(), good);
  }
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"peer=bob", "a role is "},
      {"send,peer=", "a role is "},
      {"send,type=", "a role is "},
      {"send,Peer=bob", "a role is "},
      {"receive,peer=bob", "peer= and type= do not limit what is received"},
      {"mailbox=urn:a,send,type=b", "peer= and type= do not limit what is received"},
      {"read,type=a", "type= limits the role send alone"},
      {"send,operate,type=a", "type= limits the role send alone"},
      {"send,type=a*b", "type= may have a * at its end only"},
  };
  for (const auto& one : bad) {
    CHECK_MESSAGE(problem(one.first).find(":1: " + one.second) != std::string::npos, one.first);
  }
  static_cast<void>(problem("send,peer=bob,type=order.*"));
  const std::optional<Caller> caller = Tokens::load(file).find(Tokens::digestOf("0123456789abcdef01234567"));
  REQUIRE(caller);
  CHECK(caller->limits == Limits{{"bob"}, {"order.*"}});
}

}  // namespace ackbox::serve::limits_test
