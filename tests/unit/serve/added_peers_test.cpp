// Goal: callers of the API add, change and remove peers while the daemon runs, and can neither read the machine's files
// by them nor get into the way of what a configuration names.
// Method: a daemon over HTTP, with a peer that answers; definitions in, options out.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "serve/config/config.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::added_peers_test {
namespace {

using nlohmann::json;
using testing::HttpReply;
using testing::kJson;

/// Made before the daemon that uses it.
struct SecretsFolder {
  testing::TempDir folder;
};

struct Stage : SecretsFolder, testing::ServeStage {
  explicit Stage(const testing::Settings& settings = {})
      : ServeStage([&] {
          testing::Settings all = settings;
          all.push_back({"added_peers.secrets_folder", folder.file(".").string()});
          return all;
        }()) {}

  HttpReply put(const std::string& name, const json& definition) {
    return asker().ask("PUT", "/v1/peers/" + name, definition.dump(), kJson);
  }
  HttpReply send(const std::string& peer, const std::string& id) {
    return asker().ask("POST", "/v1/messages", json{{"peer", peer}, {"type", "t"}, {"id", id}, {"data", 1}}.dump(),
                       kJson);
  }
  std::string stateOf(const std::string& id) {
    return json::parse(asker().ask("GET", "/v1/messages/" + id + "?wait=30s").body).at("state");
  }

  testing::ServedPeer other;
};

std::vector<std::string> problemsOf(const std::string& definition, const std::string& folder = "/secrets") {
  Config config;
  config.addedPeers.secretsFolder = folder;
  std::vector<ConfigProblem> problems;
  static_cast<void>(readPeerDefinition("carol", definition, config, false, problems));
  std::vector<std::string> told;
  for (const ConfigProblem& problem : problems) {
    told.push_back(problem.field + ": " + problem.what);
  }
  return told;
}

}  // namespace

TEST_CASE("P11: a query of a peer's URL, which may hold a secret, is in no log record, error, figure or view") {
  Stage stage;
  CHECK(stage.put("carol", {{"url", "http://127.0.0.1:1/inbox?key=of-carol-7"}}).status == 201);
  CHECK(stage.send("carol", "a").status == 201);
  CHECK(stage.awaitRecord("peer-added").find(" url=http://127.0.0.1:1/inbox ") != std::string::npos);
  stage.awaitRecord("peer-down");
  CHECK(stage.put("dora", {{"url", "http://127.0.0.1:1/inbox?key=of-carol-7#x"}}).body.find("of-carol-7") ==
        std::string::npos);
  CHECK(stage.logged("of-carol-7").empty());
  for (const char* const target :
       {"/", "/peers", "/changes", "/messages/a", "/v1/messages/a", "/v1/peers", "/metrics"}) {
    const HttpReply reply = stage.asker().ask("GET", target);
    CHECK(reply.status == 200);
    CHECK(reply.body.find("of-carol-7") == std::string::npos);
  }
}

TEST_CASE("A peer that is added is sent to at once, also after a restart, and is shown with its definition") {
  Stage stage;
  CHECK(stage.send("carol", "early").status == 422);
  const HttpReply added = stage.put("carol", {{"url", stage.other.url()}});
  CHECK(added.status == 201);
  CHECK(json::parse(added.body) == json{{"peer", "carol"}, {"added", true}});
  CHECK(stage.send("carol", "a").status == 201);
  CHECK(stage.stateOf("a") == "acked");
  const json shown = json::parse(stage.asker().ask("GET", "/v1/peers/carol").body);
  CHECK(shown.at("definition") == json{{"url", stage.other.url()}});
  CHECK(shown.at("peer").at("added") == true);
  CHECK(json::parse(stage.asker().ask("GET", "/v1/peers/bob").body).at("definition").is_null());
  CHECK(stage.asker().ask("GET", "/v1/peers/nobody").status == 404);
  CHECK(stage.put("carol", {{"url", stage.other.url()}, {"max_requests", 2}}).status == 200);
  stage.end();
  stage.begin({});
  CHECK(stage.send("carol", "b").status == 201);
  CHECK(stage.stateOf("b") == "acked");
  CHECK(stage.logged("operation=peers:add").size() == 1);
}

