// Goal: what is left of a push when the application cannot be asked any more, or what reports it fails.
// Method: a client in the test's hands, and an executor that runs when the test says so.

#include "serve/inbox/pusher.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "serve/inbox/frame_waits.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "transport/http_poster.hpp"

namespace ackbox::serve::pusher_test {
namespace {

/// Keeps what is posted, until the test answers it.
class Poster final : public transport::HttpPoster {
public:
  void asyncPost(transport::HttpPost post, transport::HttpHandler handler) override {
    ++posts;
    last = std::move(post);
    handlers.push_back(std::move(handler));
  }
  void close() override {
    isClosed = true;
    answerAll(transport::HttpEnd::cancelled, 0);
  }
  void answerAll(transport::HttpEnd end, int status, const std::string& body = {}) {
    for (const transport::HttpHandler& handler : std::exchange(handlers, {})) {
      transport::HttpAnswer answer;
      answer.body = body;
      answer.end = end;
      answer.status = status;
      handler(std::move(answer));
    }
  }

  int posts = 0;
  transport::HttpPost last;
  bool isClosed = false;
  std::vector<transport::HttpHandler> handlers;
};

/// A receiver whose frames all go to one application.
class Stage {
public:
  explicit Stage(LogSink log = {}, SecretSource headers = {}, bool hasTokens = false) {
    const auto tokens =
        std::make_shared<OauthTokens>(OauthRule{.tokenUrl = "http://127.0.0.1:1/token",
                                                .clientId = "agent",
                                                .clientSecret = SecretSource::fixed({Secret("secret")})},
                                      clock);
    HttpSenderOptions client;
    client.clock = clock;
    pusher = std::make_shared<Pusher>(
        context.get_executor(),
        std::vector<DeliveryRule>{
            {.url = "http://127.0.0.1:1/hook", .headers = std::move(headers), .oauth = hasTokens ? tokens : nullptr}},
        client, std::move(log), poster);
    InboundOptions options;
    options.allowAnonymous = true;
    options.deferred.handler = [this](DeferredFrame frame) {
      pusher->push(std::move(frame));
      std::exchange(pushed_, std::promise<void>()).set_value();
    };
    options.deferred.pools = {{{"*"}, 4, pusher->demand(0)}};
    handler_.emplace(
        manager_, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
  }

  /// Returns once the frame was pushed; nothing of that has run on the executor.
  void push(const std::string& id) {
    const std::future<void> isPushed = nextPush();
    handler_->asyncHandle(
        {.contentType = "application/cloudevents+json",
         .body = R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:)" + id + R"(","type":"t","data":1})",
         .webhookId = id},
        [](const InboundResponse&) {});
    REQUIRE(isPushed.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  }
  std::future<void> nextPush() { return pushed_.get_future(); }
  void run() {
    context.restart();
    context.poll();
  }
  [[nodiscard]] FrameWaits waits() const {
    FrameWaits found;
    pusher->addWaits(found);
    return found;
  }
  void end() { handler_.reset(); }

  boost::asio::io_context context;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::shared_ptr<Poster> poster = std::make_shared<Poster>();
  std::shared_ptr<Pusher> pusher;

private:
  const testing::TempDir dir_;
  OutboxManager manager_ = OutboxManager::open(dir_.file("inbox.db"));
  std::promise<void> pushed_;
  std::optional<InboundHandler> handler_;
};

}  // namespace

TEST_CASE("The end of the pusher ends its requests, and neither blames the application nor asks it again") {
  int records = 0;
  Stage stage([&records](const LogRecord&) { ++records; });
  stage.push("f-1");
  stage.run();
  REQUIRE(stage.poster->posts == 1);
  CHECK(stage.waits().holders.size() == 1);
  stage.push("f-2");
  stage.pusher->close();
  CHECK(stage.poster->isClosed);
  stage.push("f-3");
  stage.run();
  CHECK(stage.waits().holders.empty());
  CHECK(records == 0);
  // The second one was pushed before.
  CHECK(stage.poster->posts == 2);
  stage.end();
}

TEST_CASE("A frame that comes while the pusher drains is given back, and in nobody's hand") {
  Stage stage;
  stage.pusher->drain(std::chrono::milliseconds(0));
  stage.push("f-1");
  stage.run();
  CHECK(stage.poster->posts == 0);
  CHECK(stage.waits().holders.empty());
  stage.end();
  stage.pusher->close();
  stage.run();
}

TEST_CASE("Nothing goes on by time after the end of the pusher, while its application is away") {
  Stage stage;
  stage.push("f-1");
  stage.run();
  stage.poster->answerAll(transport::HttpEnd::unavailable, 0);
  stage.run();
  stage.end();
  stage.pusher->close();
  stage.run();
  stage.clock->advance(std::chrono::minutes(1));
  stage.context.restart();
  CHECK(stage.context.poll() == 0);
}

TEST_CASE("An application that answers again is back, whatever becomes of the report") {
  Stage stage([](const LogRecord& record) {
    if (record.event == "application-back") {
      throw std::runtime_error("no room");
    }
  });
  const auto awaySince = [&] {
    std::vector<Application> applications;
    stage.pusher->addApplications(applications);
    return applications.at(0).awaySince;
  };
  stage.push("f-1");
  stage.run();
  stage.poster->answerAll(transport::HttpEnd::unavailable, 0);
  stage.run();
  CHECK(awaySince());
  const std::future<void> isPushed = stage.nextPush();
  stage.clock->advance(std::chrono::milliseconds(500));
  stage.run();
  REQUIRE(isPushed.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  stage.run();
  stage.poster->answerAll(transport::HttpEnd::answered, 200);
  CHECK_THROWS_AS(stage.run(), std::runtime_error);
  CHECK_FALSE(awaySince());
  stage.end();
  stage.pusher->close();
  stage.run();
}

TEST_CASE("P13: a push has the application's headers; once they are gone, it is not asked, and the wait says why") {
  std::vector<Secret> lines = {Secret("X-Key: abc")};
  Stage stage({}, SecretSource::callback([&lines] { return lines; }));
  stage.push("f-1");
  stage.run();
  REQUIRE(stage.poster->posts == 1);
  CHECK(stage.poster->last.headers.back() == std::pair<std::string, std::string>("X-Key", "abc"));
  lines.clear();
  stage.clock->advance(std::chrono::seconds(1));
  stage.push("f-2");
  stage.run();
  CHECK(stage.poster->posts == 1);
  const FrameWaits waits = stage.waits();
  REQUIRE(waits.frames.size() == 1);
  CHECK(waits.frames.begin()->second.what.find("its headers are gone") != std::string::npos);
  stage.pusher->close();
  stage.run();
  stage.end();
}

TEST_CASE(
    "A push has a token of OAuth2, another after a 401, and without one it waits uncharged and the wait says why") {
  Stage stage({}, {}, true);
  const auto give = [&](int status, const std::string& body) {
    stage.poster->answerAll(transport::HttpEnd::answered, status, body);
    stage.run();
  };
  stage.push("f-1");
  stage.run();
  REQUIRE(stage.poster->posts == 1);
  CHECK(stage.poster->last.url.target == "/token");
  give(200, R"({"access_token":"one"})");
  REQUIRE(stage.poster->posts == 2);
  CHECK(stage.poster->last.url.target == "/hook");
  CHECK(stage.poster->last.headers.back() == std::pair<std::string, std::string>("Authorization", "Bearer one"));
  give(401, "");
  CHECK(stage.poster->last.url.target == "/token");
  give(200, R"({"access_token":"two"})");
  CHECK(stage.poster->last.headers.back() == std::pair<std::string, std::string>("Authorization", "Bearer two"));
  // The next 401 is the application's answer.
  give(401, "");
  CHECK(stage.poster->posts == 4);
  stage.clock->advance(std::chrono::minutes(5));
  stage.push("f-2");
  stage.run();
  CHECK(stage.poster->last.url.target == "/token");
  give(400, R"({"error":"invalid_client"})");
  CHECK(stage.poster->posts == 5);
  const FrameWaits waits = stage.waits();
  CHECK(std::ranges::any_of(waits.frames, [](const auto& wait) {
    return wait.second.what.find("is not asked: no token: the token server answers 400 invalid_client") !=
           std::string::npos;
  }));
  stage.pusher->close();
  stage.run();
  stage.end();
}

}  // namespace ackbox::serve::pusher_test
