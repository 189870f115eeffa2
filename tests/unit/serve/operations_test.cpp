// Goal: each operation does what it promises where the contract's shapes do not show it: once-only enqueues, data byte
// for byte, waits that end at the right moment, limits, the end of the server. Method: a whole daemon with a peer that
// answers and one that does not, over loopback.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <list>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/random.hpp"
#include "serve/api/workers.hpp"
#include "serve/api/write_health.hpp"
#include "serve/http/answer.hpp"
#include "support/comes_to.hpp"
#include "support/garbled_pages.hpp"
#include "support/manual_clock.hpp"
#include "support/resource_limit.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::operations_test {
namespace {

using nlohmann::json;
using testing::comesTo;
using testing::HttpAsker;
using testing::HttpReply;
using testing::isReady;
using testing::kJson;
using testing::ResourceLimit;
using testing::ServeStage;
using testing::Settings;

HttpReply enqueue(HttpAsker& asker, const std::string& body, const std::string& headers = kJson) {
  return asker.ask("POST", "/v1/messages", body, headers);
}

json bodyOf(const HttpReply& reply) {
  return json::parse(reply.body);
}

struct ShortRandom final : Random {
  std::uint64_t next() override {
    if (isShort) {
      throw std::bad_alloc();
    }
    return random->next();
  }

  std::atomic<bool> isShort = false;
  const std::shared_ptr<Random> random = systemRandom();
};

/// A daemon with so few descriptors, and a message that does not end.
struct SmallDaemon {
  explicit SmallDaemon(rlim_t descriptors, const Settings& settings = {}) {
    const ResourceLimit few(RLIMIT_NOFILE, descriptors);
    stage.emplace(settings);
  }
  /// Begins to wait for the message on a connection of its own. The look behind it comes after the one that a wait
  /// begins with, so that not all of them wait for the file at once.
  void wait(const std::string& time = "30s") {
    waiting.push_back(stage->asker());
    waiting.back().send("GET", "/v1/messages/stuck?wait=" + time, {}, headers);
    CHECK(stage->asker().ask("GET", "/v1/messages/stuck", {}, headers).status == 200);
  }

  /// Whether a brief wait for it is answered so in the end. The thread that answers it begins the waits, and reads the
  /// ends of connections.
  bool comesTo(int status) {
    HttpAsker asker = stage->asker();
    return testing::comesTo(
        [&] { return asker.ask("GET", "/v1/messages/stuck?wait=1ms", {}, headers).status == status; });
  }

  std::optional<ServeStage> stage;
  std::string headers;
  std::list<HttpAsker> waiting;
};

}  // namespace

TEST_CASE("Data is stored byte for byte") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const std::string data = R"({ "n": 1.0e2,  "big": 12345678901234567890123, "s": "\u00e4" })";
  const HttpReply stored = enqueue(asker, R"({"peer":"away","type":"t","data":)" + data + "}");
  REQUIRE(stored.status == 201);
  const HttpReply shown = asker.ask("GET", stored.header("Location") + "?data=true");
  CHECK(shown.body.find(data) != std::string::npos);
}

TEST_CASE("The place of a message whose id has letters of an address leads to it") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const HttpReply stored = enqueue(asker, R"({"peer":"away","type":"t","id":"a/b?c#d%20"})");
  CHECK(stored.header("Location") == "/v1/messages/a%2Fb%3Fc%23d%2520");
  CHECK(asker.ask("GET", stored.header("Location")).status == 200);
}

