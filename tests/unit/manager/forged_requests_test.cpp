// Goal: P11: what somebody on the way can make of requests that he has read, by other headers, another path or another
// receiver, is no other event, and takes nothing away from the true one. Compatibility-sensitive. Method: the forged
// requests of proto/vectors against real files, with binary mode off and on, and against a receiver of webhooks that
// goes by the rule in proto/README.md; then the true request, which must fare as if nothing had come before it.

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/signature.hpp"
#include "protocol/wire.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::forged_requests_test {
namespace {

using nlohmann::json;

const std::string kKey = "whsec_YWxpY2UgYWxpY2UgYWxpY2UgYWxpY2UgYWxpY2U=";
const std::string kAgeniumPath = "agenium";
constexpr WallTime kThen{std::chrono::seconds(1'769'904'000)};

std::string vectorNamed(const std::string& name) {
  std::ifstream file(std::string(ACKBOX_VECTORS_DIRECTORY) + "/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Secret> keysOfVectors() {
  const json keys = json::parse(vectorNamed("signatures.json"));
  return {Secret(keys.at("whsec").get<std::string>()), Secret(keys.at("whsk").get<std::string>())};
}

InboundRequest asReceived(const json& message, const std::string& target) {
  InboundRequest request;
  request.body = vectorNamed(message.at("body"));
  const json& headers = message.at("headers");
  for (const auto& [name, value] : headers.items()) {
    if (name.starts_with("ce-")) {
      request.eventHeaders.emplace_back(name.substr(3), value);
    }
  }
  request.contentType = headers.value("content-type", "");
  request.webhookId = headers.at("webhook-id");
  request.webhookTimestamp = headers.at("webhook-timestamp");
  request.webhookSignature = headers.at("webhook-signature");
  request.claimedAgent = headers.value("outbox-agent", "");
  request.target = target;
  return request;
}

/// The request that a forged one was made of, as its sender sent it.
InboundRequest trueRequest(const json& forged) {
  for (const json& message : json::parse(vectorNamed("messages.json"))) {
    if (message.at("message") == "request" && message.at("body") == forged.at("body") && !message.contains("profile")) {
      const bool isAgenium = forged.at("body").get<std::string>().starts_with("agenium");
      return asReceived(message, isAgenium ? kAgeniumPath : "inbox");
    }
  }
  FAIL("no such request");
  return {};
}

/// An agent that knows one peer by keys which sign in both directions.
struct Receiver {
  Receiver(const std::string& agent, const std::string& peer, bool binaryMode, std::vector<Secret> keys) {
    OutboxOptions options;
    options.agent = agent;
    options.clock = clock;
    manager.emplace(OutboxManager::open(dir.file("agent.db"), options));
    InboundOptions inbound;
    inbound.peers = {{.agents = {peer, peer + ":office"}, .secrets = SecretSource::fixed(std::move(keys))}};
    inbound.binaryMode = binaryMode;
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction&) {
          heard.push_back(frame.source + " " + frame.type);
          return HandlerResult::ack();
        },
        std::move(inbound));
  }

  InboundResponse post(InboundRequest request) { return testing::answerTo(*handler, std::move(request), kAgeniumPath); }

  /// Status and, of an ACK document, the results.
  std::string fate(const InboundRequest& request) {
    const InboundResponse response = post(request);
    const json document = json::parse(response.body);
    return std::to_string(response.status) + " " + document.value("results", json()).dump();
  }

  testing::TempDir dir;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>(kThen);
  std::optional<OutboxManager> manager;
  // Written by the store's thread, read when the answers are here.
  std::vector<std::string> heard;
  std::optional<InboundHandler> handler;
};

bool isSigned(const InboundResponse& response) {
  for (const auto& [name, value] : response.headers) {
    if (name == "webhook-signature") {
      return true;
    }
  }
  return false;
}

/// The type of the event that a receiver of webhooks takes, by the rule in proto/README.md; nothing when it takes none.
std::optional<std::string> takenByWebhook(const InboundRequest& request, const std::string& self,
                                          const std::string& peer) {
  const protocol::SignatureHeaders headers{request.webhookId, request.webhookTimestamp, request.webhookSignature};
  if (protocol::KeyRing(keysOfVectors()).verify(headers, request.body, kThen) != protocol::SignatureVerdict::valid ||
      request.webhookId.starts_with("re_")) {
    return std::nullopt;
  }
  const json event = json::parse(request.body);
  if (!event.is_object() || event.value("specversion", "") != "1.0" || event.value("id", "") != request.webhookId ||
      event.value("source", "") != peer || event.value("audience", self) != self) {
    return std::nullopt;
  }
  return event.at("type").get<std::string>();
}

InboundRequest signedRequest(const std::string& body, const std::string& id, const std::string& type) {
  InboundRequest request{type, body, id};
  const protocol::SignatureHeaders headers = protocol::KeyRing(std::vector{Secret(kKey)}).sign(id, body, kThen);
  request.webhookTimestamp = headers.timestamp;
  request.webhookSignature = headers.signature;
  return request;
}

TEST_CASE("Golden: P11: each forged request of the vectors is refused, and the true one fares as if it had not come") {
  const json all = json::parse(vectorNamed("forged_requests.json"));
  CHECK(all.size() == 21);
  for (const bool binaryMode : {false, true}) {
    for (const json& forged : all) {
      const std::string what = forged.at("what");
      CAPTURE(what);
      CAPTURE(binaryMode);
      Receiver agent(forged.at("receiver"), forged.at("peer"), binaryMode, keysOfVectors());
      const InboundResponse response = agent.post(asReceived(forged, forged.at("path")));
      CHECK(response.status == forged.at(binaryMode ? "binarymode" : "status"));
      CHECK(agent.heard.empty());
      if (!forged.at("body").get<std::string>().starts_with("answer")) {
        Receiver untouched(forged.at("receiver"), forged.at("peer"), binaryMode, keysOfVectors());
        CHECK(agent.fate(trueRequest(forged)) == untouched.fate(trueRequest(forged)));
        CHECK(agent.heard == untouched.heard);
      }
    }
  }
}

TEST_CASE("Golden: P11: a receiver of webhooks that goes by the rule refuses them, or takes what was signed") {
  for (const json& forged : json::parse(vectorNamed("forged_requests.json"))) {
    CAPTURE(forged.at("what"));
    const std::optional<std::string> taken =
        takenByWebhook(asReceived(forged, forged.at("path")), forged.at("receiver"), forged.at("peer"));
    if (forged.at("webhook") == "refused") {
      CHECK_FALSE(taken);
    } else {
      CHECK(taken == json::parse(vectorNamed(forged.at("body"))).at("type").get<std::string>());
    }
  }
}

TEST_CASE("P5: a forgery that comes first does not make the true message a dead letter") {
  const std::string body =
      R"({"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"order.placed","data":{"n":1}})";
  for (const bool binaryMode : {false, true}) {
    for (const char* type : {"application/json", "text/plain", "application/x-thing", ""}) {
      CAPTURE(type);
      Receiver bob("urn:agent:bob", "urn:agent:alice", binaryMode, {Secret(kKey)});
      const InboundRequest genuine = signedRequest(body, "m1", "application/cloudevents+json");
      InboundRequest forged = genuine;
      forged.contentType = type;
      forged.eventHeaders = {
          {"specversion", "1.0"}, {"id", "m1"}, {"source", "urn:agent:alice"}, {"type", "money.moved"}};
      CHECK(bob.post(forged).status == (binaryMode ? 422 : 415));
      CHECK(bob.post(genuine).status == 200);
      CHECK(bob.heard == std::vector<std::string>{"urn:agent:alice order.placed"});
    }
  }
}

