// Goal: an inbound frame reaches the application once it is durable, signed and with all that it came with; the answer
// decides its end; and while the application is not there, nothing is charged to the frame.
// Method: verdicts as a table; then a sender, a daemon and an application, all over loopback.

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "protocol/signature.hpp"
#include "serve/inbox/push_verdict.hpp"
#include "support/reserved_port.hpp"
#include "transport/http_server.hpp"
#include "unit/serve/serve_stage.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::serve::push_test {
namespace {

using nlohmann::json;
using testing::isReady;
using testing::ServeStage;
using testing::Settings;
using transport::HttpAnswer;
using transport::HttpEnd;

PushVerdict judge(int status, const std::string& retryAfter = {}, const std::string& body = {},
                  const std::string& contentType = "application/json") {
  HttpAnswer answer;
  answer.end = HttpEnd::answered;
  answer.status = status;
  answer.contentType = contentType;
  answer.retryAfter = retryAfter;
  answer.body = body;
  return judgePush(answer, WallTime(std::chrono::seconds(784'111'777)));
}

Outcome outcomeOf(int status) {
  return judge(status).result.value().outcome;
}

/// What the sender of a frame learns of an answer to it.
std::string detailOf(int status, const std::string& body, const std::string& contentType = "application/json") {
  return judge(status, {}, body, contentType).result.value().detail;
}

/// An application: answers each request as it is asked to, and remembers it.
class Application {
public:
  explicit Application(std::uint16_t port = 0) {
    InboundServerOptions options;
    options.port = port;
    options.path = "/hook";
    transport::RequestSink sink;
    sink.bodyBytesMax = 1'000'000;
    sink.handle = [this](InboundRequest request, const transport::RequestSink::Respond& respond) {
      const std::scoped_lock lock(mutex_);
      InboundResponse response;
      response.authenticated = true;
      const bool isRefused = !refused_.empty() && request.body.find(refused_) != std::string::npos;
      response.status = isRefused ? 404 : answers_.empty() ? 200 : answers_.front();
      if (!answers_.empty()) {
        answers_.pop_front();
        response.contentType = "text/plain";
        response.body = words_;
      }
      requests_.push_back(std::move(request));
      changed_.notify_all();
      if (isHolding_) {
        held_.emplace_back([respond, response] { respond(response); });
      } else {
        respond(std::move(response));
      }
    };
    server_ = std::make_shared<transport::HttpServer>(io_.executor(), options, std::move(sink));
    server_->start();
  }
  ~Application() { server_->stop(); }

  /// The statuses of its next answers, and what they say; then 200.
  void answerWith(std::deque<int> statuses, std::string words = {}) {
    const std::scoped_lock lock(mutex_);
    answers_ = std::move(statuses);
    words_ = std::move(words);
  }
  /// It answers 404 to what has this text in it.
  void refuse(std::string text) {
    const std::scoped_lock lock(mutex_);
    refused_ = std::move(text);
  }
  /// Its next answers wait for `release`.
  void hold() {
    const std::scoped_lock lock(mutex_);
    isHolding_ = true;
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    isHolding_ = false;
    for (const std::function<void()>& answer : std::exchange(held_, {})) {
      answer();
    }
  }
  InboundRequest take() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !requests_.empty(); }));
    InboundRequest request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }
  [[nodiscard]] std::string url() const { return server_->url(); }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> answers_;
  std::string words_;
  std::string refused_;
  std::deque<InboundRequest> requests_;
  bool isHolding_ = false;
  std::vector<std::function<void()>> held_;
  testing::IoThread io_;
  std::shared_ptr<transport::HttpServer> server_;
};

const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct Secrets {
  Secrets() { testing::writePrivateFile(file, kSecret + "\n"); }

  const testing::TempDir dir;
  const std::string file = dir.file("secrets").string();
};

/// A daemon whose inbox's frames of the types `order.*` go to an application, and a sender.
class Stage : Secrets, public testing::InboxStage {
public:
  /// `rules`: entries of `deliver` before the one for `order.*`. `concurrency`: of each.
  explicit Stage(const std::string& applicationUrl, json rules = json::array(), int concurrency = 4)
      : InboxStage(inboxOf(file, applicationUrl, std::move(rules), concurrency)) {}