TEST_CASE("An idempotency key makes an enqueue happen once, with or without quotes") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const std::string body = R"({"peer":"away","type":"t","data":{"n":1}})";
  const HttpReply first = enqueue(asker, body, kJson + "Idempotency-Key: order-7\r\n");
  CHECK(first.status == 201);
  const HttpReply second = enqueue(asker, body, kJson + "Idempotency-Key: \"order-7\"\r\n");
  CHECK(second.status == 200);
  CHECK(bodyOf(second).at("message_id") == bodyOf(first).at("message_id"));
  CHECK(enqueue(asker, R"({"peer":"away","type":"t","data":{"n":2}})", kJson + "Idempotency-Key: order-7\r\n").status ==
        409);
  // The key is that peer's.
  CHECK(enqueue(asker, R"({"peer":"bob","type":"t","data":{"n":1}})", kJson + "Idempotency-Key: order-7\r\n").status ==
        201);
  CHECK(enqueue(asker, body, kJson + "Idempotency-Key: \"\"\r\n").status == 422);
  CHECK(enqueue(asker, body, kJson + "Idempotency-Key: a\r\nIdempotency-Key: b\r\n").status == 400);
  // Its body was not read, so that its connection has ended.
  HttpAsker empty = stage.asker();
  CHECK(enqueue(empty, body, kJson + "Idempotency-Key:\r\n").status == 400);
  HttpAsker next = stage.asker();
  CHECK(enqueue(next, "[" + body + "]", kJson + "Idempotency-Key: a\r\n").status == 422);
}

TEST_CASE("P3: A key that was used for another type, session or data is refused, also behind its message's end") {
  ServeStage stage(Settings{{"outbox.acked_retention", "\"0s\""}});
  HttpAsker asker = stage.asker();
  const std::string key = kJson + "Idempotency-Key: k\r\n";
  const json first{{"peer", "bob"}, {"type", "invoice"}, {"data", 1}};
  const HttpReply stored = enqueue(asker, first.dump(), key);
  REQUIRE(stored.status == 201);
  asker.ask("GET", stored.header("Location") + "?wait=30s");
  REQUIRE(asker.ask("GET", stored.header("Location")).status == 404);
  CHECK(enqueue(asker, first.dump(), key).status == 200);
  for (const json& change : {json{{"type", "refund"}}, json{{"session", "s"}}, json{{"data", 2}}}) {
    json other = first;
    other.update(change);
    const HttpReply reply = enqueue(asker, other.dump(), key);
    CHECK(reply.status == 409);
    // The message that has the key may be another caller's.
    other["idempotency_key"] = "k";
    const HttpReply batch = enqueue(asker, json::array({other}).dump());
    CHECK(bodyOf(batch).at("results").at(0).at("status") == "conflict");
    for (const HttpReply& one : {reply, batch}) {
      CHECK(one.body.find(bodyOf(stored).at("message_id").get<std::string>()) == std::string::npos);
    }
  }
}

TEST_CASE("An array is stored in its order, and a refused frame does not hinder the others") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const HttpReply reply = enqueue(
      asker, R"([{"peer":"away","type":"t"},{"peer":"nobody","type":"t"},{"oops":1},{"peer":"away","type":"t"}])");
  CHECK(reply.status == 207);
  const json results = bodyOf(reply).at("results");
  CHECK(results[0].at("sequence") == 1);
  CHECK(results[1].at("status") == "unknownPeer");
  CHECK(results[2].at("status") == "invalidFrame");
  CHECK(results[3].at("sequence") == 2);
  CHECK(enqueue(asker, "[]").status == 200);
  CHECK(enqueue(asker, "[{}").status == 422);
  CHECK(enqueue(asker, "").status == 422);
  CHECK(enqueue(asker, "{}", "Content-Type: text/plain\r\n").status == 422);
}

