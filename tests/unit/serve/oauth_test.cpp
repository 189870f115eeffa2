// Goal: requests to a peer with `oauth` carry a token that is fetched when it is needed, never twice at once; whatever
// the token server or the peer answers, no message is charged for it, and nothing secret is shown. Method: the
// decisions on virtual time; answers as a table; a sender with a client in the test's hands; a daemon over loopback.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/config/config.hpp"
#include "serve/config/file_stamps.hpp"
#include "serve/oauth/oauth_sender.hpp"
#include "support/manual_clock.hpp"
#include "transport/http_server.hpp"
#include "transport/networks.hpp"
#include "transport/request_head.hpp"
#include "unit/serve/serve_stage.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::serve::oauth_test {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::HttpReply;
using testing::kJson;
using testing::ServeStage;
using testing::Settings;
using testing::TempDir;
using testing::writePrivateFile;
using transport::HttpAnswer;
using transport::HttpEnd;
using Step = TokenMachine::Step;

const std::string kSecret = "se/cret+0123456789";

HttpAnswer answerOf(int status, std::string body, const std::string& retryAfter = {}) {
  HttpAnswer answer;
  answer.end = HttpEnd::answered;
  answer.status = status;
  answer.body = std::move(body);
  answer.retryAfter = retryAfter;
  return answer;
}

std::string tokenText(const std::string& token, int lifetime = 3600) {
  return json{{"access_token", token}, {"token_type", "Bearer"}, {"expires_in", lifetime}}.dump();
}

OauthRule ruleOf() {
  return {.tokenUrl = "http://127.0.0.1:9/token",
          .clientId = "agent",
          .clientSecret = SecretSource::fixed({Secret(std::string(kSecret))}),
          .scope = "a b"};
}

/// The client of the token server, in the test's hands.
class Poster final : public transport::HttpPoster {
public:
  void asyncPost(transport::HttpPost post, transport::HttpHandler handler) override {
    posts.push_back(std::move(post));
    handlers.push_back(std::move(handler));
  }
  void close() override {
    HttpAnswer answer;
    answer.end = HttpEnd::cancelled;
    give(answer);
  }
  void give(const HttpAnswer& answer) {
    for (const transport::HttpHandler& handler : std::exchange(handlers, {})) {
      handler(answer);
    }
  }

  std::vector<transport::HttpPost> posts;
  std::vector<transport::HttpHandler> handlers;
};

/// Answers each request at once with the next of `statuses`, and then with 200; remembers the headers of its peer.
class Inner final : public Sender {
public:
  void usePeers(std::span<const PeerOptions> peers) override { all.assign(peers.begin(), peers.end()); }
  void changePeer(const PeerOptions& peer) override { all = {peer}; }
  void removePeer(std::string_view /*name*/) override { all.clear(); }
  void asyncSend(SendRequest /*request*/, SendHandler handler) override {
    const std::vector<Secret> lines = all.empty() ? std::vector<Secret>() : all.front().headers.load();
    sent.push_back(lines.empty() ? "" : std::string(lines.front().reveal()));
    SendReport report;
    report.status = statuses.empty() ? 200 : statuses.front();
    report.outcome = report.status == 200 ? RequestOutcome::answered : RequestOutcome::peerRefused;
    if (!statuses.empty()) {
      statuses.pop_front();
    }
    handler(report);
  }

  void stop() override {}

  std::vector<PeerOptions> all;
  std::vector<std::string> sent;
  std::deque<int> statuses;
};

/// An `OauthSender` with a peer `bob` that has tokens and a peer `plain` that has none.
struct SenderStage {
  explicit SenderStage(std::vector<std::string> networks = {}) {
    HttpSenderOptions options;
    options.clock = clock;
    sender = std::make_shared<OauthSender>(inner, options,
                                           TokensOfPeers{{"bob", std::make_shared<OauthTokens>(ruleOf(), clock)}},
                                           [this](const auto& /*executor*/) { return poster; });
    PeerOptions bob;
    bob.name = "bob";
    bob.networks = std::move(networks);
    sender->usePeers({&bob, 1});
    sender->start(context.get_executor());
  }
  void send(const std::string& peer = "bob") {
    SendRequest request;
    request.peer = peer;
    sender->asyncSend(std::move(request), [this](SendReport report) { reports.push_back(std::move(report)); });
    run();
  }
  void give(const HttpAnswer& answer) {
    poster->give(answer);
    run();
  }
  void run() {
    context.restart();
    context.poll();
  }

