// Goal: a message's way through two daemons and back is one trace in a collector of OTLP, each step the child of the
// right one; and a collector that is away costs spans, which are counted, and nothing else.
// Method: two daemons, their applications and a collector over loopback; spans are flushed by the daemons' end. Then
// recorder and exporter alone, the latter on an executor that runs when the test says.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/random.hpp"
#include "serve/traces/otlp_json.hpp"
#include "serve/traces/span_exporter.hpp"
#include "serve/traces/span_recorder.hpp"
#include "support/reserved_port.hpp"
#include "transport/http_server.hpp"
#include "unit/serve/serve_stage.hpp"
#include "unit/transport/io_thread.hpp"

namespace ackbox::serve::traces_test {
namespace {

using nlohmann::json;
using testing::HttpReply;
using testing::ReservedPort;
using testing::ServeStage;
using testing::Settings;

/// Answers each POST with 200, and remembers the bodies.
class PostBox {
public:
  PostBox() {
    InboundServerOptions options;
    options.path = "/";
    transport::RequestSink sink;
    sink.bodyBytesMax = 10'000'000;
    sink.handle = [this](InboundRequest request, const transport::RequestSink::Respond& respond) {
      {
        const MutexLock lock(mutex_);
        bodies_.push_back(json::parse(request.body));
        came_.notifyAll();
      }
      InboundResponse response;
      response.authenticated = true;
      response.status = 200;
      respond(std::move(response));
    };
    server_ = std::make_shared<transport::HttpServer>(io_.executor(), options, std::move(sink));
    server_->start();
  }
  ~PostBox() { server_->stop(); }
  PostBox(const PostBox&) = delete;
  PostBox& operator=(const PostBox&) = delete;

  /// The first, once it is there.
  json first() {
    const MutexLock lock(mutex_);
    while (bodies_.empty()) {
      came_.wait(mutex_);
    }
    return bodies_.front();
  }
  std::vector<json> all() {
    const MutexLock lock(mutex_);
    return bodies_;
  }
  [[nodiscard]] std::string url() const { return server_->url(); }

private:
  Mutex mutex_;
  ConditionVariable came_;
  std::vector<json> bodies_ ACKBOX_GUARDED_BY(mutex_);
  testing::IoThread io_;
  std::shared_ptr<transport::HttpServer> server_;
};

/// The spans that a collector has, by service and name.
class Spans {
public:
  explicit Spans(const std::vector<json>& exports) {
    for (const json& one : exports) {
      for (const json& resource : one.at("resourceSpans")) {
        const json& attribute = resource.at("resource").at("attributes").at(0);
        REQUIRE(attribute.at("key") == "service.name");
        for (json span : resource.at("scopeSpans").at(0).at("spans")) {
          span["service"] = attribute.at("value").at("stringValue");
          spans_.push_back(std::move(span));
        }
      }
    }
  }

  [[nodiscard]] json one(const std::string& service, const std::string& name) const {
    std::optional<json> found;
    for (const json& span : spans_) {
      if (span.at("service") == service && span.at("name") == name) {
        CHECK_MESSAGE(!found, service << " " << name << " occurs twice");
        found = span;
      }
    }
    REQUIRE_MESSAGE(found, service << " has no span " << name);
    return *found;
  }
  [[nodiscard]] const std::vector<json>& all() const { return spans_; }

private:
  std::vector<json> spans_;
};

Settings settingsOf(const std::string& name, const std::string& peer, const std::string& peerUrl,
                    const std::string& inbox, const PostBox& application, const PostBox& collector) {
  const json peers = json::array({{{"name", peer}, {"url", peerUrl}}});
  const json deliver = json::array({{{"url", application.url()}}});
  return {{"agent", "urn:agent:" + name},
          {"peers", peers.dump()},
          {"inbox", json{{"listen", inbox}, {"allow_anonymous", true}, {"deliver", deliver}}.dump()},
          {"traces", json{{"url", collector.url()}, {"service_name", name}}.dump()}};
}

void awaitEmptyInbox(ServeStage& stage) {
  while (!json::parse(stage.asker().ask("GET", "/v1/inbox").body).at("frames").empty()) {
  }
}

void awaitStats(ServeStage& stage, const char* figure, int value) {
  while (json::parse(stage.asker().ask("GET", "/v1/stats").body).at(figure) != value) {
  }
}

void checkChild(const json& span, const json& parent) {
  INFO(span.dump());
  CHECK(span.at("traceId") == parent.at("traceId"));
  CHECK(span.at("parentSpanId") == parent.at("spanId"));
  CHECK(std::stoull(span.at("endTimeUnixNano").get<std::string>()) >=
        std::stoull(span.at("startTimeUnixNano").get<std::string>()));
}

RecordedSpan spanNamed(std::string_view name) {
  RecordedSpan span;
  span.name = name;
  span.traceId = "0af7651916cd43dd8448eb211c80319c";
  span.spanId = "b7ad6b7169203331";
  return span;
}

/// What the exporter of a test logs.
struct Records {
  Mutex mutex;
  std::vector<std::string> lines ACKBOX_GUARDED_BY(mutex);

