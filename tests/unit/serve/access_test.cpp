// Goal: nobody asks for what they may not: tokens with roles, hosts, browsers, the socket file's permissions; and no
// token is ever logged. Method: a whole daemon over loopback and over a socket file.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "serve/config/regular_file.hpp"
#include "serve/http/refusals.hpp"
#include "serve/http/token_watch.hpp"
#include "serve/http/tokens.hpp"
#include "support/manual_clock.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::access_test {
namespace {

using testing::bearer;
using testing::GuardedStage;
using testing::HttpAsker;
using testing::HttpReply;
using testing::kJson;
using testing::kOperator;
using testing::kReader;
using testing::kSender;
using testing::kTokens;
using testing::ServeStage;
using testing::Settings;
using testing::TempDir;
using testing::writePrivateFile;

const std::string kMessage = R"({"peer":"bob","type":"t"})";

}  // namespace

TEST_CASE("Without a token nothing but health is answered, and with one what its roles allow") {
  GuardedStage stage;
  const auto status = [&](const char* method, const char* target, const std::string& headers,
                          const std::string& body = {}) {
    return stage.asker().ask(method, target, body, headers).status;
  };
  CHECK(status("GET", "/v1/stats", "") == 401);
  CHECK(status("GET", "/v1/stats", bearer("guess-0123456789abcdef0123")) == 401);
  CHECK(status("GET", "/v1/stats", "Authorization: Basic " + kReader + "\r\n") == 401);
  CHECK(status("GET", "/v1/stats", bearer(kReader) + bearer(kReader)) == 401);
  CHECK(status("GET", "/healthz", "") == 200);
  CHECK(status("GET", "/readyz", "") == 200);
  CHECK(status("GET", "/metrics", "") == 401);
  CHECK(status("GET", "/metrics", bearer(kReader)) == 200);
  CHECK(status("GET", "/v1/stats", bearer(kReader)) == 200);
  CHECK(status("GET", "/v1/stats", bearer(kSender)) == 403);
  CHECK(status("POST", "/v1/messages", bearer(kReader) + kJson, kMessage) == 403);
  CHECK(status("POST", "/v1/messages", bearer(kSender) + kJson, kMessage) == 201);
  CHECK(status("POST", "/v1/peers/bob:pause", bearer(kReader)) == 403);
  CHECK(status("POST", "/v1/peers/bob:pause", bearer(kOperator)) == 200);
  const HttpReply refused = stage.asker().ask("GET", "/v1/stats");
  CHECK(refused.header("WWW-Authenticate") == "Bearer");
}

TEST_CASE("A sender sees where its message stands, and no data") {
  GuardedStage stage;
  HttpAsker asker = stage.asker();
  const HttpReply stored = asker.ask("POST", "/v1/messages", kMessage, bearer(kSender) + kJson);
  const std::string location = stored.header("Location");
  CHECK(asker.ask("GET", location, {}, bearer(kSender)).status == 200);
  CHECK(asker.ask("GET", location + "?data=true", {}, bearer(kSender)).status == 403);
  CHECK(asker.ask("GET", location + "?data=true", {}, bearer(kReader)).status == 200);
}

TEST_CASE("Health can be closed and metrics opened") {
  GuardedStage stage(Settings{{"open_health", "false"}, {"open_metrics", "true"}});
  CHECK(stage.asker().ask("GET", "/healthz").status == 401);
  CHECK(stage.asker().ask("GET", "/healthz", {}, bearer(kSender)).status == 200);
  CHECK(stage.asker().ask("GET", "/metrics").status == 200);
}

TEST_CASE("A body of a request without a token is not read") {
  GuardedStage stage;
  HttpAsker asker = stage.asker();
  // The answer comes before the body does: only its head is sent.
  testing::RawConnection connection(stage.server().port());
  connection.send("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n");
  CHECK(connection.receiveMessage().starts_with("HTTP/1.1 401 "));
}

