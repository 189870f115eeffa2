// Goal: a peer's limits and policies are set in the configuration, and what they hold back is explained and counted.
// Method: texts in, options out; then a daemon whose peer may have one message a day.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ackbox/options.hpp"
#include "serve/config/config.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::peer_limits_test {
namespace {

struct Reading {
  Config config;
  std::vector<std::string> problems;
};

Reading read(const std::string& text) {
  std::vector<ConfigProblem> problems;
  Reading reading;
  reading.config = readConfig(text, {}, problems);
  for (const ConfigProblem& problem : problems) {
    reading.problems.push_back(describe(problem, "f"));
  }
  return reading;
}

/// A peer with these fields, and the rest of the configuration.
Reading readPeer(const std::string& fields, const std::string& rest = {}) {
  return read("{\"peers\": [{\n\"url\": \"https://bob.example/\", " + fields + "}]" + rest + "}");
}

PeerOptions peerOf(const std::string& fields, const std::string& rest = {}) {
  Reading reading = readPeer(fields, rest);
  REQUIRE_MESSAGE(reading.problems.empty(), reading.problems.at(0));
  return reading.config.outbox.peers.at(0);
}

}  // namespace

TEST_CASE("row 11: a peer's rate and its policies are fields of the configuration") {
  const PeerOptions peer =
      peerOf(R"("rate_limit": {"frames": 7, "per": "1m", "burst": 3}, "gap": "block", "peer_reset": "resend")");
  CHECK(peer.rateLimit.frames == 7);
  CHECK(peer.rateLimit.per == std::chrono::minutes(1));
  CHECK(peer.rateLimit.burst == 3);
  CHECK(peer.gap == GapPolicy::block);
  CHECK(peer.peerReset == PeerResetPolicy::resend);
  CHECK_FALSE(peer.retry);

  const PeerOptions plain = peerOf(R"("name": "bob")");
  CHECK(plain.rateLimit.frames == 0);
  CHECK_FALSE(plain.gap);
  CHECK_FALSE(plain.peerReset);
}

TEST_CASE("P11: an empty list of networks is refused, because it would permit every address") {
  const auto problems = [](const Reading& reading) { return reading.problems; };
  const std::string why = "networks: is empty, which would permit every address: name networks, such as public";
  CHECK(problems(read(R"({"added_peers": {"networks": []}})")) == std::vector<std::string>{"f:1: added_peers." + why});
  CHECK(problems(readPeer(R"("networks": [])")) == std::vector<std::string>{"f:2: peers[0]." + why});
}

TEST_CASE("row 11: a burst that takes more than a century to come again is refused") {
  const Reading reading = readPeer(R"("rate_limit": {"frames": 1, "per": "1d", "burst": 1000000})");
  REQUIRE(reading.problems.size() == 1);
  CHECK(reading.problems[0].find("rate_limit: has a burst of 1000000, which takes more than 100 years") !=
        std::string::npos);
}

TEST_CASE("what a peer's retry leaves out is as it would be without it") {
  const std::string outbox = R"(, "outbox": {"retry": {"max_retries": 3, "horizon": "2h"}})";
  const PeerOptions native = peerOf(R"("retry": {"horizon": "1d"})", outbox);
  REQUIRE(native.retry);
  CHECK(native.retry->maxRetries == 3);
  CHECK(native.retry->horizon == std::chrono::hours(24));

  const PeerOptions webhook = peerOf(R"("profile": "webhook", "retry": {"max_retries": 4})", outbox);
  REQUIRE(webhook.retry);
  CHECK(webhook.retry->maxRetries == 4);
  CHECK(webhook.retry->horizon == webhookRetryPolicy().horizon);
  CHECK(webhook.retry->delays == webhookRetryPolicy().delays);
}

TEST_CASE("the networks of a peer are a field of the configuration, and a wrong one hides no other problem") {
  CHECK(peerOf(R"("networks": ["public", "10.0.0.0/8"])").networks == std::vector<std::string>{"public", "10.0.0.0/8"});
  CHECK(peerOf(R"("name": "bob")").networks.empty());
  CHECK(readPeer(R"("networks": ["db.example"])").problems ==
        std::vector<std::string>{"f:2: peers[0].networks: 'db.example' is no network; a name cannot be one, allowed: "
                                 "networks such as 10.0.0.0/8 or 2001:db8::/32, addresses, public, loopback"});
  CHECK(
      read("{\"peers\": [{\n\"url\": \"http://bob.example/\",\n\"networks\": [\"10.0.0.5/8\"]}]}").problems ==
      std::vector<std::string>{"f:2: peers[0].url: http:// to another machine must be asked for with allow_plain_http",
                               "f:3: peers[0].networks: '10.0.0.5/8' has bits behind its prefix; write 10.0.0.0/8"});
}

TEST_CASE("a wrong limit of a peer is named with its line and field") {
  CHECK(readPeer(R"("rate_limit": {"frames": 1000001})").problems ==
        std::vector<std::string>{"f:2: peers[0].rate_limit.frames: must be a whole number, 0 to 1000000"});
  for (const char* const limit : {"{}", R"({"burst": 3})", R"({"frames": 0, "burst": 3})"}) {
    CHECK(readPeer(R"("rate_limit": )" + std::string(limit)).problems ==
          std::vector<std::string>{"f:2: peers[0].rate_limit.frames: is missing: the most messages in each `per`"});
  }
  CHECK(readPeer(R"("rate_limit": {"frames": 1, "rate": 3})").problems ==
        std::vector<std::string>{
            "f:2: peers[0].rate_limit.rate: there is no such field; the fields are burst, frames, per"});
  CHECK(
      readPeer(R"("retry": {"max_retrys": 1})").problems ==
      std::vector<std::string>{"f:2: peers[0].retry.max_retrys: there is no such field; did you mean 'max_retries'?"});
  const std::vector<std::string> problems =
      readPeer(R"("peer_reset": "resend")", R"(, "outbox": {"acked_retention": "0s"})").problems;
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("f:2: peers[0].peer_reset: is resend while acked_retention is 0"));
}

TEST_CASE("row 11: what a rate limit holds back is explained, and the time is counted") {
  testing::ServeStage stage(
      {}, [](Config& config) { config.outbox.peers.at(0).rateLimit = {.frames = 1, .per = std::chrono::hours(24)}; });
  testing::HttpAsker asker = stage.asker();
  const auto send = [&](const std::string& session) {
    const std::string answer =
        asker
            .ask("POST", "/v1/messages", R"({"peer":"bob","type":"t","session":")" + session + R"(","data":1})",
                 testing::kJson)
            .body;
    return nlohmann::json::parse(answer).at("message_id").get<std::string>();
  };
  asker.ask("GET", "/v1/messages/" + send("first") + "?wait=30s");
  const std::string held = send("second");
  std::string told;
  while (told.find("rateLimited") == std::string::npos) {
    told = asker.ask("GET", "/v1/messages/" + held).body;
  }
  CHECK(told.find("\"state\":\"pending\"") != std::string::npos);
  const std::string metrics = asker.ask("GET", "/metrics").body;
  CHECK(metrics.find("ackbox_peer_rate_limited_seconds_total{peer=\"away\"} 0\n") != std::string::npos);
  const std::string series = "ackbox_peer_rate_limited_seconds_total{peer=\"bob\"} ";
  const std::size_t at = metrics.find(series);
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(metrics.substr(at + series.size())) > 86'000);
}

}  // namespace ackbox::serve::peer_limits_test