  LogSink sink() {
    return [this](const LogRecord& record) {
      const MutexLock lock(mutex);
      lines.push_back(toKeyValue(record));
    };
  }
  std::vector<std::string> all() {
    const MutexLock lock(mutex);
    return lines;
  }
};

}  // namespace

TEST_CASE("A message, its handling and the reply to it are one trace") {
  PostBox collector;
  PostBox bobsApplication;
  PostBox alicesApplication;
  const ReservedPort alicesInbox;
  ServeStage bob(settingsOf("bob", "alice", alicesInbox.url(), "127.0.0.1:0", bobsApplication, collector));
  ServeStage alice(settingsOf("alice", "bob", bob.server().inboxUrl(),
                              "127.0.0.1:" + std::to_string(alicesInbox.number()), alicesApplication, collector));
  const std::string asJson = testing::kJson;
  const HttpReply asked = alice.asker().ask("POST", "/v1/messages", R"({"peer":"bob","type":"ask","data":1})", asJson);
  REQUIRE(asked.status == 201);
  const json event = bobsApplication.first();
  const json reply = {{"peer", "alice"}, {"type", "answer"}, {"data", 2}, {"traceparent", event.at("traceparent")}};
  REQUIRE(bob.asker().ask("POST", "/v1/messages", reply.dump(), asJson).status == 201);
  CHECK(alicesApplication.first().at("type") == "answer");
  awaitEmptyInbox(bob);
  awaitEmptyInbox(alice);
  awaitStats(alice, "sending", 0);
  awaitStats(bob, "sending", 0);
  alice.end();
  bob.end();

  const Spans spans(collector.all());
  const json ask = spans.one("alice", "enqueue");
  CHECK_FALSE(ask.contains("parentSpanId"));
  CHECK(ask.at("attributes").dump().find(json::parse(asked.body).at("message_id").get<std::string>()) !=
        std::string::npos);
  const json askSent = spans.one("alice", "send");
  checkChild(askSent, ask);
  CHECK(askSent.at("links").at(0).at("spanId") == ask.at("spanId"));
  const json askReceived = spans.one("bob", "receive");
  checkChild(askReceived, ask);
  CHECK(askReceived.at("links").at(0).at("spanId") == askSent.at("spanId"));
  checkChild(spans.one("bob", "process"), ask);
  const json answer = spans.one("bob", "enqueue");
  checkChild(answer, ask);
  checkChild(spans.one("bob", "send"), answer);
  checkChild(spans.one("alice", "receive"), answer);
  checkChild(spans.one("alice", "process"), answer);
  CHECK(spans.all().size() == 8);
  for (const json& span : spans.all()) {
    CHECK_FALSE(span.contains("status"));
  }
}

TEST_CASE("What may wait is limited, what is too much is dropped and counted, and the log says so once") {
  const ReservedPort port;
  boost::asio::io_context context;
  Records records;
  const auto exporter = std::make_shared<SpanExporter>(
      context.get_executor(), TracesConfig{.url = port.url(), .serviceName = "a"}, HttpSenderOptions(), records.sink());
  for (std::size_t index = 0; index < SpanExporter::kSpansMax + 10; ++index) {
    exporter->add(spanNamed("enqueue"));
  }
  CHECK(exporter->counts()->dropped == 10);
  const auto guard = boost::asio::make_work_guard(context);
  std::thread thread([&] { context.run(); });
  exporter->drain(std::chrono::seconds(20));
  CHECK(exporter->counts()->dropped == SpanExporter::kSpansMax + 10);
  CHECK(exporter->counts()->exported == 0);
  exporter->add(spanNamed("enqueue"));
  CHECK(exporter->counts()->dropped == SpanExporter::kSpansMax + 11);
  const std::vector<std::string> lines = records.all();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find(" warning collector-away ") != std::string::npos);
  context.stop();
  thread.join();
}