TEST_CASE("CloudEvents keep their ids and carry peer and session as extension attributes") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const std::string event = "Content-Type: application/cloudevents+json; charset=utf-8\r\n";
  const auto post = [&](const std::string& attributes) {
    return enqueue(
        asker, R"({"specversion":"1.0","id":"e-1","source":"/s","type":"t","peer":"away")" + attributes + "}", event);
  };
  CHECK(post(R"(,"session":"s-1","priority":7,"expirytime":"2200-01-01T00:00:00Z","data":[1])").status == 201);
  const json shown = bodyOf(asker.ask("GET", "/v1/messages/e-1?data=true"));
  CHECK(shown.at("session") == "s-1");
  CHECK(shown.at("priority") == 7);
  CHECK(shown.at("data") == json::array({1}));
  CHECK(post(R"(,"session":"s-1","data":[1])").status == 200);
  CHECK(post(R"(,"data_base64":"AA==")").status == 422);
  CHECK(post(R"(,"expirytime":"1960-01-01T00:00:00Z","data":[1])").status == 422);
  CHECK(post(R"(,"priority":"7")").status == 422);
  CHECK(post(R"(,"surprise":"x")").status == 422);
  CHECK(enqueue(asker, R"({"id":"e-2","source":"/s","type":"t"})", event).status == 422);
  CHECK(asker
            .ask("POST", "/v1/messages?peer=away", R"([{"specversion":"1.0","id":"b-1","source":"/s","type":"t"}])",
                 "Content-Type: application/cloudevents-batch+json\r\n")
            .status == 200);
}

TEST_CASE("A full queue is 429 with a time to come again") {
  ServeStage stage(Settings{{"outbox.max_pending", "1"}});
  HttpAsker asker = stage.asker();
  CHECK(enqueue(asker, R"({"peer":"away","type":"t"})").status == 201);
  const HttpReply full = enqueue(asker, R"({"peer":"away","type":"t"})");
  CHECK(full.status == 429);
  CHECK(full.header("Retry-After") == "1");
}

