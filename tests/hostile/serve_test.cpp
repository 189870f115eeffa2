// Goal: what a daemon's HTTP surface is asked by those who may not, or mean harm, changes nothing, costs no more than
// its limits, and keeps nobody else out. Method: a whole daemon with tokens; a reader with one asks on a connection of
// its own while the attack is on. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hostile/crowd.hpp"
#include "hostile/memory_meter.hpp"
#include "support/comes_to.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::testing::serve_test {
namespace {

using nlohmann::json;

constexpr std::size_t kMib = std::size_t{1024} * 1024;
const std::string kReader = "Authorization: Bearer reader-0123456789abcdef0123\r\n";
const std::string kOperator = "Authorization: Bearer operator-0123456789abcdef01\r\n";
const std::string kSender = "Authorization: Bearer sender-0123456789abcdef0123\r\n";
const std::string kReceiver = "Authorization: Bearer receiver-0123456789abcdef01\r\n";
const std::string kHost = "Host: localhost\r\n";

/// A daemon with a dead letter, whose changes need a token.
class Daemon {
public:
  Daemon() {
    const std::string tokens = dir_.file("tokens").string();
    writePrivateFile(tokens,
                     "reader read reader-0123456789abcdef0123\noperator operate operator-0123456789abcdef01\n"
                     "sender send sender-0123456789abcdef0123\nreceiver receive receiver-0123456789abcdef01\n");
    serve_ = std::make_unique<ServeStage>(Settings{
        {"tokens_file", tokens}, {"inbox", R"({"listen":"127.0.0.1:0","allow_anonymous":true,"pull":["*"]})"}});
    const HttpReply reply =
        serve_->asker().ask("POST", "/v1/messages", R"({"peer":"bob","type":"bad","id":"dead"})", kSender + kJson);
    REQUIRE(reply.status == 201);
    CHECK(state("dead?wait=20s") == "failed");
  }

  int ask(std::string_view method, const std::string& target, const std::string& headers = kReader,
          const std::string& body = {}) {
    return serve_->asker().ask(method, target, body, headers).status;
  }
  /// Whether somebody with a token is served, and nothing was changed.
  bool isWell() {
    const json peers = json::parse(serve_->asker().ask("GET", "/v1/peers", {}, kReader).body).at("peers");
    const bool isPaused = std::ranges::any_of(peers, [](const json& peer) { return peer.at("state") == "paused"; });
    return !isPaused && state("dead") == "failed";
  }
  [[nodiscard]] std::uint16_t port() const { return serve_->server().port(); }
  /// Has a frame come from a peer.
  void receive(const std::string& id) {
    const std::string url = serve_->server().inboxUrl();
    HttpAsker peer(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
    const std::string frame = R"({"specversion":"1.0","source":"urn:x","type":"job","data":1,"id":")" + id + "\"}";
    CHECK(peer.ask("POST", "/inbox", frame, "Content-Type: application/cloudevents+json\r\n").status == 202);
  }
  RawConnection connect() { return RawConnection(port()); }

private:
  std::string state(const std::string& message) {
    const HttpReply reply = serve_->asker().ask("GET", "/v1/messages/" + message, {}, kReader);
    return json::parse(reply.body).at("state");
  }