  std::string send(const std::string& type, const std::string& session = "s-1") {
    return InboxStage::send(session, type, "{\"n\": 1.0}");
  }
  /// The records of an event that are in the log by now.
  std::vector<std::string> logged(const std::string& event) { return serve().logged(" " + event + " "); }
  /// The first of them, once it is there.
  std::string awaitRecord(const std::string& event) { return serve().awaitRecord(" " + event + " "); }
  bool hasMetric(const std::string& line) {
    return serve().asker().ask("GET", "/metrics").body.find("\n" + line + "\n") != std::string::npos;
  }

private:
  static Settings inboxOf(const std::string& secrets, const std::string& applicationUrl, json rules, int concurrency) {
    rules.push_back({{"types", "order.*"}, {"url", applicationUrl}, {"secrets_file", secrets}});
    return {{"inbox", json{{"listen", "127.0.0.1:0"},
                           {"allow_anonymous", true},
                           {"concurrency", concurrency},
                           {"deliver", std::move(rules)}}
                          .dump()}};
  }
};

/// Whether each frame waits for something, which the list says.
bool allWait(const json& frames) {
  return std::ranges::all_of(frames, [](const json& frame) { return frame.contains("waits_for"); });
}

bool isEmpty(const json& frames) {
  return frames.empty();
}

}  // namespace

TEST_CASE("An answer decides, and what no frame is to blame for is charged to none") {
  CHECK(outcomeOf(200) == Outcome::ack);
  CHECK(outcomeOf(204) == Outcome::ack);
  CHECK(outcomeOf(422) == Outcome::term);
  for (const int status : {202, 400, 408, 409, 413, 415, 425, 429, 500, 502, 503, 504}) {
    CHECK_MESSAGE(outcomeOf(status) == Outcome::nack, status);
    CHECK(judge(status).kind == PushVerdict::Kind::failed);
  }
  for (const int status : {200, 422}) {
    CHECK(judge(status).kind == PushVerdict::Kind::judged);
  }
  for (const int status : {199, 301, 401, 403, 404, 405, 410}) {
    CHECK_MESSAGE(!judge(status).result, status);
    CHECK(judge(status).kind == PushVerdict::Kind::refused);
  }
  CHECK(judge(200, {}, "{\"a\":1}").result.value().result == "{\"a\":1}");
  CHECK(judge(200, {}, "done", "text/plain").result.value().result.empty());
  CHECK(judge(503, "7").result.value().retryAfter == std::chrono::seconds(7));
  CHECK(judge(429, "Sun, 06 Nov 1994 08:49:47 GMT").result.value().retryAfter == std::chrono::seconds(10));
  CHECK_FALSE(judge(503, "soon").result.value().retryAfter.has_value());
}