TEST_CASE("A body larger than its operation takes is refused, announced or not, and the connection goes on or ends") {
  ServeStage stage;
  CHECK(stage.asker().ask("POST", "/v1/dead-letters:retry", std::string(70'000, ' ')).status == 413);
  CHECK(stage.asker().ask("POST", "/v1/peers/bob:pause", "x").status == 413);
  testing::RawConnection chunked(stage.server().port());
  chunked.send("POST /v1/peers/bob:pause HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
  CHECK(chunked.receiveAll().starts_with("HTTP/1.1 413 "));
}

TEST_CASE("A wait ends with the acknowledgement, and has what the peer answered") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  CHECK(asker.ask("POST", "/v1/peers/bob:pause").status == 200);
  const HttpReply stored = enqueue(asker, R"({"peer":"bob","type":"t"})");
  HttpAsker waiting = stage.asker();
  waiting.send("GET", stored.header("Location") + "?wait=30s");
  // What follows on another connection is answered meanwhile.
  CHECK(asker.ask("GET", "/v1/stats").status == 200);
  CHECK(asker.ask("POST", "/v1/peers/bob:resume").status == 200);
  const json shown = bodyOf(waiting.receive());
  CHECK(shown.at("state") == "acked");
  CHECK(shown.value("result", json::object()) == json{{"ok", true}});
  // One that asks after the end gets it, too.
  for (const char* query : {"?wait=30s", ""}) {
    CHECK(bodyOf(asker.ask("GET", stored.header("Location") + query)).value("result", json()) == json{{"ok", true}});
  }
}

TEST_CASE("A wait for what does not end is answered with where it stands, and one for a dead letter with its reason") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const HttpReply stored = enqueue(asker, R"({"peer":"away","type":"t"})");
  const json shown = bodyOf(asker.ask("GET", stored.header("Location") + "?wait=50ms"));
  // In flight for as long as its connection is refused.
  CHECK((shown.at("state") == "pending" || shown.at("state") == "sending"));
  CHECK_FALSE(shown.at("reasons").empty());
  CHECK(asker.ask("GET", stored.header("Location") + "?wait=31s").status == 422);
  const HttpReply bad = enqueue(asker, R"({"peer":"bob","type":"bad"})");
  const json failed = bodyOf(asker.ask("GET", bad.header("Location") + "?wait=20s"));
  CHECK(failed.at("state") == "failed");
  CHECK(failed.at("reason") == "rejected");
}

TEST_CASE("P12: waits and streams on every place that they may have leave room for requests that end, however few") {
  const std::string inbox = R"({"listen":"127.0.0.1:0","allow_anonymous":true,"pull":["*"]})";
  SmallDaemon daemon(64, Settings{{"inbox", inbox}});
  HttpAsker asker = daemon.stage->asker();
  REQUIRE(enqueue(asker, R"({"peer":"away","type":"t","id":"stuck"})").status == 201);
  // 32 connections: 16 have frames; of the others 8 may wait, and one has events.
  std::list<testing::StreamReader> streams;
  for (int number = 0; number < 20; ++number) {
    CHECK(streams.emplace_back(daemon.stage->server().port(), "/v1/inbox/stream").status() ==
          (number < 16 ? 200 : 503));
  }
  CHECK(streams.emplace_back(daemon.stage->server().port(), "/v1/events").status() == 200);
  for (int number = 0; number < 40; ++number) {
    daemon.wait();
    CHECK(daemon.stage->asker().ask("GET", "/healthz").status == 200);
  }
  CHECK(daemon.stage->asker().ask("POST", "/v1/messages", R"({"peer":"away","type":"t"})", kJson).status == 201);
}

TEST_CASE("P12: a client that goes away while it waits gives its place to the next at once") {
  SmallDaemon daemon(64);
  HttpAsker asker = daemon.stage->asker();
  REQUIRE(enqueue(asker, R"({"peer":"away","type":"t","id":"stuck"})").status == 201);
  // 48 connections, of which 12 may wait.
  for (int number = 0; number < 24; ++number) {
    daemon.wait();
  }
  CHECK(daemon.comesTo(503));
  daemon.waiting.pop_front();
  CHECK(daemon.comesTo(200));
}

TEST_CASE("P12: a token may have as many waits and streams as it leaves free, so that others have theirs") {
  const testing::TempDir dir;
  const std::string tokens = dir.file("tokens").string();
  testing::writePrivateFile(
      tokens, "greedy read,send,receive greedy-0123456789abcdef01\nmodest read,send modest-0123456789abcdef01\n");
  SmallDaemon daemon(64, Settings{{"tokens_file", tokens}});
  const std::string modest = "Authorization: Bearer modest-0123456789abcdef01\r\n";
  daemon.headers = "Authorization: Bearer greedy-0123456789abcdef01\r\n";
  HttpAsker asker = daemon.stage->asker();
  REQUIRE(enqueue(asker, R"({"peer":"away","type":"t","id":"stuck"})", daemon.headers + kJson).status == 201);
  for (int number = 0; number < 24; ++number) {
    daemon.wait();
  }
  // Six of them wait, and the others are refused.
  CHECK(daemon.comesTo(503));
  CHECK(asker.ask("GET", "/v1/messages/stuck?wait=1ms", {}, modest).status == 200);
  CHECK(asker.ask("GET", "/v1/messages/stuck?wait=1ms", {}, daemon.headers).status == 503);
}

TEST_CASE("An acknowledged message that is not kept is known as acknowledged to those that waited for it") {
  ServeStage stage(Settings{{"outbox.acked_retention", "\"0s\""}});
  HttpAsker asker = stage.asker();
  CHECK(asker.ask("POST", "/v1/peers/bob:pause").status == 200);
  const std::string location = enqueue(asker, R"({"peer":"bob","type":"t"})").header("Location");
  HttpAsker waiting = stage.asker();
  waiting.send("GET", location + "?wait=30s");
  // Two answers later the wait has begun: one thread reads all connections in turn.
  CHECK(asker.ask("GET", location + "?wait=1ms").status == 200);
  CHECK(asker.ask("POST", "/v1/peers/bob:resume").status == 200);
  CHECK(bodyOf(waiting.receive()).at("state") == "acked");
  CHECK(asker.ask("GET", location).status == 404);
}

TEST_CASE("A bulk change says before what it would change, and takes a filter or ids but never everything by mistake") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  for (const char* id : {"d-1", "d-2", "d-3"}) {
    CHECK(enqueue(asker, R"({"peer":"bob","type":"bad","session":")" + std::string(id) + R"(","id":")" + id + "\"}")
              .status == 201);
    CHECK(bodyOf(asker.ask("GET", "/v1/messages/" + std::string(id) + "?wait=20s")).at("state") == "failed");
  }
  const auto discard = [&](const std::string& body, const std::string& query = {}) {
    return asker.ask("POST", "/v1/dead-letters:discard" + query, body);
  };
  for (const char* wrong : {"", "{}", "[]", R"({"all":false})", R"({"all":true,"peer":"bob"})", R"({"peeer":"bob"})",
                            R"({"ids":[]})", R"({"ids":["d-1"],"peer":"bob"})", R"({"peer":1})"}) {
    CHECK_MESSAGE(discard(wrong).status == 422, wrong);
  }
  const json preview = bodyOf(discard(R"({"session":"d-2"})", "?dry_run=true"));
  CHECK(preview.at("count") == 1);
  CHECK(preview.at("sample")[0].at("message_id") == "d-2");
  CHECK(bodyOf(discard(R"({"all":true})", "?dry_run")).at("count") == 3);
  CHECK(bodyOf(discard(R"({"ids":["d-1","d-1"]})", "?dry_run")).at("count") == 1);
  const json listed = bodyOf(asker.ask("GET", "/v1/dead-letters")).at("messages");
  CHECK(bodyOf(discard(json{{"error_like", listed[0].at("last_error")}}.dump(), "?dry_run")).at("count") == 3);
  CHECK(bodyOf(discard(R"({"error_like":"none"})", "?dry_run")).at("count") == 0);
  CHECK(bodyOf(asker.ask("GET", "/v1/dead-letters?error_like=none")).at("messages").empty());
  CHECK(bodyOf(asker.ask("GET", "/v1/messages?text=d-2")).at("messages").size() == 1);
  CHECK(bodyOf(asker.ask("GET", "/v1/messages?text=bad")).at("messages").size() == 3);
  CHECK(bodyOf(asker.ask("GET", "/v1/inbox?text=none")).at("frames").empty());
  CHECK(bodyOf(discard(R"({"session":"d-2"})")).at("changed") == 1);
  CHECK(bodyOf(discard(R"({"ids":["d-1","d-2"]})")).at("changed") == 1);
  const json left = bodyOf(asker.ask("GET", "/v1/dead-letters"));
  REQUIRE(left.at("messages").size() == 1);
  CHECK(left.at("messages")[0].at("message_id") == "d-3");
}

