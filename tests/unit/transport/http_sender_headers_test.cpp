// Goal: requests carry the headers that the user adds for a peer, as their source gives them, and nothing is sent
// without them. Method: an `HttpSender` on loopback against a scripted peer; a source and a clock that the test
// changes.

#include <doctest/doctest.h>

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/options.hpp"
#include "support/manual_clock.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::http_sender_headers_test {
namespace {

using testing::RawConnection;
using testing::RawServer;

/// A source of lines that the test changes; without lines for `nullopt` it cannot be read.
class Lines {
public:
  void set(std::optional<std::vector<std::string>> lines) {
    const std::scoped_lock lock(mutex_);
    lines_ = std::move(lines);
  }
  [[nodiscard]] SecretSource source() {
    return SecretSource::callback([this] {
      const std::scoped_lock lock(mutex_);
      if (!lines_) {
        throw Error(Errc::secretsUnreadable, "the file is away");
      }
      std::vector<Secret> secrets;
      for (const std::string& line : *lines_) {
        secrets.emplace_back(std::string(line));
      }
      return secrets;
    });
  }

private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<std::vector<std::string>> lines_;
};

/// A sender to one peer, which answers each request on a connection of its own with 401.
struct Stage {
  explicit Stage(std::vector<std::string> first) {
    lines.set(std::move(first));
    options.clock = clock;
    options.onSecretsLost = [this](std::string_view name, std::string_view what) {
      told.push_back(std::string(name) + ": " + std::string(what));
    };
    sender.emplace(options);
    bob.name = "bob";
    bob.headers = lines.source();
  }
  SendReport send(const std::string& url) {
    SendRequest request;
    request.peer = "bob";
    request.url = url;
    request.timeout = std::chrono::seconds(10);
    request.frames.push_back({.messageId = "m-1", .type = "t", .data = "{}", .sequence = 1});
    std::promise<SendReport> promise;
    sender->asyncSend(std::move(request), [&](SendReport report) { promise.set_value(std::move(report)); });
    return promise.get_future().get();
  }

  Lines lines;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::vector<std::string> told;
  HttpSenderOptions options;
  std::optional<HttpSender> sender;
  PeerOptions bob;
};

RawServer::Script keepIn(std::vector<std::string>& seen) {
  return [&seen](RawConnection& connection) {
    seen.push_back(connection.receiveMessage());
    connection.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  };
}

}  // namespace

TEST_CASE("Each request has the headers of its peer, and a changed source counts after a second") {
  std::vector<std::string> seen;
  RawServer peer({keepIn(seen), keepIn(seen)});
  testing::IoThread io;
  Stage stage({"Authorization: Bearer first", "X-Tenant: 7"});
  stage.sender->usePeers({&stage.bob, 1});
  stage.sender->start(io.executor());
  const SendReport report = stage.send(peer.url());
  CHECK(report.outcome == RequestOutcome::peerRefused);
  CHECK(report.error.find("does not accept the headers") != std::string::npos);
  CHECK(report.error.find("first") == std::string::npos);
  stage.lines.set(std::vector<std::string>{"Authorization: Bearer second"});
  stage.clock->advance(std::chrono::seconds(1));
  CHECK(stage.send(peer.url()).outcome == RequestOutcome::peerRefused);
  stage.sender->stop();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].find("\r\nAuthorization: Bearer first\r\nX-Tenant: 7\r\n") != std::string::npos);
  CHECK(seen[1].find("\r\nAuthorization: Bearer second\r\n") != std::string::npos);
  CHECK(seen[1].find("X-Tenant") == std::string::npos);
  CHECK(stage.told.empty());
}

TEST_CASE("P3: nothing is sent to a peer without its headers, whether they are gone or cannot be read") {
  for (const bool isReadable : {true, false}) {
    CAPTURE(isReadable);
    std::vector<std::string> seen;
    RawServer peer({keepIn(seen), keepIn(seen)});
    testing::IoThread io;
    Stage stage({"X-Key: hidden"});
    stage.sender->usePeers({&stage.bob, 1});
    stage.sender->start(io.executor());
    if (isReadable) {
      stage.lines.set(std::vector<std::string>());
      stage.clock->advance(std::chrono::seconds(1));
    } else {
      stage.lines.set(std::nullopt);
      stage.clock->advance(std::chrono::seconds(1));
      // The earlier ones stay for the grace.
      CHECK(stage.send(peer.url()).status == 401);
      stage.clock->advance(stage.options.secretsGrace);
    }
    const SendReport report = stage.send(peer.url());
    CHECK(report.outcome == RequestOutcome::peerUnavailable);
    CHECK(report.status == 0);
    CHECK(report.error.find("headers: there is no header any more") != std::string::npos);
    CHECK(stage.told.size() == (isReadable ? 1 : 2));
    stage.lines.set(std::vector<std::string>{"X-Key: back"});
    stage.clock->advance(std::chrono::seconds(1));
    CHECK(stage.send(peer.url()).status == 401);
    stage.sender->stop();
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.back().find("\r\nX-Key: back\r\n") != std::string::npos);
    if (isReadable) {
      // The second connection that the peer waits for.
      RawConnection last(peer.port());
      last.send("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
      static_cast<void>(last.receiveAll());
    }
  }
}

TEST_CASE("P11: headers that are malformed, or none, are refused with the peer, and no error shows their text") {
  const auto refusal = [](std::optional<std::vector<std::string>> lines) -> std::string {
    Stage stage({});
    stage.lines.set(std::move(lines));
    try {
      stage.sender->usePeers({&stage.bob, 1});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(refusal(std::vector<std::string>{"a: b"}).empty());
  CHECK(refusal(std::vector<std::string>()).starts_with("peers['bob'].headers: there is no header"));
  const std::string malformed = refusal(std::vector<std::string>{"a: b", "hidden words"});
  CHECK(malformed.starts_with("peers['bob'].headers[1]: must be a header"));
  CHECK(malformed.find("hidden") == std::string::npos);
  CHECK(refusal(std::nullopt).find("peers['bob'].: the file is away") == std::string::npos);
  CHECK(refusal(std::nullopt).find("the file is away") != std::string::npos);
}

TEST_CASE("A bearer token becomes one header, and a source of none or several tokens is refused") {
  const auto linesOf = [](const std::vector<std::string>& tokens) {
    std::vector<Secret> secrets;
    for (const std::string& token : tokens) {
      secrets.emplace_back(std::string(token));
    }
    return SecretSource::bearer(SecretSource::fixed(std::move(secrets))).load();
  };
  REQUIRE(linesOf({"abc"}).size() == 1);
  CHECK(linesOf({"abc"}).front().reveal() == "Authorization: Bearer abc");
  CHECK_THROWS_WITH_AS(linesOf({}), doctest::Contains("needs one token, and the source has 0"), Error);
  CHECK_THROWS_WITH_AS(linesOf({"abc", "def"}), doctest::Contains("has 2"), Error);
}

}  // namespace ackbox::http_sender_headers_test