  TempDir dir_;
  std::unique_ptr<ServeStage> serve_;
};

std::string statusOf(const std::string& answer) {
  return answer.substr(0, std::min<std::size_t>(answer.size(), 12));
}

/// 10,000, or as many as there can be where the kernel's limit is lower.
std::size_t crowdSize() {
  constexpr std::size_t kWanted = 10'000;
  if (Crowd::most() < kWanted) {
    MESSAGE("the hard limit of descriptors allows a crowd of ", Crowd::most(), " instead of ", kWanted);
  }
  return std::min(kWanted, Crowd::most());
}

/// Checks that of the crowd each got 503 or was closed, but for those that may have a stream.
void checkRefused(Crowd& crowd, std::size_t size, std::size_t streams) {
  const std::map<int, std::size_t> answers = crowd.answers();
  std::size_t answered = 0;
  for (const auto& answer : answers) {
    const int status = answer.first;
    CHECK_MESSAGE((status == 200 || status == 503 || status == 0), status);
    answered += answer.second;
  }
  CHECK(answered == size);
  CHECK(answers.at(200) == streams);
}

/// Checks that of a crowd that opens streams of `target` with a token's `header` so many get one, that the daemon works
/// on, and that it does not grow.
void checkBounded(Crowd& crowd, Daemon& daemon, const std::string& target, const std::string& header,
                  std::size_t streams) {
  const MemoryMeter meter;
  const std::string ask = "GET " + target + " HTTP/1.1\r\n" + kHost + header;
  const std::size_t size = crowdSize();
  CHECK(crowd.connect(daemon.port(), size, ask + "\r\n") == size);
  CHECK(daemon.isWell());
  const std::string refused = crowd.ask(daemon.port(), ask + "Connection: close\r\n\r\n");
  CHECK(statusOf(refused) == "HTTP/1.1 503");
  CHECK(refused.find("\r\nRetry-After: ") != std::string::npos);
  checkRefused(crowd, size, streams);
  CHECK(meter.peakGrowth() < 16 * kMib);
}

}  // namespace