TEST_CASE("Messages that wait become dead letters by a filter, after a preview, and no others do") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  CHECK(asker.ask("POST", "/v1/peers/bob:pause").status == 200);
  for (const char* const session : {"s", "s", "t"}) {
    REQUIRE(enqueue(asker, json{{"peer", "bob"}, {"session", session}, {"type", "t"}}.dump()).status == 201);
  }
  const auto mark = [&](const json& choice, const std::string& query = {}) {
    return asker.ask("POST", "/v1/messages:mark-failed" + query, choice.dump());
  };
  for (const json& wrong : {json{{"state", "acked"}}, json{{"state", ""}}, json{{"ids", {"a"}}, {"session", "s"}},
                            json{{"reason", "x"}}, json::object()}) {
    CHECK(mark(wrong).status == 422);
  }
  CHECK(bodyOf(mark({{"session", "s"}}, "?dry_run=true")).at("count") == 2);
  CHECK(bodyOf(mark({{"session", "s"}, {"state", "sent"}}, "?dry_run=true")).at("count") == 0);
  CHECK(bodyOf(mark({{"session", "s"}, {"before", "2000-01-01T00:00:00Z"}})).at("changed") == 0);
  // What was enqueued after the preview is left, and so it is counted in no other one that ends there.
  const json lastRow = bodyOf(mark({{"session", "s"}}, "?dry_run=true")).at("last_row");
  REQUIRE(enqueue(asker, R"({"peer":"bob","session":"s","type":"t"})").status == 201);
  CHECK(bodyOf(mark({{"session", "s"}, {"last_row", lastRow}}, "?dry_run=true")).at("count") == 2);
  for (const json& wrong : {json(-1), json("1"), json(0.5)}) {
    CHECK(mark({{"session", "s"}, {"last_row", wrong}}).status == 422);
  }
  CHECK(bodyOf(mark({{"session", "s"}, {"reason", "not-needed"}, {"last_row", lastRow}})).at("changed") == 2);
  CHECK(bodyOf(asker.ask("GET", "/v1/dead-letters?reason=not-needed")).at("messages").size() == 2);
  CHECK(bodyOf(mark({{"all", true}, {"last_row", 0}})).at("changed") == 0);
  CHECK(bodyOf(mark({{"all", true}})).at("changed") == 2);
  CHECK(stage.logged("operation=messages:mark-failed").size() == 4);
}