  boost::asio::io_context context;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::shared_ptr<Poster> poster = std::make_shared<Poster>();
  std::shared_ptr<Inner> inner = std::make_shared<Inner>();
  std::shared_ptr<OauthSender> sender;
  std::vector<SendReport> reports;
};

/// A token server at `/token`, and a webhook at `/hook` that wants its last token. Answers `statuses` first.
class Web {
public:
  Web() {
    transport::RequestSink sink;
    sink.bodyBytesMax = 1'000'000;
    sink.admit = [this](const transport::RequestHead& head) {
      transport::Admission admission;
      admission.bodyBytesMax = 1'000'000;
      admission.handle = [this, isToken = head.target() == "/token", proof = std::string(head.header("authorization"))](
                             const std::string& body, const transport::Admission::Respond& respond) {
        respond(isToken ? giveToken(proof, body) : take(proof));
      };
      return admission;
    };
    InboundServerOptions options;
    options.port = 0;
    server_ = std::make_shared<transport::HttpServer>(io_.executor(), options, std::move(sink));
    server_->start();
  }
  ~Web() { server_->stop(); }

  [[nodiscard]] std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  void answerTokensWith(std::deque<int> statuses) {
    const std::scoped_lock lock(mutex_);
    statuses_ = std::move(statuses);
  }
  /// The token that was given is refused from now on.
  void revoke() {
    const std::scoped_lock lock(mutex_);
    valid_.clear();
  }
  [[nodiscard]] std::vector<std::string> proofs() {
    const std::scoped_lock lock(mutex_);
    return proofs_;
  }
  [[nodiscard]] std::string body() {
    const std::scoped_lock lock(mutex_);
    return body_;
  }

private:
  InboundResponse giveToken(const std::string& proof, const std::string& body) {
    const std::scoped_lock lock(mutex_);
    proofs_.push_back(proof);
    body_ = body;
    InboundResponse response;
    response.contentType = "application/json";
    response.status = statuses_.empty() ? 200 : statuses_.front();
    if (!statuses_.empty()) {
      statuses_.pop_front();
      response.body = R"({"error":"invalid_client","error_description":")" + kSecret + R"("})";
      return response;
    }
    valid_ = "token-" + std::to_string(proofs_.size());
    response.body = tokenText(valid_);
    return response;
  }
  InboundResponse take(const std::string& proof) {
    const std::scoped_lock lock(mutex_);
    InboundResponse response;
    response.status = !valid_.empty() && proof == "Bearer " + valid_ ? 200 : 401;
    return response;
  }

  std::mutex mutex_;
  std::deque<int> statuses_;
  std::string valid_;
  std::vector<std::string> proofs_;
  std::string body_;
  testing::IoThread io_;
  std::shared_ptr<transport::HttpServer> server_;
};

}  // namespace

TEST_CASE("A token is used until shortly before its end, and one fetch is under way at a time") {
  const SteadyTime start{};
  TokenMachine machine;
  CHECK(machine.asked(start) == Step::fetch);
  CHECK(machine.asked(start) == Step::wait);
  machine.fetched(seconds(3600), start);
  CHECK(machine.number() == 1);
  CHECK(machine.asked(start + seconds(3569)) == Step::use);
  CHECK(machine.asked(start + seconds(3570)) == Step::fetch);
  CHECK(machine.asked(start + seconds(3571)) == Step::wait);
  // A fetch that fails leaves the token, until its end.
  machine.failed("away", false, {}, start + seconds(3571));
  CHECK(machine.asked(start + seconds(3571)) == Step::use);
  CHECK(machine.asked(start + seconds(3572)) == Step::fetch);
  machine.failed("away", false, std::chrono::minutes(2), start + seconds(3572));
  CHECK(machine.asked(start + seconds(3600)) == Step::refuse);
  CHECK(machine.pause(start + seconds(3600)) == seconds(92));
}