TEST_CASE("P8: A peer with messages is removed only where the caller says what becomes of them") {
  Stage stage;
  stage.put("carol", {{"url", "http://127.0.0.1:1/inbox"}});
  stage.send("carol", "a");
  const HttpReply refused = stage.asker().ask("DELETE", "/v1/peers/carol");
  CHECK(refused.status == 409);
  CHECK(refused.body.find("not settled: 1. Wait") != std::string::npos);
  CHECK(stage.asker().ask("DELETE", "/v1/peers/carol?messages=drop").status == 422);
  std::uint64_t left = 1;
  while (left != 0) {
    const HttpReply removed = stage.asker().ask("DELETE", "/v1/peers/carol?messages=fail");
    REQUIRE(removed.status == 200);
    left = json::parse(removed.body).at("left");
  }
  CHECK(stage.stateOf("a") == "failed");
  CHECK(stage.send("carol", "b").status == 422);
  CHECK(stage.asker().ask("DELETE", "/v1/peers/carol").status == 200);
  CHECK(stage.asker().ask("DELETE", "/v1/peers/bob").status == 404);
}

TEST_CASE("A name of the configuration, a wrong field and a text that is no JSON are refused with what is wrong") {
  Stage stage;
  CHECK(stage.put("bob", {{"url", stage.other.url()}}).status == 422);
  CHECK(stage.put("carol", {{"url", stage.other.url()}}).status == 201);
  CHECK(stage.put("carol", {{"url", stage.other.url()}}).status == 200);
  const HttpReply same = stage.put("dave", {{"url", stage.other.url()}});
  CHECK(same.status == 422);
  CHECK(same.body.find("lead to the same URL") != std::string::npos);
  const HttpReply misspelt = stage.put("dave", {{"url", "http://127.0.0.1/"}, {"max_requets", 1}});
  CHECK(misspelt.status == 422);
  CHECK(misspelt.body.find("did you mean 'max_requests'?") != std::string::npos);
  for (const json& limit : {json{{"burst", 3}}, json{{"burst", 3}, {"frames", 0}}}) {
    const HttpReply limitless = stage.put("dave", {{"url", "http://127.0.0.1/"}, {"rate_limit", limit}});
    CHECK(limitless.status == 422);
    CHECK(limitless.body.find("rate_limit.") != std::string::npos);
  }
  CHECK(stage.asker().ask("PUT", "/v1/peers/dave", "{", kJson).status == 422);
  CHECK(stage.asker().ask("GET", "/v1/peers/dave").status == 404);
}