TEST_CASE("What the application says of a refusal goes with it, if it is a short text that can be printed") {
  CHECK(detailOf(422, R"({"detail":"out of stock"})") == "the application answers 422: out of stock");
  CHECK(detailOf(422, R"({"code":7,"error":"out of \u0073tock"})") == "the application answers 422: out of stock");
  CHECK(detailOf(503, R"({"title":"Busy","detail":"until noon"})", "application/problem+json") ==
        "the application answers 503: until noon");
  CHECK(detailOf(429, R"({"title":"Busy"})", "application/problem+json; charset=utf-8") ==
        "the application answers 429: Busy");
  // Such as a list of errors.
  CHECK(detailOf(422, R"({"detail":[{"msg":"missing"}]})") ==
        R"(the application answers 422: {"detail":[{"msg":"missing"}]})");
  CHECK(detailOf(422, "{\"detail\"") == "the application answers 422: {\"detail\"");
  CHECK(detailOf(422, " no\n such\x1b[2J item\xff\n", "text/plain") ==
        "the application answers 422: no  such\\x1b[2J item\\xff");
  CHECK(detailOf(500, "plain", "") == "the application answers 500: plain");
  CHECK(detailOf(502, "<html>", "text/html") == "the application answers 502");
  CHECK(detailOf(422, "") == "the application answers 422");
  CHECK(detailOf(422, std::string(100'000, '[')).size() < 400);
  CHECK(detailOf(422, std::string(100'000, '\x1b'), "text/plain").size() < 400);
  CHECK(judge(404, {}, R"({"detail":"Not Found"})").cause == "answers 404: Not Found");
}

TEST_CASE("An application that is not there is asked again and again; one that dies of a frame is charged to it") {
  const WallTime now{};
  HttpAnswer answer;
  answer.end = HttpEnd::unavailable;
  CHECK(judgePush(answer, now).kind == PushVerdict::Kind::unreached);
  answer.isAtPeer = true;
  CHECK(judgePush(answer, now).result.value().outcome == Outcome::nack);
  answer.end = HttpEnd::connectionLost;
  CHECK(judgePush(answer, now).result.value().outcome == Outcome::nack);
  answer.end = HttpEnd::shortage;
  CHECK_FALSE(judgePush(answer, now).result);
}

TEST_CASE("A frame is posted as a signed event with all that it came with, and acknowledged to its sender") {
  Application application;
  Stage stage(application.url());
  const std::string id = stage.send("order.placed");
  const InboundRequest request = application.take();
  CHECK(request.contentType == "application/cloudevents+json");
  CHECK(request.webhookId == id);
  const std::vector<Secret> secrets = {Secret(kSecret)};
  const protocol::KeyRing keys{std::span<const Secret>(secrets)};
  CHECK(keys.verify({request.webhookId, request.webhookTimestamp, request.webhookSignature}, request.body,
                    systemClock()->wallNow()) == protocol::SignatureVerdict::valid);
  CHECK(request.body.find("\"data\":{\"n\": 1.0}") != std::string::npos);
  const json event = json::parse(request.body);
  stage.checkFirst(event, id);
  stage.inboxOnce(isEmpty);
  while (stage.sender().getStats().acked == 0) {
  }
}

TEST_CASE("P12: a frame whose id no header carries as it is goes with one of our making, signed, the same each time") {
  Application application;
  Stage stage(application.url());
  const std::string url = stage.serve().server().inboxUrl();
  testing::HttpAsker peer(static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1))));
  const std::vector<Secret> secrets = {Secret(kSecret)};
  const protocol::KeyRing keys{std::span<const Secret>(secrets)};
  std::set<std::string> webhookIds;
  for (const char* id : {" x", "x ", "x", "é", "two words"}) {
    const json frame = {{"specversion", "1.0"}, {"source", "urn:x"}, {"type", "order.x"}, {"id", id}, {"data", 1}};
    application.answerWith({503});
    REQUIRE(peer.ask("POST", "/inbox", frame.dump(), "Content-Type: application/cloudevents+json\r\n").status == 202);
    const InboundRequest first = application.take();
    const InboundRequest second = application.take();
    CHECK(json::parse(first.body).at("id") == id);
    CHECK(keys.verify({first.webhookId, first.webhookTimestamp, first.webhookSignature}, first.body,
                      systemClock()->wallNow()) == protocol::SignatureVerdict::valid);
    CHECK(first.webhookId == second.webhookId);
    CHECK(std::ranges::all_of(first.webhookId, [](char letter) { return letter > ' ' && letter <= '~'; }));
    webhookIds.insert(first.webhookId);
  }
  CHECK(webhookIds.size() == 5);
  CHECK(webhookIds.contains("x"));
}

TEST_CASE("A frame that the application refuses for good is a dead letter at its sender") {
  Application application;
  application.answerWith({422}, "no such item\n");
  Stage stage(application.url());
  const std::string id = stage.send("order.placed");
  while (stage.sender().getStats().failed == 0) {
  }
  const MessageInfo letter = stage.sender().find(id).value();
  CHECK(letter.reason == "rejected");
  CHECK(letter.lastError.find("the application answers 422: no such item") != std::string::npos);
  const std::string failed = stage.awaitRecord("frame-failed");
  CHECK(failed.find(" warning frame-failed message=" + id + " source=urn:agent:carol session=s-1 retries=1 ") !=
        std::string::npos);
  CHECK(failed.find(" reason=rejected error=\"the application answers 422: no such item\"") != std::string::npos);
}

TEST_CASE("A frame for which the application is not ready is charged a run and pushed again") {
  Application application;
  application.answerWith({503});
  Stage stage(application.url());
  stage.send("order.placed");
  application.take();
  const json frames =
      stage.inboxOnce([](const json& all) { return all.empty() || all[0].at("retry_count").get<int>() == 1; });
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].at("last_error").get<std::string>().find("503") != std::string::npos);
  CHECK_FALSE(frames[0].contains("waits_for"));
  CHECK(stage.awaitRecord("frame-retry").find("error=\"the application answers 503\"") != std::string::npos);
  application.take();
  stage.inboxOnce(isEmpty);
}

TEST_CASE(
    "P11: a query of an application's URL, which may hold a secret, is in no log record, answer, figure or view") {
  const testing::ReservedPort port;
  const std::string address = "http://127.0.0.1:" + std::to_string(port.number()) + "/hook";
  Stage stage(address + "?key=of-orders-7");
  stage.send("order.placed");
  CHECK(stage.awaitRecord("application-away").find(" url=" + address + " ") != std::string::npos);
  const json waiting = stage.inboxOnce([](const json& frames) { return frames.size() == 1 && allWait(frames); });
  CHECK(waiting[0].at("waits_for").get<std::string>().starts_with("the application " + address + ", which "));
  for (const char* const target : {"/", "/inbox", "/doctor", "/metrics"}) {
    CHECK(stage.serve().asker().ask("GET", target).body.find("of-orders-7") == std::string::npos);
  }
  CHECK(stage.logged("of-orders-7").empty());
}

TEST_CASE("While the application is away nothing is charged, and its frame is taken when it comes") {
  const testing::ReservedPort port;
  Stage stage("http://127.0.0.1:" + std::to_string(port.number()) + "/hook");
  for (const char* session : {"s-1", "s-2", "s-3"}) {
    stage.send("order.placed", session);
  }
  const std::string away = stage.awaitRecord("application-away");
  CHECK(away.find(" warning application-away url=http://127.0.0.1:") != std::string::npos);
  const json waiting = stage.inboxOnce([](const json& frames) { return frames.size() == 3 && allWait(frames); });
  for (const json& frame : waiting) {
    CHECK(frame.at("state") == "unattended");
    CHECK(frame.at("retry_count") == 0);
    CHECK(frame.at("waits_for").get<std::string>().find("/hook, which cannot be reached: ") != std::string::npos);
  }
  CHECK(stage.serve().asker().ask("GET", "/inbox").body.find("waits for the application") != std::string::npos);
  CHECK(stage.hasMetric(R"(ackbox_application_up{way="push",types="order.*"} 0)"));
  Application application(port.number());
  const std::string back = stage.awaitRecord("application-back");
  CHECK(back.find(" info application-back ") != std::string::npos);
  CHECK(back.find(" frames=") != std::string::npos);
  stage.inboxOnce(isEmpty);
  CHECK(stage.logged("application-away").size() == 1);
  CHECK(stage.logged("application-back").size() == 1);
  CHECK(stage.hasMetric(R"(ackbox_application_up{way="push",types="order.*"} 1)"));
}

TEST_CASE("A frame that waits for an application that is not what was configured says what that answers") {
  Application application;
  application.answerWith({404}, "no such route");
  Stage stage(application.url());
  stage.send("order.placed");
  const json frames = stage.inboxOnce([](const json& all) { return !all.empty() && allWait(all); });
  CHECK(frames[0].at("waits_for") == "the application " + application.url() + ", which answers 404: no such route");
  // Another session's frame is taken meanwhile, and then the first one.
  stage.send("order.placed", "s-2");
  for (int push = 0; push < 3; ++push) {
    application.take();
  }
  stage.inboxOnce(isEmpty);
  CHECK(stage.awaitRecord("application-back").find(" frames=1 ") != std::string::npos);
}

TEST_CASE("P12: frames that the application always refuses, as many as it has places, hold up no others of its entry") {
  Application application;
  // Shorter, it would be in one of fifty origins, too.
  application.refuse("order.bad");
  Stage stage(application.url());
  for (const char* session : {"s-1", "s-2", "s-3", "s-4", "s-5"}) {
    stage.send("order.bad", session);
  }
  stage.inboxOnce([](const json& all) {
    return all.size() == 5 &&
           std::ranges::count_if(all, [](const json& frame) { return frame.contains("waits_for"); }) >= 4;
  });
  stage.send("order.placed", "s-6");
  while (stage.sender().getStats().acked == 0) {
  }
  // Refused once more after another was taken, a frame is charged.
  const json charged = stage.inboxOnce([](const json& all) {
    return std::ranges::any_of(all, [](const json& frame) { return frame.at("retry_count").get<int>() > 0; });
  });
  CHECK(charged.dump().find("the application answers 404") != std::string::npos);
}

TEST_CASE("P12: an operator's discard reaches a frame that only waits for an application") {
  const testing::ReservedPort port;
  Stage stage("http://127.0.0.1:" + std::to_string(port.number()) + "/hook");
  const std::string id = stage.send("order.placed");
  stage.inboxOnce([](const json& frames) { return frames.size() == 1 && allWait(frames); });
  OutboxManager tool = OutboxManager::open(stage.serve().path("agent.db"), {.agent = "urn:agent:me"});
  // While it is asked again, it is in hand for a moment.
  while (!OutboxOperator(tool).discardInbox("urn:agent:carol", id).done()) {
  }
  stage.inboxOnce(isEmpty);
  while (stage.sender().getStats().failed == 0) {
  }
}

TEST_CASE("An application that is away holds up no frames of another, however many wait for it") {
  const testing::ReservedPort port;
  const std::string away = "http://127.0.0.1:" + std::to_string(port.number()) + "/hook";
  Application application;
  Stage stage(application.url(), json::array({{{"types", "job.*"}, {"url", away}}}));
  for (int session = 0; session < 9; ++session) {
    stage.send("job.wanted", "j-" + std::to_string(session));
  }
  stage.inboxOnce([](const json& all) { return all.size() == 9 && allWait(all); });
  stage.send("order.placed");
  const InboundRequest request = application.take();
  CHECK(json::parse(request.body).at("type") == "order.placed");
  stage.inboxOnce([](const json& all) { return all.size() == 9; });
}

TEST_CASE("P12: an application that works on as many frames as it has places holds up no frames of another") {
  Application slow;
  slow.hold();
  Application application;
  Stage stage(application.url(), json::array({{{"types", "job.*"}, {"url", slow.url()}}}), 1);
  stage.send("job.wanted", "j-1");
  slow.take();
  stage.send("job.wanted", "j-2");
  const json held = stage.inboxOnce([](const json& all) { return all.size() == 2; });
  CHECK(held[0].at("in_hand_of").get<std::string>().starts_with("the application " + slow.url() + " since 20"));
  stage.send("order.placed");
  CHECK(json::parse(application.take().body).at("type") == "order.placed");
  slow.release();
  stage.inboxOnce(isEmpty);
}

TEST_CASE("A frame that no application takes stays with its sender") {
  Application application;
  Stage stage(application.url());
  const std::string id = stage.send("invoice.sent");
  stage.send("invoice.sent");
  stage.send("order.placed");
  while (stage.sender().find(id).value().retryCount == 0) {
  }
  CHECK(stage.inbox().empty());
  const std::vector<std::string> log = stage.serve().log();
  const auto isSaid = [](const std::string& line) { return line.find("warning no-application") != line.npos; };
  CHECK(std::ranges::count_if(log, isSaid) == 1);
}

TEST_CASE("The end of the daemon charges nothing to a frame that is being worked on") {
  const testing::ReservedPort port;
  Stage stage("http://127.0.0.1:" + std::to_string(port.number()) + "/hook");
  stage.send("order.placed");
  stage.inboxOnce([](const json& all) { return !all.empty() && allWait(all); });
  const std::string file = stage.serve().path("agent.db");
  stage.serve().end();
  const OutboxReader reader = OutboxReader::open(file);
  const InboxPage page = reader.inbox({});
  REQUIRE(page.frames.size() == 1);
  CHECK(page.frames[0].retryCount == 0);
}

TEST_CASE("The end of the daemon waits for what an application is working on, so that it need not do it again") {
  Application application;
  application.hold();
  Stage stage(application.url());
  stage.send("order.placed");
  application.take();
  const std::string url = stage.serve().server().url();
  const std::string file = stage.serve().path("agent.db");
  std::future<void> ended = std::async(std::launch::async, [&] { stage.serve().end(); });
  while (isReady(url)) {
  }
  application.release();
  ended.get();
  CHECK(OutboxReader::open(file).inbox({}).frames.empty());
}

TEST_CASE("An application beyond this machine needs https, and one that is signed for needs a key that can") {
  const auto refuses = [](const std::string& url) {
    const json rule = json::object({{"url", url}});
    const json inbox = {{"listen", "127.0.0.1:0"}, {"allow_anonymous", true}, {"deliver", json::array({rule})}};
    CHECK_THROWS_AS(ServeStage(Settings{{"inbox", inbox.dump()}}), Error);
  };
  refuses("http://192.0.2.1/hook");
  refuses("ftp://127.0.0.1/hook");
  refuses("nonsense");
}

}  // namespace ackbox::serve::push_test