TEST_CASE("A lifetime that is missing, short, or endless has its bounds") {
  const SteadyTime start{};
  const auto usedFor = [&](std::optional<seconds> lifetime) {
    TokenMachine machine;
    static_cast<void>(machine.asked(start));
    machine.fetched(lifetime, start);
    std::chrono::milliseconds used{0};
    while (machine.asked(start + used) == Step::use) {
      used += used < seconds(10) ? std::chrono::milliseconds(250) : std::chrono::milliseconds(10'000);
    }
    return used;
  };
  CHECK(usedFor(std::nullopt) == seconds(270));
  CHECK(usedFor(seconds(0)) == std::chrono::milliseconds(750));
  CHECK(usedFor(seconds(8)) == seconds(6));
  CHECK(usedFor(std::chrono::hours(24 * 365)) == std::chrono::hours(24) - seconds(30));
}

TEST_CASE("A token server that is away is asked again soon, and one that refuses seldom") {
  const SteadyTime start{};
  const auto pauses = [&](bool isRefusal) {
    TokenMachine machine;
    std::vector<std::int64_t> found;
    for (int time = 0; time < 20; ++time) {
      machine.failed("no", isRefusal, {}, start);
      found.push_back(std::chrono::duration_cast<seconds>(machine.pause(start)).count());
    }
    CHECK(machine.asked(start) == Step::refuse);
    return std::pair(std::vector(found.begin(), found.begin() + 3), found.back());
  };
  CHECK(pauses(false) == std::pair(std::vector<std::int64_t>{1, 2, 4}, std::int64_t{60}));
  CHECK(pauses(true) == std::pair(std::vector<std::int64_t>{10, 20, 40}, std::int64_t{300}));
}

TEST_CASE("A token is given up for a 401 once a minute, and a 401 to an earlier token leads to the present one") {
  const SteadyTime start{};
  TokenMachine machine;
  const auto fetch = [&](SteadyTime now) {
    REQUIRE(machine.asked(now) == Step::fetch);
    machine.fetched(seconds(3600), now);
  };
  fetch(start);
  CHECK(machine.refused(1, start));
  CHECK_FALSE(machine.isValid(start));
  fetch(start);
  CHECK(machine.refused(1, start));
  CHECK(machine.asked(start) == Step::use);
  CHECK_FALSE(machine.refused(2, start + seconds(59)));
  CHECK(machine.asked(start + seconds(59)) == Step::use);
  CHECK(machine.refused(2, start + seconds(60)));
  CHECK(machine.asked(start + seconds(60)) == Step::fetch);
}

TEST_CASE("The request for a token names the client by Basic, and what is wanted in its form") {
  OauthRule rule = ruleOf();
  rule.audience = "https://bob/";
  const transport::HttpPost post = tokenRequest(rule);
  CHECK(post.body == "grant_type=client_credentials&scope=a%20b&audience=https%3A%2F%2Fbob%2F");
  // agent:se%2Fcret%2B0123456789
  const std::pair<std::string, std::string> proof("Authorization", "Basic YWdlbnQ6c2UlMkZjcmV0JTJCMDEyMzQ1Njc4OQ==");
  CHECK(std::ranges::find(post.headers, proof) != post.headers.end());
  CHECK(post.timeout == seconds(10));
}

TEST_CASE("What a token server answers is a token, or a sentence with a remedy and nothing secret") {
  const auto said = [](const HttpAnswer& answer) { return readTokenAnswer(answer).problem; };
  const auto lifetime = [](const std::string& value) {
    return readTokenAnswer(answerOf(200, R"({"access_token":"t","expires_in":)" + value + "}")).lifetime;
  };
  const TokenAnswer good = readTokenAnswer(answerOf(200, tokenText("abc")));
  CHECK(good.problem.empty());
  CHECK(good.header.reveal() == "Authorization: Bearer abc");
  CHECK(good.lifetime == seconds(3600));
  CHECK(lifetime("\"60\"") == seconds(60));
  CHECK(lifetime("60.5") == seconds(60));
  CHECK_FALSE(lifetime("null"));
  CHECK_FALSE(lifetime("-1"));
  CHECK_FALSE(lifetime("\"soon\""));
  struct Row {
    HttpAnswer answer;
    std::string problem;
    bool isRefusal;
  };
  const std::vector<Row> rows = {
      {answerOf(400, R"({"error":"invalid_client","error_description":"SECRET"})"),
       "answers 400 invalid_client: correct client_id or client_secret_file", true},
      {answerOf(401, R"({"error":"SECRET"})"), "answers 401: check token_url, client_id and client_secret_file", true},
      {answerOf(400, R"({"error":"invalid_scope"})"), "answers 400 invalid_scope: correct scope", true},
      {answerOf(302, "SECRET"), "answers 302: check token_url", true},
      {answerOf(500, "SECRET"), "answers 500: it is asked again", false},
      {answerOf(429, "{}"), "answers 429: it is asked again", false},
      {answerOf(200, "<html>SECRET"), "answers 200 and no JSON object", true},
      {answerOf(200, R"({"token":"SECRET"})"), "answers 200 without a usable access_token", true},
      {answerOf(200, R"({"access_token":""})"), "answers 200 without a usable access_token", true},
      {answerOf(200, R"({"access_token":"SECRET\r\nX: y"})"), "answers 200 without a usable access_token", true},
      {answerOf(200, tokenText(std::string(7 * 1024 + 1, 'a'))), "answers 200 without a usable access_token", true},
      {answerOf(200, R"({"access_token":"SECRET","token_type":"mac"})"), "gives a token that is no bearer token", true},
      {answerOf(200, std::string(64 * 1024 + 1, ' ')), "answers with more than 64 KiB", true},
  };
  for (const Row& row : rows) {
    const TokenAnswer read = readTokenAnswer(row.answer);
    CHECK_MESSAGE(read.problem.find(row.problem) != std::string::npos, read.problem);
    CHECK_MESSAGE(read.problem.find("SECRET") == std::string::npos, read.problem);
    CHECK_MESSAGE(read.isRefusal == row.isRefusal, read.problem);
  }
  HttpAnswer slow;
  slow.error = "timed out";
  CHECK(said(slow) == "no token: the token server cannot be reached: timed out");
  CHECK_FALSE(readTokenAnswer(slow).isRefusal);
  CHECK(readTokenAnswer(answerOf(503, "", "7")).retryAfter == seconds(7));
}

TEST_CASE("Requests wait for one fetch and have its token; a peer without tokens is not concerned") {
  SenderStage stage;
  stage.send("plain");
  CHECK(stage.reports.size() == 1);
  stage.send();
  stage.send();
  CHECK(stage.reports.size() == 1);
  REQUIRE(stage.poster->posts.size() == 1);
  stage.give(answerOf(200, tokenText("one")));
  CHECK(stage.reports.size() == 3);
  stage.send();
  CHECK(stage.poster->posts.size() == 1);
  CHECK(stage.inner->sent == std::vector<std::string>{"", "Authorization: Bearer one", "Authorization: Bearer one",
                                                      "Authorization: Bearer one"});
  // The next one, once this one has expired.
  stage.clock->advance(seconds(3600));
  stage.send();
  REQUIRE(stage.poster->posts.size() == 2);
  stage.give(answerOf(200, tokenText("two")));
  CHECK(stage.inner->sent.back() == "Authorization: Bearer two");
}

TEST_CASE("P8: without a token the peer is unavailable, with the cause, and the token server is not asked each time") {
  SenderStage stage;
  stage.send();
  stage.give(answerOf(400, R"({"error":"invalid_client"})"));
  stage.send();
  REQUIRE(stage.reports.size() == 2);
  for (const SendReport& report : stage.reports) {
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
    CHECK_FALSE(report.isUnclear);
    CHECK(report.error ==
          "oauth: no token: the token server answers 400 invalid_client: correct client_id or client_secret_file");
  }
  CHECK(stage.poster->posts.size() == 1);
  CHECK(stage.inner->sent.empty());
  stage.clock->advance(seconds(10));
  stage.send();
  stage.give(answerOf(200, tokenText("one")));
  CHECK(stage.reports.back().outcome == RequestOutcome::answered);
}

TEST_CASE("A 401 of the peer leads to another token once; one that follows is the peer's answer") {
  SenderStage stage;
  stage.inner->statuses = {401};
  stage.send();
  stage.give(answerOf(200, tokenText("one")));
  CHECK(stage.reports.empty());
  stage.give(answerOf(200, tokenText("two")));
  REQUIRE(stage.reports.size() == 1);
  CHECK(stage.reports.front().status == 200);
  CHECK(stage.inner->sent.back() == "Authorization: Bearer two");
  stage.clock->advance(std::chrono::minutes(2));
  stage.inner->statuses = {401, 401, 401};
  stage.send();
  stage.give(answerOf(200, tokenText("three")));
  REQUIRE(stage.reports.size() == 2);
  CHECK(stage.reports.back().status == 401);
  stage.send();
  REQUIRE(stage.reports.size() == 3);
  CHECK(stage.reports.back().status == 401);
  CHECK(stage.poster->posts.size() == 3);
  CHECK(stage.poster->handlers.empty());
}

TEST_CASE("The networks of a peer hold for its token server, and a stop ends what waits for a token") {
  SenderStage stage({"10.0.0.0/8"});
  stage.send();
  REQUIRE(stage.poster->posts.size() == 1);
  REQUIRE(stage.poster->posts.front().networks);
  CHECK(stage.poster->posts.front().networks->text() == transport::Networks({"10.0.0.0/8"}).text());
  stage.sender->stop();
  stage.run();
  REQUIRE(stage.reports.size() == 1);
  CHECK(stage.reports.front().outcome == RequestOutcome::cancelled);
}

TEST_CASE("A peer that is removed while its request waits for a token is not put back") {
  SenderStage stage;
  stage.send();
  stage.sender->removePeer("bob");
  stage.give(answerOf(200, tokenText("one")));
  CHECK(stage.inner->all.empty());
  CHECK(stage.reports.size() == 1);
  // Added again without tokens, its requests wait for none.
  stage.sender->use("bob", nullptr);
  PeerOptions bob;
  bob.name = "bob";
  stage.sender->changePeer(bob);
  stage.send();
  CHECK(stage.inner->sent.back().empty());
}

TEST_CASE("A daemon has a token for its peer, another after a revocation, and says why it has none") {
  Web web;
  const TempDir dir;
  const std::string file = dir.file("secret").string();
  writePrivateFile(file, kSecret + "\n");
  const json peer = {
      {"name", "hook"},
      {"url", web.url("/hook")},
      {"profile", "webhook"},
      {"oauth",
       {{"token_url", web.url("/token")}, {"client_id", "agent"}, {"client_secret_file", file}, {"audience", "hook"}}}};
  const Settings settings{{"peers", json::array({peer}).dump()}};
  ServeStage stage(settings);
  const auto send = [&](const std::string& id) {
    const std::string body = json{{"peer", "hook"}, {"type", "t"}, {"id", id}, {"data", 1}}.dump();
    REQUIRE(stage.asker().ask("POST", "/v1/messages", body, kJson).status == 201);
  };
  const auto state = [&](const std::string& id) {
    return json::parse(stage.asker().ask("GET", "/v1/messages/" + id + "?wait=30s").body).at("state");
  };
  send("a");
  CHECK(state("a") == "acked");
  CHECK(web.body() == "grant_type=client_credentials&audience=hook");
  web.revoke();
  send("b");
  CHECK(state("b") == "acked");
  CHECK(web.proofs().size() == 2);
  stage.end();
  web.answerTokensWith(std::deque<int>(1'000, 401));
  stage.begin(settings);
  send("c");
  CHECK(stage.awaitRecord(" peer-down ").find("invalid_client: correct client_id") != std::string::npos);
  const json shown = json::parse(stage.asker().ask("GET", "/v1/messages/c").body);
  CHECK(shown.at("state") != "failed");
  CHECK(shown.at("retry_count") == 0);
  for (const char* const target : {"/v1/messages/c", "/v1/peers", "/v1/stats", "/metrics", "/", "/peers", "/doctor"}) {
    const std::string body = stage.asker().ask("GET", target).body;
    CHECK_MESSAGE(body.find("0123456789") == std::string::npos, target);
    CHECK_MESSAGE(body.find("token-") == std::string::npos, target);
  }
  const std::vector<std::string> log = stage.log();
  CHECK(std::ranges::none_of(log, [](const auto& line) { return line.find("0123456789") != std::string::npos; }));
  CHECK(std::ranges::none_of(log, [](const auto& line) { return line.find("token-") != std::string::npos; }));
}

TEST_CASE("A configuration of oauth is complete, encrypted, and alone") {
  const TempDir dir;
  const std::string file = dir.file("secret").string();
  writePrivateFile(file, kSecret + "\n");
  const auto problems = [&](const json& oauth, const json& more = json::object()) {
    json peer = {{"name", "p"}, {"url", "http://127.0.0.1:1/"}, {"oauth", oauth}};
    peer.update(more);
    std::vector<ConfigProblem> found;
    static_cast<void>(readConfig(json{{"agent", "urn:a"}, {"peers", {peer}}}.dump(), {}, found));
    std::string text;
    for (const ConfigProblem& problem : found) {
      text += problem.field + ": " + problem.what + "\n";
    }
    return text;
  };
  const json good = {{"token_url", "https://t/token"}, {"client_id", "a"}, {"client_secret_file", file}};
  const auto with = [&](const char* field, const json& value) {
    json changed = good;
    changed[field] = value;
    return changed;
  };
  CHECK(problems(good) == "");
  CHECK(problems(with("token_url", "http://localhost:1/token")) == "");
  CHECK(problems(with("token_url", "http://t/token")).find("peers[0].oauth.token_url: must be https://") == 0);
  CHECK(problems(with("token_url", "")).find("peers[0].oauth.token_url: must be set") == 0);
  CHECK(problems(with("client_id", "")).find("peers[0].oauth.client_id: must be set") == 0);
  CHECK(problems(with("client_secret_file", "/nowhere")).find("peers[0].oauth.client_secret_file: ") == 0);
  CHECK(problems(with("secret", "x")).find("peers[0].oauth.secret: ") == 0);
  CHECK(problems(good, {{"bearer_token_file", file}}).find("peers[0].oauth: cannot be set beside ") == 0);
  std::vector<ConfigProblem> found;
  Config config;
  config.addedPeers.secretsFolder = dir.file(".");
  std::shared_ptr<OauthTokens> tokens;
  json definition = {{"url", "https://bob/"}, {"oauth", with("client_secret_file", "secret")}};
  const PeerOptions peer = readPeerDefinition("bob", definition.dump(), config, true, found, &tokens);
  CHECK(found.empty());
  CHECK(tokens);
  CHECK_FALSE(peer.networks.empty());
  definition["oauth"]["client_secret_file"] = file;
  static_cast<void>(readPeerDefinition("bob", definition.dump(), config, true, found, &tokens));
  REQUIRE(found.size() == 1);
  CHECK(found.front().field == "oauth.client_secret_file");
}

TEST_CASE("The client secret of an application is among the secrets whose change a reload reports") {
  const TempDir dir;
  const std::string file = dir.file("secret").string();
  writePrivateFile(file, kSecret + "\n");
  const json oauth = {{"token_url", "https://t/token"}, {"client_id", "a"}, {"client_secret_file", file}};
  const json rule = {{"types", "t"}, {"url", "https://127.0.0.1:1/"}, {"oauth", oauth}};
  const json inbox = {{"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"deliver", json::array({rule})}};
  std::vector<ConfigProblem> problems;
  const Config config = readConfig(json{{"agent", "urn:a"}, {"inbox", inbox}}.dump(), {}, problems);
  REQUIRE_MESSAGE(problems.empty(), problems.front().field << ": " << problems.front().what);
  const FileStamps before = FileStamps::of(config);
  CHECK(before.differencesFrom(FileStamps::of(config)) == "nothing");
  writePrivateFile(file, kSecret + "-new\n");
  CHECK(before.differencesFrom(FileStamps::of(config)) == "secrets");
}

}  // namespace ackbox::serve::oauth_test