TEST_CASE("A preview counts among so many dead letters, and says that there may be more") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  REQUIRE(enqueue(asker, R"({"peer":"bob","type":"bad","id":"d-1"})").status == 201);
  REQUIRE(bodyOf(asker.ask("GET", "/v1/messages/d-1?wait=20s")).at("state") == "failed");
  SQLite::Database database(stage.path("agent.db"), SQLite::OPEN_READWRITE);
  database.setBusyTimeout(10'000);
  database.exec(
      "INSERT INTO "
      "ackbox_outbox(session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,id_rest,checksum,type,"
      "reason,last_error,data) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<50000) SELECT "
      "session_id,0,4,attempt,retry_count,created_at_ms,due_at_ms,i,checksum,type,'expired',last_error,data FROM n "
      "CROSS JOIN "
      "ackbox_outbox WHERE state=4");
  const auto preview = [&](const char* reason) {
    return bodyOf(
        asker.ask("POST", "/v1/dead-letters:discard?dry_run=true", R"({"reason":")" + std::string(reason) + "\"}"));
  };
  const json first = preview("expired");
  CHECK(first.at("count") == 50'000);
  CHECK(first.at("is_complete") == false);
  const json none = preview("none");
  CHECK(none.at("count") == 0);
  CHECK(none.at("is_complete") == false);
  database.exec("DELETE FROM ackbox_outbox WHERE reason='expired' AND id_rest=1");
  const json all = preview("expired");
  CHECK(all.at("count") == 49'999);
  CHECK(all.at("is_complete") == true);
}

TEST_CASE("Lists come in pages") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  CHECK(
      enqueue(asker, R"([{"peer":"away","type":"t"},{"peer":"away","type":"t"},{"peer":"away","type":"t"}])").status ==
      200);
  const json first = bodyOf(asker.ask("GET", "/v1/messages?limit=2"));
  CHECK(first.at("messages").size() == 2);
  const json second = bodyOf(asker.ask("GET", "/v1/messages?limit=2&after=" + first.at("next").dump()));
  CHECK(second.at("messages").size() == 1);
  CHECK(second.at("next").is_null());
  CHECK(bodyOf(asker.ask("GET", "/v1/messages?type=t")).at("messages").size() == 3);
  CHECK(bodyOf(asker.ask("GET", "/v1/messages?type=u")).at("messages").empty());
  CHECK(asker.ask("GET", "/v1/messages?limit=0").status == 422);
  CHECK(asker.ask("GET", "/v1/messages?statee=failed").status == 422);
}