TEST_CASE("hostile: a Host of another name, as of a page that gave its own name this address: 421, whatever is asked") {
  Daemon daemon;
  for (const char* host : {"evil.example", "evil.example:7070", "localhost.evil.example", "127.0.0.1.evil.example",
                           "[::1].evil.example", "", "localhost@evil.example", "127.0.0.1:99@evil.example"}) {
    const std::string headers = "Host: " + std::string(host) + "\r\n" + kReader + kOperator;
    CHECK_MESSAGE(daemon.ask("GET", "/v1/stats", headers) == 421, host);
    CHECK_MESSAGE(daemon.ask("POST", "/v1/peers/bob:pause", headers) == 421, host);
    CHECK_MESSAGE(daemon.ask("GET", "/healthz", headers) == 421, host);
  }
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: a change that a page of another origin asks for: 403 without x-ackbox, even with a token") {
  Daemon daemon;
  for (const char* origin : {"Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
                             "Origin: http://localhost:7070\r\nx-ackbox: 0\r\n"}) {
    CHECK_MESSAGE(daemon.ask("POST", "/v1/peers/bob:pause", kOperator + origin) == 403, origin);
    CHECK_MESSAGE(daemon.ask("POST", "/v1/dead-letters:discard", kOperator + kJson + origin, "{\"all\":true}") == 403,
                  origin);
  }
  // What a page may ask for without its user's consent does not carry a token either.
  CHECK(daemon.ask("OPTIONS", "/v1/peers/bob:pause", "Origin: https://evil.example\r\n") == 405);
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: no token, a guess, one in the query, two, or one of another role: 401 or 403, the body unread") {
  Daemon daemon;
  const std::string pause = "/v1/peers/bob:pause";
  CHECK(daemon.ask("POST", pause, "") == 401);
  CHECK(daemon.ask("POST", pause, "Authorization: Bearer \r\n") == 401);
  CHECK(daemon.ask("POST", pause, "Authorization: Bearer operator-0123456789abcdef0\r\n") == 401);
  CHECK(daemon.ask("POST", pause, "Authorization: Bearer operator-0123456789abcdef012\r\n") == 401);
  CHECK(daemon.ask("POST", pause, "Authorization: Basic operator-0123456789abcdef01\r\n") == 401);
  CHECK(daemon.ask("POST", pause, kReader + kOperator) == 401);
  // The scheme's name has no case (RFC 9110, 11.1).
  CHECK(daemon.ask("GET", "/v1/stats", "Authorization: bearer reader-0123456789abcdef0123\r\n") == 200);
  CHECK(daemon.ask("POST", pause + "?access_token=operator-0123456789abcdef01", "") == 401);
  CHECK(daemon.ask("POST", pause, kReader) == 403);
  CHECK(daemon.ask("POST", pause, kSender) == 403);
  CHECK(daemon.ask("GET", "/v1/events", kSender) == 403);
  CHECK(daemon.ask("GET", "/v1/inbox/stream", kReader) == 403);
  const MemoryMeter meter;
  for (const std::string& token : {std::string(), kReader}) {
    RawConnection mallory = daemon.connect();
    mallory.send("POST /v1/messages HTTP/1.1\r\n" + kHost + token + kJson + "Content-Length: 8000000\r\n\r\n");
    CHECK(statusOf(mallory.receiveMessage()) == (token.empty() ? "HTTP/1.1 401" : "HTTP/1.1 403"));
  }
  CHECK(meter.peakGrowth() < kMib);
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: a body beyond its operation's limit, announced or in chunks: 413, and no memory beyond it") {
  Daemon daemon;
  const MemoryMeter meter;
  RawConnection announced = daemon.connect();
  announced.send("POST /v1/messages HTTP/1.1\r\n" + kHost + kSender + kJson + "Content-Length: 10000000000\r\n\r\n");
  CHECK(statusOf(announced.receiveMessage()) == "HTTP/1.1 413");
  for (const std::string& target : {std::string("/v1/dead-letters:discard"), std::string("/v1/peers/bob:pause")}) {
    RawConnection chunked = daemon.connect();
    chunked.sendWhileTaken("POST " + target + " HTTP/1.1\r\n" + kHost + kOperator + kJson +
                           "Transfer-Encoding: chunked\r\n\r\n");
    for (int piece = 0; piece < 64; ++piece) {
      chunked.sendWhileTaken("1000\r\n" + std::string(4096, ' ') + "\r\n");
    }
    CHECK(statusOf(chunked.receiveMessage()) == "HTTP/1.1 413");
  }
  CHECK(meter.peakGrowth() < kMib);
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: parameters that are unknown, given twice or broken: 422 or 400, and nothing is done") {
  Daemon daemon;
  const std::string discard = "/v1/dead-letters:discard";
  const auto post = [&](const std::string& target, const std::string& body) {
    return daemon.ask("POST", target, kOperator + kJson, body);
  };
  CHECK(post(discard + "?dryrun=true", "{\"all\":true}") == 422);
  CHECK(post(discard + "?dry_run=yes", "{\"all\":true}") == 422);
  CHECK(post(discard + "?dry_run=true&dry_run=false", "{\"all\":true}") == 400);
  CHECK(post(discard + "?dry_run=true&dry%5frun=false", "{\"all\":true}") == 400);
  CHECK(post(discard + "?dry_run=%zz", "{\"all\":true}") == 400);
  CHECK(post(discard, "{\"pear\":\"bob\"}") == 422);
  CHECK(post(discard, "{\"all\":true,\"all\":false") == 422);
  CHECK(post(discard, std::string(60'000, '[')) == 422);
  CHECK(daemon.ask("POST", "/v1/peers/bob:pause?force=true", kOperator) == 422);
  CHECK(daemon.ask("GET", "/v1/messages?limit=1000000") == 422);
  CHECK(daemon.ask("GET", "/v1/messages?limit=-1") == 422);
  CHECK(daemon.ask("GET", "/v1/events?limit=1") == 422);
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: a whole URL as the target, with another host than the header's: judged by the URL's, as Host is") {
  Daemon daemon;
  for (const char* host : {"evil.example", "localhost@evil.example", "localhost:80@evil.example", ""}) {
    CHECK_MESSAGE(daemon.ask("GET", "http://" + std::string(host) + "/v1/stats", kReader + kHost) == 421, host);
  }
  CHECK(daemon.ask("GET", "http://localhost/v1/stats", kReader + "Host: evil.example\r\n") == 200);
  CHECK(daemon.ask("GET", "http://localhost/v1/stats", kHost) == 401);
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: logins with wrong tokens, one after the other: 403 and then 429, and a right one is let in") {
  Daemon daemon;
  const std::string form = "Content-Type: application/x-www-form-urlencoded\r\n";
  int status = 403;
  while (status == 403) {
    status = daemon.ask("POST", "/login", form, "token=guess-0123456789abcdef0123");
  }
  CHECK(status == 429);
  CHECK(daemon.ask("POST", "/login", form, "token=reader-0123456789abcdef0123") == 303);
  CHECK(daemon.isWell());
}

TEST_CASE("hostile: a path by another spelling, with dots, a NUL or a name's slash: 404") {
  Daemon daemon;
  for (const char* path : {"/v1/../v1/stats", "/v1/./stats", "//v1/stats", "/v1//stats", "/v1/stats/", "/v1/%73tats",
                           "/v1/stats%00", "/v1%2fstats", "/V1/stats", "/v1/stats;x", "http://localhost/V1/stats",
                           "/v1/messages/..%2f..%2fstats/x", "/v1/operations/0x1", "/v1/operations/-1"}) {
    CHECK_MESSAGE(daemon.ask("GET", path, kReader + kHost) != 200, path);
    CHECK_MESSAGE(daemon.ask("GET", path, kOperator + kHost) == 404, path);
  }
  for (const char* path : {"/v1/peers/bob%2f:pause", "/v1/peers/..%2fbob:pause", "/v1/peers/bob%0a:pause",
                           "/v1/peers/bob:pause:pause", "/v1/peers/:pause", "/v1/peers/bob%00:pause"}) {
    CHECK_MESSAGE(daemon.ask("POST", path, kOperator) == 404, path);
  }
  CHECK(daemon.isWell());
}

TEST_CASE(
    "hostile: 10,000 connections that ask for nothing, where 1,024 may be: the oldest give way, others are served") {
  Crowd crowd;
  Daemon daemon;
  RawConnection served = daemon.connect();
  const std::string ask = "GET /v1/stats HTTP/1.1\r\n" + kHost + kReader + "\r\n";
  served.send(ask);
  CHECK(statusOf(served.receiveMessage()) == "HTTP/1.1 200");
  const MemoryMeter meter;
  const std::size_t size = crowdSize();
  CHECK(crowd.connect(daemon.port(), size) == size);
  CHECK(daemon.isWell());
  CHECK(meter.peakGrowth() < 16 * kMib);
  // It has shown a token, and keeps its place.
  served.send(ask);
  CHECK(statusOf(served.receiveMessage()) == "HTTP/1.1 200");
}

TEST_CASE("hostile: slow headers on every place, without a token: the oldest give way, others are served") {
  Crowd crowd;
  Daemon daemon;
  crowd.connect(daemon.port(), 4'096, "POST /v1/messages HTTP/1.1\r\nHost: local");
  CHECK(daemon.isWell());
  CHECK(statusOf(crowd.ask(daemon.port(), "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) ==
        "HTTP/1.1 200");
}

TEST_CASE("hostile: 10,000 streams of events, with a token: half of 32 are open, 503 beyond, and others are served") {
  Crowd crowd;
  Daemon daemon;
  StreamReader open(daemon.port(), "/v1/events", kReader);
  CHECK(open.status() == 200);
  checkBounded(crowd, daemon, "/v1/events", kReader, 15);
  CHECK(daemon.ask("POST", "/v1/peers/away:pause", kOperator) == 200);
  while (open.line().find("\"operated\"") == std::string::npos) {
  }
}

TEST_CASE(
    "hostile: 10,000 streams of frames, with a token: half of 1,024 are open, 503 beyond, and others are served") {
  Crowd crowd;
  Daemon daemon;
  StreamReader open(daemon.port(), "/v1/inbox/stream", kReceiver);
  CHECK(open.status() == 200);
  checkBounded(crowd, daemon, "/v1/inbox/stream", kReceiver, 511);
  // Of streams that have nothing, the oldest gets it.
  daemon.receive("frame");
  CHECK(json::parse(open.line()).at("event").at("id") == "frame");
}

TEST_CASE("hostile: 1,000 requests that wait for a message, with a token: half of 512 wait, 503 beyond") {
  Crowd crowd;
  Daemon daemon;
  CHECK(daemon.ask("POST", "/v1/messages", kSender + kJson, R"({"peer":"away","type":"t","id":"waits"})") == 201);
  const std::string ask = "GET /v1/messages/waits?wait=30s HTTP/1.1\r\n" + kHost + kSender;
  CHECK(crowd.connect(daemon.port(), 1'000, ask + "\r\n") == 1'000);
  // Each of the thousand is looked up first. Who asks meanwhile may be sent away for a moment, as they are.
  CHECK(comesTo([&] { return daemon.ask("GET", "/v1/peers") != 503; }));
  CHECK(daemon.isWell());
  const std::string refused = crowd.ask(daemon.port(), ask + "Connection: close\r\n\r\n");
  CHECK(statusOf(refused) == "HTTP/1.1 503");
  CHECK(refused.find("\r\nRetry-After: ") != std::string::npos);
  // What has ended already needs no wait.
  CHECK(daemon.ask("GET", "/v1/messages/dead?wait=30s") == 200);
  CHECK(daemon.ask("GET", "/v1/messages/none?wait=30s") == 404);
}

TEST_CASE("hostile: a request that comes byte by byte: is answered when it is whole, and others are served meanwhile") {
  Daemon daemon;
  RawConnection slow = daemon.connect();
  const std::string ask = "GET /v1/stats HTTP/1.1\r\n" + kHost + kReader + "\r\n";
  for (const char byte : ask.substr(0, ask.size() - 1)) {
    slow.send(std::string(1, byte));
    slow.awaitDelivery();
  }
  CHECK(daemon.isWell());
  CHECK_FALSE(slow.hasNewsWithin(std::chrono::milliseconds(0)));
  slow.send(ask.substr(ask.size() - 1));
  CHECK(statusOf(slow.receiveMessage()) == "HTTP/1.1 200");
}

TEST_CASE("hostile: clients with a token that ask on and on and read nothing: one answer of each is kept, no more") {
  Daemon daemon;
  const std::string large = R"({"peer":"away","type":"t","id":"large","data":")" + std::string(kMib / 6, 'x') + "\"}";
  CHECK(daemon.ask("POST", "/v1/messages", kSender + kJson, large) == 201);
  std::string many;
  while (many.size() < 8 * kMib) {
    many += "GET /v1/messages/large?data=true HTTP/1.1\r\n" + kHost + kReader + "\r\n";
  }
  const MemoryMeter meter;
  std::list<RawConnection> mute;
  for (int number = 0; number < 4; ++number) {
    CHECK_FALSE(mute.emplace_back(daemon.port(), 4096).sendSome(many));
    CHECK(daemon.isWell());
  }
  CHECK(meter.peakGrowth() < 4 * kMib);
}

TEST_CASE("hostile: a reader of events that takes nothing, while records come: cut, and the others miss nothing") {
  Daemon daemon;
  StreamReader slow(RawConnection(daemon.port(), 4096), "/v1/events", kReader);
  StreamReader quick(daemon.port(), "/v1/events", kReader);
  CHECK(quick.status() == 200);
  // Each record has the filter in it.
  const std::string filter = "{\"error\":\"" + std::string(60'000, 'x') + "\"}";
  constexpr int kRecords = 300;
  const MemoryMeter meter;
  int seen = 0;
  HttpAsker asker(daemon.port());
  for (int record = 0; record < kRecords; ++record) {
    REQUIRE(asker.ask("POST", "/v1/dead-letters:retry", filter, kOperator + kJson).status == 200);
    while (quick.line().find("\"operated\"") == std::string::npos) {
    }
    ++seen;
  }
  CHECK(seen == kRecords);
  CHECK(meter.peakGrowth() < 8 * kMib);
  CHECK_FALSE(slow.connection().receiveAll().ends_with("0\r\n\r\n"));
  CHECK(daemon.isWell());
}

}  // namespace ackbox::testing::serve_test