TEST_CASE("Tokens are taken from their file again, and a file that is not as it must be leaves those from before") {
  GuardedStage stage;
  const std::string next = "next-0123456789abcdef012345";
  writePrivateFile(stage.tokens, "ada read " + next + "\n");
  stage.server().reload();
  CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer(kReader)).status == 401);
  CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer(next)).status == 200);
  writePrivateFile(stage.tokens, "ada all " + kReader + "\n");
  stage.server().reload();
  CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer(next)).status == 200);
  writePrivateFile(stage.tokens, "ada read " + next + "\n");
  stage.server().reload();
  const std::vector<std::string> log = stage.log();
  const auto count = [&](const std::string& text) {
    return std::ranges::count_if(log, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(count(" info configuration-reloaded changed=tokens ") == 1);
  CHECK(count(" info configuration-reloaded changed=nothing ") == 1);
  CHECK(count(" warning reload-refused cause=\"" + stage.tokens + ":1: a role is ") == 1);
  CHECK(count(next) == 0);
}

TEST_CASE("A reload looks at secrets, and says that they changed or cannot be used") {
  const TempDir dir;
  const std::string secrets = dir.file("secrets").string();
  writePrivateFile(secrets, "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n");
  ServeStage stage(
      Settings{{"peers", R"([{"name":"bob","url":"http://127.0.0.1:1/","secrets_file":")" + secrets + R"("}])"}});
  writePrivateFile(secrets, "whsec_YWJjZGVmMDEyMzQ1Njc4OTAxMjM0NTY3ODlhYmNkZWY=\n");
  stage.server().reload();
  writePrivateFile(secrets, "whsec_short\n");
  stage.server().reload();
  const std::vector<std::string> log = stage.log();
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(log, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(has(" configuration-reloaded changed=secrets "));
  CHECK(has(" reload-refused cause=\"peers[0]: "));
  for (const char* secret : {"MDEyMzQ1", "YWJjZGVm", "whsec_short"}) {
    CHECK_FALSE(has(secret));
  }
}

TEST_CASE("P11: wrong tokens and roles are counted, logged up to a bound, and slowed; a right token is let in") {
  GuardedStage stage;
  HttpReply refused;
  int guesses = 0;
  do {
    refused = stage.asker().ask("GET", "/v1/stats", {}, bearer("guess-0123456789abcdef0123"));
    ++guesses;
  } while (refused.status == 401 && refused.header("Retry-After").empty() && guesses < 1'000);
  CHECK(refused.status == 401);
  CHECK(refused.header("Retry-After") == "1");
  CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer(kReader)).status == 200);
  CHECK(stage.asker().ask("GET", "/v1/stats").status == 401);
  CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer(kSender)).status == 403);
  const std::string figures = stage.asker().ask("GET", "/metrics", {}, bearer(kReader)).body;
  const auto has = [&](const std::string& line) { return figures.find(line) != std::string::npos; };
  CHECK(has("ackbox_refused_callers_total{cause=\"wrong-token\"} " + std::to_string(guesses) + "\n"));
  CHECK(has("ackbox_refused_callers_total{cause=\"no-token\"} 1\n"));
  CHECK(has("ackbox_refused_callers_total{cause=\"wrong-role\"} 1\n"));
  const std::vector<std::string> log = stage.log();
  const auto count = std::ranges::count_if(
      log, [](const std::string& line) { return line.find(" warning caller-refused ") != std::string::npos; });
  CHECK(count >= 10);
  CHECK(count < guesses + 1);
  CHECK(std::ranges::none_of(log, [](const auto& line) { return line.find("0123456789abcdef") != std::string::npos; }));
}

TEST_CASE("Refused callers are told apart by address, and the log has how many it left out") {
  const auto clock = std::make_shared<testing::ManualClock>();
  std::vector<std::string> log;
  Refusals refusals(clock, [&](const LogRecord& record) { log.push_back(toKeyValue(record)); });
  for (int guess = 0; guess < 10; ++guess) {
    CHECK(refusals.wrongToken("192.0.2.1", "/v1/stats"));
  }
  CHECK_FALSE(refusals.wrongToken("192.0.2.1", "/v1/stats"));
  CHECK(refusals.wrongToken("192.0.2.2", "/v1/stats"));
  CHECK(log.size() == 10);
  clock->advance(std::chrono::seconds(1));
  refusals.wrongRole("192.0.2.3", "/v1/peers", "ada");
  REQUIRE(log.size() == 11);
  CHECK(log.back().find("address=192.0.2.3 operation=/v1/peers caller=ada") != std::string::npos);
  CHECK(log.back().find(" left_out=2 ") != std::string::npos);
  // Those beyond what is remembered share one bound, until others have been forgotten.
  for (int address = 0; address < 2'000; ++address) {
    static_cast<void>(refusals.wrongToken("a" + std::to_string(address), "/v1/stats"));
  }
  CHECK_FALSE(refusals.wrongToken("new", "/v1/stats"));
  clock->advance(std::chrono::minutes(1));
  CHECK(refusals.wrongToken("new", "/v1/stats"));
}

TEST_CASE("P11: tokens whose file cannot be used count for the grace and then nobody's, until it can be used again") {
  const testing::TokensFile guarded;
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  std::vector<std::shared_ptr<const Tokens>> used;
  std::vector<std::string> log;
  const auto watch = std::make_shared<TokenWatch>(
      context.get_executor(), clock, guarded.tokens, std::chrono::minutes(10),
      [&](std::shared_ptr<const Tokens> tokens) { used.push_back(std::move(tokens)); },
      [&](const LogRecord& record) { log.push_back(toKeyValue(record)); });
  const auto pass = [&](std::chrono::milliseconds time) {
    clock->advance(time);
    context.restart();
    context.poll();
  };
  watch->start();
  pass(std::chrono::seconds(0));
  pass(std::chrono::minutes(1));
  CHECK(log.empty());
  // Within the grace those from before count; what the file has when it is back counts at once.
  std::filesystem::rename(guarded.tokens, guarded.tokens + ".away");
  pass(std::chrono::seconds(10));
  REQUIRE(log.size() == 1);
  CHECK(log[0].find(" warning tokens-unusable cause=") != std::string::npos);
  pass(std::chrono::minutes(9));
  std::filesystem::rename(guarded.tokens + ".away", guarded.tokens);
  pass(std::chrono::seconds(10));
  CHECK(log.at(1).find(" info tokens-back ") != std::string::npos);
  REQUIRE(used.size() == 1);
  CHECK(used[0]->find(Tokens::digestOf(kReader)));
  // One that was emptied in place cannot be used, however often it is looked at before it is whole again.
  writePrivateFile(guarded.tokens, "");
  pass(std::chrono::seconds(10));
  CHECK(log.at(2).find(" warning tokens-unusable cause=") != std::string::npos);
  pass(std::chrono::minutes(5));
  CHECK(used.size() == 1);
  std::filesystem::rename(guarded.tokens, guarded.tokens + ".away");
  pass(std::chrono::seconds(10));
  writePrivateFile(guarded.tokens, "");
  pass(std::chrono::seconds(10));
  CHECK(used.size() == 1);
  writePrivateFile(guarded.tokens, kTokens);
  pass(std::chrono::seconds(10));
  REQUIRE(used.size() == 2);
  used.pop_back();
  log.resize(2);
  // One that is unsafe, or has a wrong line, cannot be used either.
  REQUIRE(::chmod(guarded.tokens.c_str(), 0644) == 0);
  pass(std::chrono::seconds(10));
  pass(std::chrono::minutes(10) - std::chrono::seconds(1));
  CHECK(used.size() == 1);
  pass(std::chrono::seconds(10));
  REQUIRE(used.size() == 2);
  CHECK(used[1]->isEmpty());
  CHECK(log.at(3).find(" error tokens-over cause=") != std::string::npos);
  pass(std::chrono::hours(1));
  CHECK(used.size() == 2);
  CHECK(log.size() == 4);
  writePrivateFile(guarded.tokens, kTokens);
  pass(std::chrono::seconds(10));
  REQUIRE(used.size() == 3);
  CHECK(used[2]->find(Tokens::digestOf(kReader)));
  watch->stop();
  pass(std::chrono::seconds(10));
}

TEST_CASE("A file without any token cannot be used: a reload is refused, and the tokens stay as they were") {
  GuardedStage stage;
  for (const char* const text : {"", "# nobody\n", "\n \n"}) {
    writePrivateFile(stage.tokens, text);
    stage.server().reload();
    CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer(kReader)).status == 200);
    CHECK(std::ranges::any_of(stage.log(), [](const std::string& line) {
      return line.find(" warning reload-refused ") != std::string::npos &&
             line.find("has no token") != std::string::npos;
    }));
    std::vector<std::string> problems;
    static_cast<void>(Tokens::read(stage.tokens, problems));
    CHECK(problems.size() == 1);
  }
}