TEST_CASE("At its end the server answers those that wait, and listens no more") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const std::string location = enqueue(asker, R"({"peer":"away","type":"t"})").header("Location");
  HttpAsker waiting = stage.asker();
  waiting.send("GET", location + "?wait=30s");
  CHECK(asker.ask("GET", location + "?wait=1ms").status == 200);
  const std::string url = stage.server().url();
  CHECK(isReady(url));
  stage.server().stop();
  const HttpReply answered = waiting.receive();
  CHECK((answered.status == 200 || answered.status == 503));
  CHECK_FALSE(isReady(url));
  stage.end();
}

TEST_CASE("P13: a delivery that ends for want of memory begins again, and until then the server is not ready") {
  const auto random = std::make_shared<ShortRandom>();
  ServeStage stage({}, [&](Config& config) { config.outbox.random = random; });
  HttpAsker asker = stage.asker();
  REQUIRE(enqueue(asker, R"({"peer":"away","type":"t"})").status == 201);
  // Asked at the next probe of the peer, on the thread that delivers.
  random->isShort = true;
  stage.awaitRecord("a delivery run ends");
  CHECK(comesTo([&] { return asker.ask("GET", "/readyz").status == 503; }));
  random->isShort = false;
  stage.awaitRecord(" error delivery-ended ");
  const HttpReply stored = enqueue(asker, R"({"peer":"bob","type":"t"})");
  CHECK(bodyOf(asker.ask("GET", stored.header("Location") + "?wait=30s")).at("state") == "acked");
}

TEST_CASE("P13: a server whose file takes nothing is not ready, and is again when it does") {
  std::signal(SIGXFSZ, SIG_IGN);
  ServeStage stage;
  HttpAsker asker = stage.asker();
  CHECK(asker.ask("GET", "/readyz").status == 200);
  {
    const ResourceLimit small(RLIMIT_FSIZE, 1);
    const std::string large = R"({"peer":"away","type":"t","data":")" + std::string(200'000, 'x') + "\"}";
    int status = 201;
    // The log has some room that was made before.
    for (int more = 0; more < 100 && status == 201; ++more) {
      status = enqueue(asker, large).status;
    }
    CHECK((status == 503 || status == 507));
    const HttpReply reply = asker.ask("GET", "/readyz");
    CHECK(reply.status == 503);
    CHECK(reply.body.find("the file refused the last enqueue: ") != std::string::npos);
    CHECK(asker.ask("GET", "/healthz").status == 200);
  }
  // After a failed attempt to write its log again, a store makes none for a tenth of a second or so.
  CHECK(comesTo([&] { return enqueue(asker, R"({"peer":"away","type":"t"})").status == 201; }));
  CHECK(asker.ask("GET", "/readyz").status == 200);
}

TEST_CASE(
    "P13: a server whose messages cannot be read, because pages of them are garbled, is not ready, and says why") {
  ServeStage stage;
  {
    HttpAsker asker = stage.asker();
    const std::string message = R"({"peer":"away","type":"lost","data":")" + std::string(1'000, 'x') + "\"}";
    for (int count = 0; count < 40; ++count) {
      REQUIRE(enqueue(asker, message).status == 201);
    }
    CHECK(asker.ask("GET", "/readyz").status == 200);
  }
  stage.end();
  testing::garblePages(stage.path("agent.db"), "xxxxxxxxxxxxxxxx");
  stage.begin({});
  HttpAsker asker = stage.asker();
  HttpReply reply;
  CHECK(comesTo([&] {
    reply = asker.ask("GET", "/readyz");
    return reply.status == 503;
  }));
  CHECK(reply.body.find("the database is damaged") != std::string::npos);
  CHECK(reply.body.find("ackbox verify") != std::string::npos);
  CHECK(asker.ask("GET", "/healthz").status == 200);
  CHECK(asker.ask("GET", "/").body.find("Messages are not delivered") != std::string::npos);
  CHECK(asker.ask("GET", "/doctor").body.find("the database is damaged") != std::string::npos);
}

