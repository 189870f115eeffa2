// Goal: a login ends when it should, with its streams, and those that fail are bounded. Method: the logins alone, with
// a clock in the test's hands; then a whole daemon, and the health check that programs use without a browser.

#include "serve/http/logins.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "serve/health_check.hpp"
#include "support/manual_clock.hpp"
#include "unit/serve/serve_stage.hpp"

namespace ackbox::serve::logins_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HttpReply;
using testing::kReader;
using testing::kSender;
using testing::ManualClock;
using testing::ServeStage;
using testing::Settings;
using testing::StreamReader;
using testing::TempDir;
using testing::writePrivateFile;

const std::string kForm = "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";

struct World {
  World() {
    logins.setEnded([this] { ++ends; });
  }

  /// The cookie, as a browser sends it.
  std::string begin(const std::string& token = "t") {
    const std::string set = logins.begin(Tokens::digestOf(token));
    return set.substr(0, set.find(';'));
  }
  bool isIn(const std::string& cookie) const {
    return std::ranges::any_of(logins.keysOf(cookie),
                               [&](const Logins::Key& key) { return logins.find(key).has_value(); });
  }
  void pass(milliseconds time) {
    clock->advance(time);
    context.restart();
    context.run();
  }

  boost::asio::io_context context;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  int ends = 0;
  Logins logins{context.get_executor(), clock, "ackbox_a", false};
};

struct Guarded : testing::GuardedStage {
  explicit Guarded(const std::string& agent = "urn:agent:a") : GuardedStage({{"agent", agent}}) {}
  HttpReply logIn(const std::string& token) { return asker().ask("POST", "/login", "token=" + token, kForm); }
  std::string cookie() {
    const std::string set = logIn(kReader).header("Set-Cookie");
    return "Cookie: " + set.substr(0, set.find(';')) + "\r\n";
  }
};

}  // namespace

TEST_CASE("A login ends after twelve hours by itself, and with the logout, and both are told at once") {
  World world;
  const std::string first = world.begin();
  world.pass(hours(1));
  const std::string second = world.begin();
  world.pass(hours(11) - seconds(1));
  CHECK(world.isIn(first));
  CHECK(world.ends == 0);
  world.pass(seconds(1));
  CHECK_FALSE(world.isIn(first));
  CHECK(world.isIn(second));
  CHECK(world.ends == 1);
  CHECK(world.logins.end(second).find("Max-Age=0") != std::string::npos);
  CHECK_FALSE(world.isIn(second));
  CHECK(world.ends == 2);
  // What is no login's ends none.
  CHECK_FALSE(world.logins.end("ackbox_a=x").empty());
  CHECK(world.ends == 2);
}

TEST_CASE("Of more than 1,000 logins the oldest ends, and is told") {
  World world;
  const std::string oldest = world.begin();
  world.clock->advance(seconds(1));
  for (int more = 0; more < 999; ++more) {
    world.begin();
  }
  CHECK(world.isIn(oldest));
  CHECK(world.ends == 0);
  world.begin();
  CHECK_FALSE(world.isIn(oldest));
  CHECK(world.ends == 1);
}

TEST_CASE("A cookie is found by its whole name") {
  const World world;
  CHECK(world.logins.keysOf("a=b; ackbox_a=1;c=d").size() == 1);
  for (const char* other : {"ackbox_ab=1", "ackbox=1", "xackbox_a=1", "a=ackbox_a=1", "ackbox_a=", ""}) {
    CHECK_MESSAGE(world.logins.keysOf(other).empty(), other);
  }
}

TEST_CASE("Of several cookies of its name one that has not ended is enough, and a logout ends all") {
  World world;
  const std::string right = world.begin();
  CHECK(world.isIn("ackbox_a=stale; " + right));
  CHECK(world.isIn(right + "; ackbox_a=stale"));
  CHECK_FALSE(world.isIn("ackbox_a=stale; ackbox_a=older"));
  const std::string other = world.begin();
  CHECK_FALSE(world.logins.end(right + "; " + other).empty());
  CHECK_FALSE(world.isIn(right));
  CHECK_FALSE(world.isIn(other));
}

TEST_CASE("Of two logins the one whose token still counts lets in") {
  Guarded guarded;
  const std::string first = guarded.cookie();
  writePrivateFile(guarded.tokens, "ada read " + kSender + "\n");
  guarded.server().reload();
  const std::string set = guarded.logIn(kSender).header("Set-Cookie");
  const std::string both = first.substr(0, first.size() - 2) + "; " + set.substr(0, set.find(';')) + "\r\n";
  CHECK(guarded.asker().ask("GET", "/v1/stats", {}, first).status == 401);
  CHECK(guarded.asker().ask("GET", "/v1/stats", {}, both).status == 200);
}

TEST_CASE("P11: a token that is put back does not bring back the logins that it had") {
  Guarded guarded;
  const std::string before = guarded.cookie();
  writePrivateFile(guarded.tokens, "batch send " + kSender + "\n");
  guarded.server().reload();
  writePrivateFile(guarded.tokens, "ada read " + kReader + "\n");
  guarded.server().reload();
  CHECK(guarded.asker().ask("GET", "/v1/stats", {}, before).status == 401);
  CHECK(guarded.asker().ask("GET", "/v1/stats", {}, guarded.cookie()).status == 200);
}