TEST_CASE("Spans are exported in batches, and all of them at the drain") {
  PostBox collector;
  boost::asio::io_context context;
  Records records;
  const auto exporter =
      std::make_shared<SpanExporter>(context.get_executor(), TracesConfig{.url = collector.url(), .serviceName = "a"},
                                     HttpSenderOptions(), records.sink());
  for (std::size_t index = 0; index < SpanExporter::kBatchSpans + 3; ++index) {
    exporter->add(spanNamed("enqueue"));
  }
  const auto guard = boost::asio::make_work_guard(context);
  std::thread thread([&] { context.run(); });
  exporter->drain(std::chrono::seconds(20));
  CHECK(exporter->counts()->exported == SpanExporter::kBatchSpans + 3);
  CHECK(exporter->counts()->dropped == 0);
  CHECK(collector.all().size() == 2);
  CHECK(records.all().empty());
  context.stop();
  thread.join();
}

TEST_CASE("P11: a span has the URL of its request without the query, which may hold a secret") {
  boost::asio::io_context context;
  const auto exporter = std::make_shared<SpanExporter>(context.get_executor(),
                                                       TracesConfig{.url = "http://127.0.0.1:1/", .serviceName = "a"},
                                                       HttpSenderOptions(), LogSink());
  SpanRecorder recorder(exporter, systemClock(), seededRandom(1));
  const std::vector<TracedMessage> messages = {
      {.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}};
  std::string hop;
  const auto span = std::static_pointer_cast<RecordedSpan>(
      recorder.requestBegan({.peer = "bob", .url = "https://bob/inbox?key=hidden", .messages = messages}, hop));
  REQUIRE(span);
  const auto url =
      std::ranges::find(span->attributes, std::string_view("url.full"), [](const auto& one) { return one.first; });
  CHECK(url->second == "https://bob/inbox");
}

TEST_CASE("A trace that is not sampled is left alone") {
  boost::asio::io_context context;
  const auto exporter = std::make_shared<SpanExporter>(context.get_executor(),
                                                       TracesConfig{.url = "http://127.0.0.1:1/", .serviceName = "a"},
                                                       HttpSenderOptions(), LogSink());
  SpanRecorder recorder(exporter, systemClock(), seededRandom(1));
  const std::string unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
  std::string traceparent = unsampled;
  CHECK(recorder.enqueueBegan({.traceparent = unsampled}, traceparent) == nullptr);
  CHECK(traceparent == unsampled);
  const std::vector<TracedMessage> messages = {{.traceparent = unsampled}, {}};
  std::string hop;
  CHECK(recorder.requestBegan({.messages = messages}, hop) == nullptr);
  CHECK(hop.empty());
  CHECK(recorder.handlingBegan({.message = {.traceparent = unsampled}}) == nullptr);
  traceparent.clear();
  CHECK(recorder.enqueueBegan({}, traceparent) != nullptr);
  CHECK(traceparent.size() == unsampled.size());
  CHECK(traceparent.ends_with("-01"));
}

TEST_CASE("A span is written as OTLP has it in JSON") {
  RecordedSpan span = spanNamed("send");
  span.kind = RecordedSpan::Kind::client;
  span.beganAt = WallTime(std::chrono::milliseconds(1'500));
  span.endedAt = WallTime(std::chrono::milliseconds(1'501));
  span.attributes.emplace_back("ackbox.peer", "b\"ob");
  span.links.emplace_back("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
  span.isFailed = true;
  span.error = "no";
  const json exported = json::parse(otlpJson("alice", std::vector<RecordedSpan>{span}));
  CHECK(exported.at("/resourceSpans/0/resource/attributes/0/value/stringValue"_json_pointer) == "alice");
  const json expected = json::parse(R"({"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",
    "name":"send","kind":3,"startTimeUnixNano":"1500000000","endTimeUnixNano":"1501000000",
    "attributes":[{"key":"ackbox.peer","value":{"stringValue":"b\"ob"}}],
    "links":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7"}],
    "status":{"code":2,"message":"no"}})");
  CHECK(exported.at("/resourceSpans/0/scopeSpans/0/spans/0"_json_pointer) == expected);
}

}  // namespace ackbox::serve::traces_test