TEST_CASE("Whether a file can be written is known by the last enqueue for ten seconds, and by a trial every five") {
  const testing::TempDir dir;
  const auto clock = std::make_shared<testing::ManualClock>();
  WriteHealth sound(dir.file("agent.db"), clock);
  CHECK(sound.problem().empty());
  sound.refused(make_error_code(Errc::diskFull));
  CHECK(sound.problem().starts_with("the file refused the last enqueue: the disk is full"));
  clock->advance(std::chrono::milliseconds(9'999));
  CHECK_FALSE(sound.problem().empty());
  clock->advance(std::chrono::milliseconds(1));
  CHECK(sound.problem().empty());
  sound.refused(make_error_code(Errc::diskFull));
  sound.stored();
  CHECK(sound.problem().empty());
  std::filesystem::create_directory(dir.file("folder"));
  WriteHealth gone(dir.file("folder") / "agent.db", clock);
  CHECK(gone.problem().empty());
  std::filesystem::remove(dir.file("folder"));
  clock->advance(std::chrono::milliseconds(4'999));
  CHECK(gone.problem().empty());
  clock->advance(std::chrono::milliseconds(1));
  CHECK(gone.problem() ==
        "nothing can be written to the folder " + dir.file("folder").string() + ": No such file or directory");
}

TEST_CASE("P12: a lock in a database is one session's, so the server stays ready; another refusal counts") {
  WriteHealth inDatabase({}, std::make_shared<testing::ManualClock>());
  inDatabase.refused(make_error_code(Errc::databaseBusy));
  CHECK(inDatabase.problem().empty());
  inDatabase.refused(make_error_code(Errc::databaseReadOnly));
  CHECK(inDatabase.problem().starts_with("the database refused the last enqueue: "));
}

TEST_CASE("Where another file has the outbox's name, enqueues say why, the log does once, and it is not ready") {
  ServeStage stage;
  HttpAsker asker = stage.asker();
  const char* const message = R"({"peer":"away","type":"t"})";
  REQUIRE(enqueue(asker, message).status == 201);
  const std::string file = stage.path("agent.db");
  std::filesystem::rename(file, file + ".old");
  std::filesystem::copy_file(file + ".old", file);
  // Before anything was to be stored.
  CHECK(asker.ask("GET", "/readyz").status == 503);
  for (int time = 0; time < 2; ++time) {
    const HttpReply refused = enqueue(asker, message);
    CHECK(refused.status == 500);
    CHECK(refused.body.find("was replaced or restored while it was open: restart the process") != std::string::npos);
  }
  // What is not for the file says nothing of it.
  CHECK(enqueue(asker, R"({"peer":"nobody"})").status == 422);
  CHECK(asker.ask("GET", "/readyz").status == 503);
  const auto count = [&](std::string_view event) {
    const std::vector<std::string> log = stage.log();
    return std::ranges::count_if(log, [&](const std::string& line) { return line.find(event) != std::string::npos; });
  };
  CHECK(count("error unwell") == 1);

  std::filesystem::rename(file + ".old", file);
  CHECK(enqueue(asker, message).status == 201);
  CHECK(asker.ask("GET", "/readyz").status == 200);
  CHECK(count("info well-again") == 1);
}

TEST_CASE("A failure of the library has the status that its caller can act by") {
  const auto status = [](Errc errc) { return failureAnswer(make_error_code(errc), "x").status; };
  CHECK(status(Errc::unknownPeer) == 404);
  CHECK(status(Errc::unknownMessage) == 404);
  CHECK(status(Errc::invalidTransition) == 409);
  CHECK(status(Errc::invalidOption) == 422);
  CHECK(status(Errc::databaseBusy) == 503);
  CHECK(status(Errc::stopped) == 503);
  CHECK(status(Errc::diskFull) == 507);
  CHECK(status(Errc::databaseCorrupt) == 500);
  CHECK(failureAnswer(make_error_code(Errc::databaseBusy), "x").retryAfterSeconds == 1);
}

}  // namespace ackbox::serve::operations_test