TEST_CASE("P11: A definition names files of one folder only, and nothing of the environment") {
  CHECK(problemsOf(R"({"url":"https://x.example/","secrets_file":"carol.key"})").empty());
  for (const char* const file : {"/etc/shadow", "../tokens", "a/b", "."}) {
    for (const char* const field : {"secrets_file", "headers_file", "bearer_token_file"}) {
      const std::vector<std::string> problems = problemsOf(json{{"url", "https://x.example/"}, {field, file}}.dump());
      REQUIRE_MESSAGE(problems.size() == 1, field << " " << file);
      CHECK(problems[0].find("without a folder") != std::string::npos);
    }
  }
  const std::vector<std::string> without =
      problemsOf(R"({"url":"https://x.example/","headers_file":"carol.headers"})", "");
  REQUIRE(without.size() == 1);
  CHECK(without[0].find("needs added_peers.secrets_folder") != std::string::npos);
  CHECK(problemsOf(R"({"url":"https://x.example/","secrets_environment":"HOME"})") ==
        std::vector<std::string>{"secrets_environment: is for the configuration only; name a secrets_file"});
  CHECK(problemsOf(R"({"url":"https://x.example/","networks":["loopback"]})") ==
        std::vector<std::string>{"networks: is for the configuration only: added_peers.networks counts"});
  CHECK(problemsOf(R"({"name":"x","url":"https://x.example/"})").size() == 1);
}

TEST_CASE("P11: A name of a peer that is added is text that an address can name, and a file's name has no zero byte") {
  Stage stage;
  const json definition = {{"url", stage.other.url()}};
  for (const char* const name : {"a%0Ab", "%00", "%7F", "%2E", "%2E%2E", "%FF", "%C2%85"}) {
    CHECK_MESSAGE(stage.put(name, definition).status == 422, name);
  }
  const std::string file("carol.key\0", 10);
  const std::vector<std::string> problems =
      problemsOf(json{{"url", "https://x.example/"}, {"secrets_file", file}}.dump());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("without a folder") != std::string::npos);
}

TEST_CASE("row 11: A rate limit that is taken away or raised counts at once, also for messages that wait for it") {
  Stage stage;
  json definition = {{"url", stage.other.url()}, {"rate_limit", {{"frames", 1}, {"per", "1d"}}}};
  REQUIRE(stage.put("carol", definition).status == 201);
  for (const char* const id : {"a", "b", "c"}) {
    REQUIRE(stage.send("carol", id).status == 201);
  }
  CHECK(stage.stateOf("a") == "acked");
  std::string sentence;
  while (sentence.find("rate limit") == std::string::npos) {
    sentence = json::parse(stage.asker().ask("GET", "/v1/messages/c").body).at("sentence");
  }
  definition["rate_limit"] = {{"frames", 1000}};
  CHECK(stage.put("carol", definition).status == 200);
  CHECK(stage.stateOf("b") == "acked");
  CHECK(stage.stateOf("c") == "acked");
}

TEST_CASE("P13: A peer whose secret is not there is refused, and one that loses it is told as down with the cause") {
  Stage stage;
  const json definition = {{"url", stage.other.url()}, {"bearer_token_file", "carol.token"}};
  CHECK(stage.put("carol", definition).status == 422);
  testing::writePrivateFile(stage.folder.file("carol.token").string(), "a-token\n");
  CHECK(stage.put("carol", definition).status == 201);
  stage.end();
  std::filesystem::remove(stage.folder.file("carol.token"));
  stage.begin({{"added_peers.secrets_folder", stage.folder.file(".").string()}});
  CHECK(stage.send("carol", "a").status == 201);
  CHECK(stage.send("bob", "b").status == 201);
  CHECK(stage.stateOf("b") == "acked");
  std::string error;
  while (error.empty()) {
    error = json::parse(stage.asker().ask("GET", "/v1/peers/carol").body).at("peer").at("last_error");
  }
  CHECK(error.find("carol.token") != std::string::npos);
}

TEST_CASE("P11: A peer that a caller adds is connected to in the networks of the configuration only") {
  Stage stage(testing::Settings{{"added_peers.networks", R"(["public"])"}});
  CHECK(stage.put("carol", {{"url", stage.other.url()}}).status == 201);
  CHECK(stage.send("carol", "a").status == 201);
  std::string error;
  while (error.empty()) {
    error = json::parse(stage.asker().ask("GET", "/v1/peers/carol").body).at("peer").at("last_error");
  }
  CHECK(error.find("127.0.0.1 is not in a network that this peer may use") != std::string::npos);
  const AddedPeersConfig usual;
  CHECK(std::ranges::find(usual.networks, "169.254.0.0/16") == usual.networks.end());
}

TEST_CASE("A wrong network of added peers is named") {
  std::vector<ConfigProblem> problems;
  static_cast<void>(readConfig(R"({"added_peers": {"networks": ["10.0.0.1/8"]}})", {}, problems));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].field == "added_peers.networks");
}

}  // namespace ackbox::serve::added_peers_test