TEST_CASE(
    "A file with secrets is safe for its owner, for the group of a file of root's, and where it was handed over") {
  constexpr uid_t kUser = 1'000;
  const auto isSafe = [](mode_t mode, uid_t owner, bool isHandedOver = false) {
    return exposureOf({mode, owner, isHandedOver}).empty();
  };
  CHECK(isSafe(0600, kUser));
  CHECK(isSafe(0400, 0));
  // A credential of systemd, whose list of users shows as a group; a group such as ssl-cert.
  CHECK(isSafe(0440, 0));
  CHECK(isSafe(0640, 0));
  CHECK_FALSE(isSafe(0640, kUser));
  CHECK_FALSE(isSafe(0644, 0));
  CHECK_FALSE(isSafe(0604, kUser));
  CHECK_FALSE(isSafe(0660, 0));
  CHECK_FALSE(isSafe(0602, 0));
  // A secret of Kubernetes or of a Docker swarm.
  CHECK(isSafe(0644, 0, true));
  CHECK(isSafe(0444, 0, true));
  CHECK_FALSE(isSafe(0666, 0, true));
  const TempDir dir;
  const std::string file = dir.file("key").string();
  writePrivateFile(file, "secret");
  CHECK(readSecretFile(file, 100).text == "secret");
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  const RegularFile exposed = readSecretFile(file, 100);
  CHECK(exposed.text.empty());
  CHECK(exposed.problem == file + ": others can read it, and it has secrets; chmod 600 it");
  // By a name that leads to it, as Kubernetes has them, it is the same file.
  std::filesystem::create_symlink(file, file + ".link");
  CHECK_FALSE(readSecretFile(file + ".link", 100).problem.empty());
  REQUIRE(::chmod(file.c_str(), 0400) == 0);
  CHECK(readSecretFile(file + ".link", 100).text == "secret");
}