TEST_CASE(
    "P3: no answer to a request under other headers, or to one's own, can be played to its sender as the peer's") {
  const std::string body =
      R"({"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"order.placed","data":{"n":1}})";
  const InboundRequest genuine = signedRequest(body, "m1", "application/cloudevents+json");
  SendRequest sent;
  sent.agent = "urn:agent:alice";
  sent.frames.emplace_back().messageId = "m1";
  Receiver bob("urn:agent:bob", "urn:agent:alice", true, {Secret(kKey)});
  struct Change {
    const char* what;
    std::function<void(InboundRequest&)> apply;
  };
  const std::vector<Change> changes = {
      {"another media type", [](InboundRequest& r) { r.contentType = "text/html"; }},
      {"as a batch", [](InboundRequest& r) { r.contentType = "application/cloudevents-batch+json"; }},
      {"in the other form", [](InboundRequest& r) { r.target = kAgeniumPath; }},
      {"in binary mode, from a session",
       [](InboundRequest& r) {
         r.contentType = "application/json";
         r.eventHeaders = {{"specversion", "1.0"},
                           {"id", "m1"},
                           {"source", "urn:agent:alice"},
                           {"type", "money.moved"},
                           {"sessionid", "orders"}};
       }},
  };
  for (const Change& change : changes) {
    CAPTURE(change.what);
    InboundRequest forged = genuine;
    change.apply(forged);
    const InboundResponse response = bob.post(forged);
    CHECK(response.status >= 400);
    CHECK_FALSE(isSigned(response));
  }
  // Alice's own limits are below what she sends: what comes back to her is refused in bob's name by nobody.
  Receiver alice("urn:agent:alice", "urn:agent:bob", false, {Secret(kKey)});
  for (const auto& [id, text] :
       {std::pair<std::string, std::string>{"m1", body}, {"m2", std::string(70, '[') + std::string(70, ']')}}) {
    const InboundResponse response = alice.post(signedRequest(text, id, "application/cloudevents+json"));
    const SendReport report =
        protocol::readSignedAnswer(sent, "d", response.status, response.contentType, "", response.body);
    CHECK(report.outcome != RequestOutcome::requestRejected);
    for (const FrameResult& result : report.results) {
      CHECK(result.outcome == Outcome::nack);
    }
  }
  // The peer's own refusal for good, of the same words, is believed.
  sent.agent = "urn:agent:carol";
  const InboundResponse deep =
      alice.post(signedRequest(std::string(70, '[') + std::string(70, ']'), "m2", "application/cloudevents+json"));
  CHECK(protocol::readSignedAnswer(sent, "d", deep.status, deep.contentType, "", deep.body).outcome ==
        RequestOutcome::requestRejected);
}