TEST_CASE("Logins may fail ten times at once, and then once a second") {
  World world;
  for (int count = 0; count < 10; ++count) {
    CHECK(world.logins.mayFail());
  }
  CHECK_FALSE(world.logins.mayFail());
  world.clock->advance(milliseconds(999));
  CHECK_FALSE(world.logins.mayFail());
  world.clock->advance(milliseconds(1));
  CHECK(world.logins.mayFail());
  CHECK_FALSE(world.logins.mayFail());
  world.clock->advance(hours(1));
  for (int count = 0; count < 10; ++count) {
    CHECK(world.logins.mayFail());
  }
  CHECK_FALSE(world.logins.mayFail());
}

TEST_CASE("Logins are in the log, those that fail only up to a bound, and a right token is let in all the same") {
  Guarded guarded;
  CHECK(guarded.logIn(kSender).status == 403);
  int failures = 1;
  while (true) {
    const HttpReply reply = guarded.logIn("guess-0123456789abcdef0123");
    if (reply.status == 429) {
      CHECK(reply.header("Retry-After") == "1");
      break;
    }
    REQUIRE(reply.status == 403);
    ++failures;
  }
  CHECK_FALSE(
      guarded.logged(" warning login-refused caller=batch cause=\"This token does not have the role read").empty());
  CHECK_FALSE(guarded.logged(" warning login-refused caller=\"\" cause=\"No caller has this token.\"").empty());
  const std::vector<std::string> log = guarded.log();
  CHECK(std::ranges::count_if(log, [](const std::string& line) {
          return line.find(" login-refused ") != std::string::npos;
        }) == failures);
  const std::string cookie = guarded.cookie();
  CHECK_FALSE(guarded.logged(" operated caller=ada operation=login target=page ").empty());
  CHECK(guarded.asker().ask("POST", "/logout", {}, cookie + kForm).status == 303);
  CHECK_FALSE(guarded.logged(" operated caller=ada operation=logout target=page ").empty());
  for (const std::string& secret : {kReader, kSender, std::string("guess-"), cookie.substr(cookie.find('=') + 1, 64)}) {
    CHECK(guarded.logged(secret).empty());
  }
}

TEST_CASE("A stream that a login opened ends with it, and others go on") {
  Guarded guarded;
  const std::string cookie = guarded.cookie();
  StreamReader ofLogin(guarded.server().port(), "/v1/events", cookie + "Sec-Fetch-Site: same-origin\r\n");
  StreamReader ofToken(guarded.server().port(), "/v1/events", "Authorization: Bearer " + kReader + "\r\n");
  REQUIRE(ofLogin.status() == 200);
  CHECK(guarded.asker().ask("POST", "/logout", {}, cookie + kForm).status == 303);
  CHECK(ofLogin.hasEnded());
  // Records go on.
  while (ofToken.line().find("\"operated\"") == std::string::npos) {
  }
}

TEST_CASE("Two daemons of a host have two cookies, and each has its own again after a restart") {
  const auto nameOf = [](const std::string& agent) {
    const std::string cookie = Guarded(agent).cookie();
    return cookie.substr(0, cookie.find('='));
  };
  const std::string name = nameOf("urn:agent:a");
  CHECK(name.starts_with("Cookie: ackbox_"));
  CHECK(name == nameOf("urn:agent:a"));
  CHECK(name != nameOf("urn:agent:b"));
}

TEST_CASE("The health check says what it is answered, and waits for nothing longer than its timeout") {
  using State = HealthCheckResult::State;
  constexpr milliseconds kLong{60'000};
  ServeStage stage;
  CHECK(checkHealth("http://127.0.0.1:" + std::to_string(stage.server().port()), kLong).state == State::ready);
  stage.end();
  const HealthCheckResult refused = checkHealth("http://127.0.0.1:1", kLong);
  CHECK(refused.state == State::notReady);
  CHECK(refused.text == "Connection refused");
  CHECK(checkHealth("unix:/nowhere/s", kLong).state == State::notReady);
  for (const char* wrong : {"unix:", "https://127.0.0.1:1", "127.0.0.1:1", "ftp://x"}) {
    CHECK_MESSAGE((checkHealth(wrong, kLong).state == State::wrongUrl), wrong);
  }

  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener, std::bit_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener, 0) == 0);
  REQUIRE(::getsockname(listener, std::bit_cast<sockaddr*>(&address), &size) == 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  // Nobody accepts: the first is connected and waits for an answer; once the places are taken, others for a connection.
  std::vector<int> taken;
  for (int place = 0; place < 4; ++place) {
    CHECK(checkHealth(url, milliseconds(20)).text == "no answer within 20 ms");
    taken.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(::connect(taken.back(), std::bit_cast<sockaddr*>(&address), size));
  }
  for (const int place : taken) {
    ::close(place);
  }
  ::close(listener);
}

}  // namespace ackbox::serve::logins_test