TEST_CASE("The daemon's own records obey log.level") {
  ServeStage stage(Settings{{"log.level", "warning"}});
  CHECK(stage.asker().ask("POST", "/v1/peers/bob:pause").status == 200);
  stage.server().reload();
  stage.end();
  CHECK(stage.log().empty());
}

TEST_CASE("A file of tokens that others can read, or with a malformed line, is refused without showing a token") {
  const TempDir dir;
  const std::string file = dir.file("tokens").string();
  const auto problemOf = [&](const std::string& text) -> std::string {
    writePrivateFile(file, text);
    try {
      static_cast<void>(Tokens::load(file));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(problemOf("ada read " + kReader).empty());
  CHECK(problemOf("ada\tread\t" + kReader + "\r\n").empty());
  for (const std::string& wrong :
       std::vector<std::string>{"ada " + kReader, "ada king " + kReader, "ada read short", "ada read " + kReader + " x",
                                "ada read " + kReader + '\0', "ada read " + kReader + "\x1b"}) {
    const std::string problem = problemOf("\n" + wrong);
    CHECK_MESSAGE(problem.find("tokens:2: ") != std::string::npos, wrong);
    CHECK(problem.find(kReader) == std::string::npos);
  }
  const std::string twice = problemOf("ada read " + kReader + "\n# more\nbob send " + kReader + "\n");
  CHECK(twice.find("tokens:3: line 1 has the same token; give each caller its own") != std::string::npos);
  CHECK(twice.find(kReader) == std::string::npos);
  writePrivateFile(file, "ada read " + kReader);
  REQUIRE(::chmod(file.c_str(), 0604) == 0);
  CHECK_THROWS_AS(static_cast<void>(Tokens::load(file)), Error);
  for (const std::filesystem::path& wrong : {dir.file("none"), std::filesystem::path("/dev/zero"), dir.file("")}) {
    CHECK_THROWS_AS(static_cast<void>(Tokens::load(wrong)), Error);
  }
  const std::filesystem::path pipe = dir.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(static_cast<void>(Tokens::load(pipe)), Error);
  std::vector<std::string> all;
  writePrivateFile(file, "a king " + kReader + "\nb read short\n");
  static_cast<void>(Tokens::read(file, all));
  CHECK(all.size() == 2);
}

TEST_CASE("Another host is refused, because a page may have given its own name this machine's address") {
  ServeStage stage(Settings{{"allowed_hosts", R"(["outbox.example"])"}});
  const auto status = [&](const std::string& host) {
    return stage.asker().ask("GET", "/v1/stats", {}, "Host: " + host + "\r\n").status;
  };
  CHECK(status("localhost:7070") == 200);
  CHECK(status("LOCALHOST") == 200);
  CHECK(status("127.0.0.1:1") == 200);
  CHECK(status("[::1]:80") == 200);
  CHECK(status("outbox.example") == 200);
  CHECK(status("evil.example") == 421);
  CHECK(status("localhost.evil.example") == 421);
  CHECK(status("") == 421);
  for (const char* host : {"127.0.0.1:99@evil", "localhost:80:80", "localhost:", "localhost:x", "[::1]x:80"}) {
    CHECK_MESSAGE(status(host) == 421, host);
  }
}

TEST_CASE("A target may be a whole URL, whose host counts instead of the header's") {
  ServeStage stage;
  const auto status = [&](const std::string& target, const std::string& headers = {}) {
    return stage.asker().ask("GET", target, {}, headers).status;
  };
  CHECK(status("http://localhost/v1/stats") == 200);
  CHECK(status("HTTP://LOCALHOST:7070/v1/messages?limit=1") == 200);
  CHECK(status("https://127.0.0.1/v1/stats", "Host: evil.example\r\n") == 200);
  CHECK(status("http://localhost") == 200);
  CHECK(status("http://localhost?x=1") == 422);
  CHECK(status("http://evil.example/v1/stats") == 421);
  CHECK(status("http://localhost@evil.example/v1/stats") == 421);
  CHECK(status("http:///v1/stats") == 421);
  CHECK(status("ftp://localhost/v1/stats") == 404);
}

TEST_CASE("Who lacks a role is told which, and which its token has") {
  GuardedStage stage;
  const auto detail = [&](const char* method, const char* target, const std::string& token) {
    return stage.asker().ask(method, target, {}, bearer(token)).body;
  };
  CHECK(
      detail("POST", "/v1/peers/bob:pause", kReader).find("needs the role operate, and the token of 'ada' has read.") !=
      std::string::npos);
  CHECK(detail("GET", "/v1/inbox/stream", kOperator)
            .find("the role receive or mailbox, and the token of 'ops' has read and operate.") != std::string::npos);
  CHECK(stage.asker().ask("GET", "/openapi.json").status == 200);
  CHECK(stage.asker().ask("GET", "/nowhere").body.find("GET /openapi.json") != std::string::npos);
}

TEST_CASE("A page of another origin changes nothing: it cannot set x-ackbox") {
  ServeStage stage;
  const auto status = [&](const std::string& headers) {
    return stage.asker().ask("POST", "/v1/peers/bob:pause", {}, headers).status;
  };
  CHECK(status("Origin: http://evil.example\r\n") == 403);
  CHECK(status("Sec-Fetch-Site: cross-site\r\n") == 403);
  CHECK(status("Origin: null\r\nx-ackbox: 0\r\n") == 403);
  CHECK(status("Origin: http://localhost:7070\r\nx-ackbox: 1\r\n") == 200);
  CHECK(status("") == 200);
  const HttpReply reply = stage.asker().ask("GET", "/v1/stats", {}, "Origin: http://evil.example\r\n");
  CHECK(reply.header("Access-Control-Allow-Origin").empty());
  CHECK(stage.asker().ask("OPTIONS", "/v1/peers/bob:pause").status == 405);
  for (const char* stream : {"/v1/inbox/stream", "/v1/events"}) {
    CHECK(stage.asker().ask("GET", stream, {}, "Sec-Fetch-Site: cross-site\r\n").status == 403);
    CHECK(stage.asker().ask("GET", stream, {}, "Origin: http://evil.example\r\n").status == 403);
  }
}

TEST_CASE("Each answer keeps a browser from doing anything with it") {
  ServeStage stage;
  for (const char* target : {"/v1/stats", "/nowhere", "/metrics"}) {
    const HttpReply reply = stage.asker().ask("GET", target);
    CHECK(reply.header("Content-Security-Policy").starts_with("default-src 'none'"));
    CHECK(reply.header("X-Content-Type-Options") == "nosniff");
    CHECK(reply.header("Cache-Control") == "no-store");
  }
}

TEST_CASE("A change is in the log with its caller, and no token is") {
  GuardedStage stage(Settings{{"outbox.max_pending", "10"}, {"log.level", "debug"}});
  CHECK(stage.asker().ask("POST", "/v1/peers/bob:pause", {}, bearer(kOperator)).status == 200);
  CHECK(stage.asker().ask("POST", "/v1/dead-letters:retry", R"({"peer":"bob"})", bearer(kOperator)).status == 200);
  CHECK(stage.asker().ask("GET", "/v1/stats", {}, bearer("wrong-0123456789abcdef0123")).status == 401);
  const std::vector<std::string> log = stage.log();
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(log, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(has("operated caller=ops operation=peers:pause target=bob changed=1"));
  CHECK(has("operated caller=ops operation=dead-letters:retry target=\"{\\\"peer\\\":\\\"bob\\\"}\" changed=0"));
  for (const std::string& token : {kReader, kSender, kOperator, std::string("wrong-0123456789abcdef0123")}) {
    CHECK_FALSE(has(token));
  }
}

TEST_CASE(
    "A socket file is its owner's alone, has no hosts, replaces one that was left behind, and goes with the server") {
  const TempDir dir;
  const std::string socket = dir.file("s.sock").string();
  {
    ServeStage stage(Settings{{"listen", "unix:" + socket}});
    struct stat found {};
    REQUIRE(::lstat(socket.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
    HttpAsker asker(socket);
    CHECK(asker.ask("GET", "/v1/stats", {}, "Host: anything\r\n").status == 200);
    CHECK(stage.server().url() == "unix:" + socket);
    CHECK_THROWS_AS(ServeStage(Settings{{"listen", "unix:" + socket}}), Error);
    CHECK(asker.ask("GET", "/v1/stats").status == 200);
  }
  CHECK_FALSE(std::filesystem::exists(socket));
  std::ofstream(socket) << "precious";
  CHECK_THROWS_AS(ServeStage(Settings{{"listen", "unix:" + socket}}), Error);
  CHECK(std::filesystem::file_size(socket) == 8);
}

}  // namespace ackbox::serve::access_test