TEST_CASE("the answer to a peer whose public key alone is known bears no signature") {
  const json keys = json::parse(vectorNamed("signatures.json"));
  Receiver bob("urn:agent:bob", "urn:agent:alice", false, {Secret(keys.at("whpk").get<std::string>())});
  const std::string body = R"({"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"order.placed"})";
  InboundRequest request{"application/cloudevents+json", body, "m1"};
  const protocol::SignatureHeaders headers =
      protocol::KeyRing(std::vector{Secret(keys.at("whsk").get<std::string>())}).sign("m1", body, kThen);
  request.webhookTimestamp = headers.timestamp;
  request.webhookSignature = headers.signature;
  const InboundResponse response = bob.post(request);
  CHECK(response.status == 200);
  CHECK_FALSE(isSigned(response));
}

TEST_CASE("P11: a frame of one's own that is sent back is refused as a whole, even where it is beyond a limit") {
  Receiver alice("urn:agent:alice", "urn:agent:bob", false, {Secret(kKey)});
  const std::string large = R"({"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"t","data":")" +
                            std::string(300'000, 'x') + "\"}";
  CHECK(alice.post(signedRequest(large, "m1", "application/cloudevents+json")).status == 403);
}

TEST_CASE("P5: a signed AGENIUM frame that is sent again under another name of its sender's is the same frame") {
  Receiver bob("urn:agent:bob", "urn:agent:alice", false, {Secret(kKey)});
  InboundRequest request = signedRequest(
      R"({"version":"1.0","messageId":"m1","type":"EVENT","sessionId":"s","timestamp":1,"payload":{"event":"said"}})",
      "w1", "application/json");
  request.target = kAgeniumPath;
  CHECK(bob.post(request).body == R"({"ok":true})");
  request.claimedAgent = "urn:agent:alice:office";
  CHECK(bob.post(request).body == R"({"ok":true,"duplicate":true})");
  CHECK(bob.heard == std::vector<std::string>{"urn:agent:alice said"});
}

TEST_CASE("a peer with the agent's own name is refused when the handler is made, where a key would sign for both") {
  CHECK_THROWS_WITH_AS(Receiver("urn:agent:bob", "urn:agent:bob", false, {Secret(kKey)}),
                       doctest::Contains("is this agent itself"), Error);
}

}  // namespace
}  // namespace ackbox::forged_requests_test
