// Goal: what travels between real sockets is what proto/vectors has, byte for byte: our sender sends it and believes
// the golden answer, our server takes it and gives the golden answer. Compatibility-sensitive. Method: a sender with
// the vectors' clock and keys against a scripted peer; the vectors' requests, written on a socket, against a server
// with the same clock and keys.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/options.hpp"
#include "ackbox/outbox_manager.hpp"
#include "base/timestamp.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::vectors_test {
namespace {

using nlohmann::json;
using testing::RawConnection;
using testing::RawServer;
using Headers = std::map<std::string, std::string>;

std::string vectorNamed(const std::string& name) {
  std::ifstream file(std::string(ACKBOX_VECTORS_DIRECTORY) + "/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

json messageOf(const std::string& kind, const std::string& body, const std::string& profile = {}) {
  for (const json& message : json::parse(vectorNamed("messages.json"))) {
    if (message.at("message") == kind && message.at("body") == body && message.value("profile", "") == profile) {
      return message;
    }
  }
  FAIL("no such message");
  return {};
}

SecretSource keysNamed(const std::vector<const char*>& names) {
  const json keys = json::parse(vectorNamed("signatures.json"));
  std::vector<Secret> secrets;
  for (const char* name : names) {
    secrets.emplace_back(keys.at(name).get<std::string>());
  }
  return SecretSource::fixed(secrets);
}

std::shared_ptr<testing::ManualClock> clockOfVectors() {
  return std::make_shared<testing::ManualClock>(WallTime(std::chrono::seconds(1'769'904'000)));
}

Headers headersOf(const std::string& message) {
  Headers headers;
  std::size_t at = message.find("\r\n") + 2;
  while (message.compare(at, 2, "\r\n") != 0) {
    const std::size_t colon = message.find(": ", at);
    const std::size_t end = message.find("\r\n", at);
    std::string name = message.substr(at, colon - at);
    std::ranges::transform(name, name.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    headers[name] = message.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return headers;
}

std::string bodyOf(const std::string& message) {
  return message.substr(message.find("\r\n\r\n") + 4);
}

std::string withBody(std::string head, const json& message, const std::string& body) {
  for (const auto& [name, value] : message.at("headers").items()) {
    head += name + ": " + value.get<std::string>() + "\r\n";
  }
  return head + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// The frame of request_single.json.
SendRequest singleRequest() {
  const json event = json::parse(vectorNamed("request_single.json"));
  SendRequest request;
  request.peer = "bob";
  request.agent = event.at("source");
  request.peerAgent = event.at("audience");
  request.origin = event.at("sessionorigin");
  request.epoch = 3;
  request.timeout = std::chrono::seconds(10);
  OutboundFrame& frame = request.frames.emplace_back();
  frame.messageId = event.at("id");
  frame.session = event.at("sessionid");
  frame.type = event.at("type");
  frame.data = R"({ "total": 1.10,"big":123456789012345678901234567890, "note":"\u00fc\/" })";
  frame.sequence = 9'223'372'036'854'775'807U;
  frame.previousSequence = 41;
  frame.enqueuedAt = parseTimestamp(event.at("time").get<std::string>()).value();
  frame.expiresAt = parseTimestamp(event.at("expirytime").get<std::string>());
  frame.traceparent = event.at("traceparent");
  frame.correlationId = event.at("correlationid");
  return request;
}

SendReport sendSingle(PeerProfile profile, const std::string& answer, std::string& sent) {
  RawServer peer({[&](RawConnection& connection) {
    sent = connection.receiveMessage();
    connection.send(answer);
  }});
  testing::IoThread io;
  HttpSenderOptions options;
  options.clock = clockOfVectors();
  HttpSender sender(options);
  sender.usePeers(std::vector{
      PeerOptions{.name = "bob", .url = peer.url(), .secrets = keysNamed({"whsec", "whsk"}), .profile = profile}});
  sender.start(io.executor());
  SendRequest request = singleRequest();
  request.url = peer.url();
  std::promise<SendReport> told;
  sender.asyncSend(request, [&](const SendReport& report) { told.set_value(report); });
  SendReport report = told.get_future().get();
  sender.stop();
  return report;
}

/// Bob, for whom the golden requests are, and whose clock is theirs.
struct Bob {
  Bob() {
    OutboxOptions options;
    options.agent = "urn:agent:bob";
    options.clock = clockOfVectors();
    manager.emplace(OutboxManager::open(dir.file("bob.db"), options));
    InboundOptions inbound;
    inbound.binaryMode = true;
    inbound.peers = {{.agents = {"urn:agent:alice"}, .secrets = keysNamed({"whsec", "whsk"})}};
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction&) {
          heard.push_back(frame);
          return HandlerResult::ack();
        },
        inbound);
    InboundServerOptions server;
    server.compatibilityPath = "/message";
    server_.emplace(pool_.get_executor(), *handler, server);
  }
  ~Bob() {
    server_.reset();
    pool_.join();
  }
  Bob(const Bob&) = delete;
  Bob& operator=(const Bob&) = delete;

  std::string post(const std::string& body, const std::string& path = "/inbox") {
    const json message = messageOf("request", body);
    RawConnection connection(server_->port());
    connection.send(withBody("POST " + path + " HTTP/1.1\r\nHost: bob\r\n", message, vectorNamed(body)));
    return connection.receiveMessage();
  }

  testing::TempDir dir;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;
  std::vector<InboundFrame> heard;

private:
  boost::asio::thread_pool pool_{1};
  std::optional<InboundServer> server_;
};

}  // namespace

TEST_CASE("Golden: our sender puts the vectors' bytes on the wire and believes the golden answer") {
  const json answer = messageOf("answer", "answer_single.json");
  const std::string golden = withBody("HTTP/1.1 200 OK\r\n", answer, vectorNamed("answer_single.json"));
  std::string sent;
  const SendReport report = sendSingle(PeerProfile::native, golden, sent);
  CHECK(report.outcome == RequestOutcome::answered);
  CHECK(report.results.at(0).result == R"({"order": 7})");
  CHECK(bodyOf(sent) == vectorNamed("request_single.json"));
  const Headers headers = headersOf(sent);
  const json expected = messageOf("request", "request_single.json");
  for (const auto& [name, value] : expected.at("headers").items()) {
    CHECK(headers.at(name) == value);
  }
  CHECK(headers.at("outbox-version") == "1");
  CHECK(headers.at("outbox-agent") == "urn:agent:alice");
  CHECK(headers.at("traceparent") == "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");

  // The golden answer to another request, and one byte off, are none.
  const json other = messageOf("answer", "ack_document.json");
  CHECK(sendSingle(PeerProfile::native, withBody("HTTP/1.1 200 OK\r\n", other, vectorNamed("ack_document.json")), sent)
            .outcome == RequestOutcome::peerUnavailable);
  std::string bent = golden;
  bent[bent.size() - 3] = '7';
  CHECK(sendSingle(PeerProfile::native, bent, sent).outcome == RequestOutcome::peerUnavailable);
}

TEST_CASE("Golden: a webhook gets the vectors' bytes") {
  std::string sent;
  const SendReport report =
      sendSingle(PeerProfile::webhook, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", sent);
  CHECK(report.outcome == RequestOutcome::answered);
  CHECK(bodyOf(sent) == vectorNamed("request_single.json"));
  const Headers headers = headersOf(sent);
  const json expected = messageOf("request", "request_single.json", "webhook");
  for (const auto& [name, value] : expected.at("headers").items()) {
    CHECK(headers.at(name) == value);
  }
}

TEST_CASE("Golden: our server takes the vectors' requests, in each form") {
  Bob bob;
  // Golden sessions begin at 41, which this file has not seen: they are understood, and asked to begin before it.
  for (const char* body : {"request_single.json", "request_batch.json"}) {
    CHECK(bob.post(body).find("out-of-sequence") != std::string::npos);
  }
  const std::string answer = bob.post("binary_event.json");
  CHECK(answer.starts_with("HTTP/1.1 200"));
  CHECK(headersOf(answer).at("webhook-id") == "re_019a0000-0000-7000-8000-000000000006");
  CHECK(bob.post("agenium_event.json", "/message").starts_with("HTTP/1.1 200"));
  REQUIRE(bob.heard.size() == 2);
  CHECK(bob.heard[0].data == vectorNamed("binary_event.json"));
  CHECK(bob.heard[1].data == R"({ "event":"order.placed","data":{"total": 1.10} })");
  // Byte for byte, with its signature.
  const std::string again = bob.post("agenium_event.json", "/message");
  CHECK(bodyOf(again) == vectorNamed("agenium_answer.json"));
  const Headers headers = headersOf(again);
  const json expected = messageOf("answer", "agenium_answer.json");
  for (const auto& [name, value] : expected.at("headers").items()) {
    CHECK(headers.at(name) == value);
  }
  CHECK(bodyOf(bob.post("agenium_ack.json", "/message")) == R"({"ok":true})");
}

}  // namespace ackbox::vectors_test
