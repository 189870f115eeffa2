// Goal: a mistake in a configuration is named with its line and field, and nothing unsafe begins to listen.
// Method: texts in, problems out.

#include "serve/config/config.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace ackbox::serve {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

/// The problems of a text, as they are printed.
std::vector<std::string> problemsOf(const std::string& text, const Overrides& overrides = {}) {
  std::vector<ConfigProblem> problems;
  static_cast<void>(readConfig(text, overrides, problems));
  std::vector<std::string> printed;
  for (const ConfigProblem& problem : problems) {
    printed.push_back(describe(problem, "f"));
  }
  return printed;
}

Config read(const std::string& text, const Overrides& overrides = {}) {
  std::vector<ConfigProblem> problems;
  Config config = readConfig(text, overrides, problems);
  for (const ConfigProblem& problem : problems) {
    FAIL(describe(problem, "f"));
  }
  return config;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("Without a file everything has its default, and acknowledged messages are kept for a while") {
  const Config config = read({});
  CHECK(config.api.address == "127.0.0.1");
  CHECK(config.api.port == 7070);
  CHECK(config.outbox.ackedRetention == std::chrono::minutes(10));
  CHECK(config.outbox.adoptPeers);
}

TEST_CASE("A file sets fields by the names of the options, and may have comments") {
  const Config config = read(R"({
    // people read this
    "listen": "unix:/run/a.sock",
    "agent": "urn:agent:alice",
    "outbox": {"max_pending": 7, "ack_timeout": "90s", "gap": "block", "retry": {"max_retries": 3}},
    "peers": [{"name": "bob", "url": "http://127.0.0.1:1/inbox", "profile": "webhook"}],
    "log": {"format": "json", "level": "warning"}
  })");
  CHECK(config.api.address == "unix:/run/a.sock");
  CHECK(config.outbox.agent == "urn:agent:alice");
  CHECK(config.outbox.maxPending == 7);
  CHECK(config.outbox.ackTimeout == std::chrono::seconds(90));
  CHECK(config.outbox.gap == GapPolicy::block);
  CHECK(config.outbox.retry.maxRetries == 3);
  REQUIRE(config.outbox.peers.size() == 1);
  CHECK(config.outbox.peers[0].profile == PeerProfile::webhook);
  CHECK_FALSE(config.outbox.adoptPeers);
  CHECK(config.logFormat == LogFormat::json);
  CHECK(config.outbox.logLevel == LogLevel::warning);
}

TEST_CASE("The command line counts before the file, for any field") {
  const Config config = read(R"({"listen": "127.0.0.1:1", "outbox": {"max_pending": 7}})",
                             {{"outbox.max_pending", "8"}, {"listen", "[::1]:2"}, {"agent", "urn:a"}});
  CHECK(config.outbox.maxPending == 8);
  CHECK(config.api.address == "::1");
  CHECK(config.api.port == 2);
  CHECK(config.outbox.agent == "urn:a");
  CHECK(problemsOf("{}", {{"agent", "y"}, {"agent.name", "x"}}).size() == 1);
}

TEST_CASE("All problems are named at once, each with its line and field") {
  CHECK(problemsOf(
            "{\n \"outbox\": {\n  \"max_pendin\": 1,\n  \"ack_timeout\": 5\n },\n \"peers\": [{\n  \"url\": 3}]}") ==
        Lines{"f:4: outbox.ack_timeout: must be a duration in quotes, such as \"500ms\", \"10s\", \"5m\" or \"7d\"",
              "f:3: outbox.max_pendin: there is no such field", "f:7: peers[0].url: must be a string",
              "f:7: peers[0].url: must be set"});
  CHECK(problemsOf("{\"outbox\": {\"batch_frames\": 0}}") ==
        Lines{"f:1: outbox.batch_frames: must be a whole number from 1 to 256"});
  CHECK(problemsOf("{\"log\": {\"level\": \"loud\"}}") ==
        Lines{"f:1: log.level: must be one of debug, info, warning, error"});
  CHECK(problemsOf("{\"agent\": \"a\",\n\"agent\": \"b\"}") == Lines{"f:2: agent: occurs twice"});
}

TEST_CASE("A text that is no JSON is a problem with a line") {
  const Lines problems = problemsOf("{\n\"agent\": \"a\"\n\"b\"}");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("f:3: syntax error"));
  CHECK(problemsOf("[]") == Lines{"f:1: must be a JSON object"});
  CHECK(problemsOf("{} {}").size() == 1);
  CHECK(problemsOf(std::string(10'000, '[')).size() == 1);
}

TEST_CASE("What only the library knows to be wrong is a problem, too") {
  const Lines problems = problemsOf("{\"outbox\": {\"peer_reset\": \"resend\", \"acked_retention\": \"0s\"}}");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("ackedRetention") != std::string::npos);
}

TEST_CASE("Beyond this machine it listens only with TLS and tokens") {
  const std::string refusal =
      "f:1: listen: beyond this machine the server listens only with TLS (tls.certificate_file, tls.key_file) and "
      "tokens "
      "(tokens_file)";
  const std::string tls = R"("tls": {"certificate_file": "c", "key_file": "k"})";
  CHECK(problemsOf(R"({"listen": "0.0.0.0:1"})") == Lines{refusal});
  CHECK(problemsOf(R"({"listen": "10.0.0.1:1", "tokens_file": "t"})") == Lines{refusal});
  CHECK(problemsOf(R"({"listen": "[::]:1", )" + tls + "}") == Lines{refusal});
  CHECK(problemsOf(R"({"listen": "0.0.0.0:1", "tokens_file": "t", )" + tls + "}").empty());
  for (const char* local : {"127.0.0.1:1", "[::1]:1", "unix:/x"}) {
    CHECK(problemsOf("{}", {{"listen", local}}).empty());
  }
}

TEST_CASE("An inbox posts its frames, or gives them to streams, or both") {
  CHECK(problemsOf(R"({"inbox": {"allow_anonymous": true}})") ==
        Lines{"f:1: inbox.deliver: must name the applications that frames go to, or pull the types that they ask for"});
  CHECK(
      problemsOf(R"({"inbox": {"pull": ["a*b", "c*"], "deliver": [{"types": "*.x", "url": "http://127.0.0.1/"}]}})") ==
      Lines{"f:1: inbox.deliver[0].types: may have a * at its end only",
            "f:1: inbox.pull: may have a * at its end only"});
  const Config config = read(R"({"inbox": {"pull": ["order.*", "job"], "retry": {"max_retries": 40}}})");
  REQUIRE(config.inbox);
  CHECK(config.inbox->pull == Lines{"order.*", "job"});
  CHECK(config.inbox->handler.deferred.retry.maxRetries == 40);
  CHECK(problemsOf(R"({"inbox": {"deliver": [{"url": "http://127.0.0.1:1/"}]}})").empty());
}

TEST_CASE("Where it listens must be an address with a port, or a socket file") {
  for (const char* wrong : {"127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:70000", "127.0.0.1:8x"}) {
    CHECK_MESSAGE(!problemsOf("{}", {{"listen", wrong}}).empty(), wrong);
  }
}

}  // namespace ackbox::serve
