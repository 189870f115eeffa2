// Goal: the bytes of version 1 never change, and damaged bytes are never taken for something else. Method: the golden
// files in proto/vectors are written again and read back, with signatures of them from another implementation, then cut
// at every byte and flipped at every bit. Compatibility-sensitive: a change that needs these files changed is a new
// version of the protocol.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/timestamp.hpp"
#include "json/fault.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/agenium.hpp"
#include "protocol/problem.hpp"
#include "protocol/signature.hpp"
#include "protocol/wire.hpp"

namespace vectors_test {

using namespace ackbox;
using namespace ackbox::protocol;

namespace {

std::string vectorNamed(const std::string& name) {
  std::ifstream file(std::string(ACKBOX_VECTORS_DIRECTORY) + "/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

OutboundFrame frameOf(const std::string& id, const std::string& session, std::uint64_t sequence, std::uint64_t previous,
                      const std::string& time, const std::string& data) {
  OutboundFrame frame;
  frame.messageId = id;
  frame.session = session;
  frame.type = "com.example.order.placed";
  frame.data = data;
  frame.sequence = sequence;
  frame.previousSequence = previous;
  frame.enqueuedAt = parseTimestamp(time).value();
  return frame;
}

SendRequest requestWith(std::vector<OutboundFrame> frames) {
  SendRequest request;
  request.agent = "urn:agent:alice";
  request.peerAgent = "urn:agent:bob";
  request.origin = "origin-1";
  request.epoch = 3;
  request.frames = std::move(frames);
  return request;
}

SendRequest singleRequest() {
  OutboundFrame frame = frameOf("019a0000-0000-7000-8000-000000000001",
                                "orders \"k\xC3\xBC"
                                "che\"",
                                9'223'372'036'854'775'807U, 41, "2026-01-31T23:59:59.999Z",
                                R"({ "total": 1.10,"big":123456789012345678901234567890, "note":"\u00fc\/" })");
  frame.expiresAt = parseTimestamp("2026-02-07T00:00:00Z");
  frame.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  frame.correlationId = "019a0000-0000-7000-8000-000000000000";
  return requestWith({frame});
}

SendRequest batchRequest() {
  return requestWith(
      {frameOf("019a0000-0000-7000-8000-000000000001", "orders", 42, 41, "2026-01-31T23:59:59.999Z", "[1,2]"),
       frameOf("019a0000-0000-7000-8000-000000000002", "orders", 44, 42, "2026-02-01T00:00:00Z", "")});
}

DecodedRequest decode(std::string_view contentType, std::string body) {
  return decodeRequest({std::string(contentType), std::move(body), "d"}, InboundOptions());
}

void checkSame(const DecodedFrame& decoded, const SendRequest& request, const OutboundFrame& frame) {
  CHECK_FALSE(decoded.refusal);
  const InboundFrame& got = decoded.frame;
  CHECK(got.id == frame.messageId);
  CHECK(got.source == request.agent);
  CHECK(got.type == frame.type);
  CHECK(got.data == (frame.data.empty() ? "null" : frame.data));
  CHECK((got.time == frame.enqueuedAt));
  CHECK((got.expiresAt == frame.expiresAt));
  CHECK(got.audience == request.peerAgent);
  CHECK(got.session == frame.session);
  CHECK(got.origin == request.origin);
  CHECK(got.epoch == request.epoch);
  CHECK(got.sequence == frame.sequence);
  CHECK(got.previousSequence == frame.previousSequence);
  CHECK(got.traceparent == frame.traceparent);
  CHECK(got.correlationId == frame.correlationId);
}

/// Calls `use` with `text` cut at every byte, and with each of its bits flipped.
template <typename Use>
void damage(const std::string& text, Use use) {
  for (std::size_t length = 0; length < text.size(); ++length) {
    use(text.substr(0, length));
  }
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    use(flipped);
  }
}

const nlohmann::json& messages() {
  static const nlohmann::json all = nlohmann::json::parse(vectorNamed("messages.json"));
  return all;
}

/// The message with this body, as received.
InboundRequest receivedAs(const std::string& body) {
  for (const nlohmann::json& message : messages()) {
    if (message.at("body") == body && message.at("message") == "request") {
      InboundRequest request;
      request.body = vectorNamed(body);
      for (const auto& [name, value] : message.at("headers").items()) {
        if (name.starts_with("ce-")) {
          request.eventHeaders.emplace_back(name.substr(3), value);
        }
      }
      request.contentType = message.at("headers").at("content-type");
      request.webhookId = message.at("headers").at("webhook-id");
      return request;
    }
  }
  FAIL("no such message");
  return {};
}

InboundFrame frameIn(const std::string& body) {
  const InboundOptions limits{.binaryMode = true};
  const InboundRequest request = receivedAs(body);
  const DecodedRequest decoded =
      body.starts_with("agenium") ? decodeAgenium(request, limits) : decodeRequest(request, limits);
  REQUIRE_FALSE(decoded.problem);
  REQUIRE(decoded.frames.size() == 1);
  REQUIRE_FALSE(decoded.frames[0].refusal);
  return decoded.frames[0].frame;
}

KeyRing ringOf(const std::vector<const char*>& names) {
  const nlohmann::json keys = nlohmann::json::parse(vectorNamed("signatures.json"));
  std::vector<Secret> secrets;
  for (const char* name : names) {
    secrets.emplace_back(keys.at(name).get<std::string>());
  }
  return KeyRing(secrets);
}

FrameResult wordOn42() {
  FrameResult word;
  word.outcome = Outcome::ack;
  word.result = R"({"order": 7})";
  return word;
}

std::vector<std::string_view> ackIds() {
  return {"a", "b", "c", "d", "e"};
}

std::vector<FrameResult> ackResults() {
  std::vector<FrameResult> results(5);
  results[0] = {Outcome::ack, true, false, "", "", {}, R"({"ok": 1.0})"};
  results[1] = {Outcome::defer, false, false, "", "", {}, ""};
  results[2] = {
      Outcome::nack, false, false, "not-now", "the printer is \"warm\"", std::chrono::milliseconds(1'500), ""};
  results[3] = {Outcome::nack, false, true, "held", "", {}, ""};
  results[4] = {Outcome::term, false, false, "rejected", "no such order", {}, ""};
  return results;
}

SendRequest ackedRequest() {
  SendRequest request;
  for (const std::string_view id : ackIds()) {
    request.frames.emplace_back().messageId = id;
  }
  return request;
}

}  // namespace

TEST_CASE("Golden: a request of one frame, both ways") {
  const SendRequest request = singleRequest();
  const EncodedRequest encoded = encodeRequest(request, "unused");
  CHECK(encoded.body == vectorNamed("request_single.json"));
  CHECK(encoded.contentType == kMediaTypeFrame);
  CHECK(encoded.webhookId == request.frames[0].messageId);
  const DecodedRequest decoded = decode(kMediaTypeFrame, vectorNamed("request_single.json"));
  REQUIRE(decoded.frames.size() == 1);
  checkSame(decoded.frames[0], request, request.frames[0]);
}

TEST_CASE("Golden: a request of two frames, both ways") {
  const SendRequest request = batchRequest();
  const EncodedRequest encoded = encodeRequest(request, "delivery-7");
  CHECK(encoded.body == vectorNamed("request_batch.json"));
  CHECK(encoded.contentType == kMediaTypeBatch);
  CHECK(encoded.webhookId == "delivery-7");
  const DecodedRequest decoded = decode(kMediaTypeBatch, vectorNamed("request_batch.json"));
  REQUIRE(decoded.frames.size() == 2);
  checkSame(decoded.frames[0], request, request.frames[0]);
  checkSame(decoded.frames[1], request, request.frames[1]);
}

TEST_CASE("Golden: an ACK document, both ways") {
  const std::vector<SessionProgress> sessions = {{"orders", 44, 41}};
  const InboundResponse response =
      encodeAck({"", "", "delivery-7"}, true, "store-b", ackIds(), ackResults(), sessions, InboundOptions());
  CHECK(response.body == vectorNamed("ack_document.json"));
  const SendReport report =
      readAnswer(ackedRequest(), "delivery-7", 200, kMediaTypeAck, "", vectorNamed("ack_document.json"));
  REQUIRE((report.outcome == RequestOutcome::answered));
  const std::vector<FrameResult> expected = ackResults();
  for (std::size_t index = 0; index < expected.size(); ++index) {
    CHECK((report.results[index].outcome == expected[index].outcome));
    CHECK(report.results[index].duplicate == expected[index].duplicate);
    CHECK(report.results[index].held == expected[index].held);
    CHECK(report.results[index].code == expected[index].code);
    CHECK(report.results[index].detail == expected[index].detail);
    CHECK((report.results[index].retryAfter == expected[index].retryAfter));
    CHECK(report.results[index].result == expected[index].result);
  }
}

TEST_CASE("Golden: a problem document, both ways") {
  const InboundResponse response =
      limitProblem(413, "Body too large", "send fewer or smaller frames", "maxbytes", 1'048'576);
  CHECK(response.body == vectorNamed("problem.json"));
  const SendReport report = readAnswer(singleRequest(), "d", 413, kMediaTypeProblem, "", vectorNamed("problem.json"));
  CHECK((report.outcome == RequestOutcome::requestRejected));
  CHECK(report.error == "HTTP 413: Body too large: send fewer or smaller frames");
  CHECK(report.creditBytes == 1'048'576);
}

TEST_CASE("Golden: the answer to a request of one frame, both ways") {
  const SendRequest request = singleRequest();
  const OutboundFrame& frame = request.frames[0];
  const std::vector<SessionProgress> sessions = {{frame.session, frame.sequence, frame.sequence}};
  const InboundResponse response =
      encodeAck(receivedAs("request_single.json"), false, "store-b", std::vector{std::string_view(frame.messageId)},
                std::vector{wordOn42()}, sessions, {});
  CHECK(response.status == 200);
  CHECK(response.body == vectorNamed("answer_single.json"));
  const SendReport report =
      readSignedAnswer(request, "unused", 200, kMediaTypeAck, "", vectorNamed("answer_single.json"));
  REQUIRE((report.outcome == RequestOutcome::answered));
  CHECK((report.results.at(0).outcome == Outcome::ack));
  CHECK(report.results[0].result == R"({"order": 7})");
}

TEST_CASE("Golden: an ACK event, both ways") {
  SendRequest request;
  request.agent = "urn:agent:bob";
  request.peerAgent = "urn:agent:alice";
  request.origin = "origin-2";
  request.epoch = 1;
  OutboundFrame event =
      frameOf("019a0000-0000-7000-8000-000000000003", std::string(kAckEventType), 7, 6, "2026-02-01T00:00:01.500Z", "");
  event.type = kAckEventType;
  event.data = encodeAckEvent("019a0000-0000-7000-8000-000000000001", 42, wordOn42(), true);
  request.frames = {event};
  CHECK(encodeRequest(request, "unused").body == vectorNamed("ack_event.json"));

  const InboundFrame frame = frameIn("ack_event.json");
  CHECK(frame.type == kAckEventType);
  CHECK(frame.source == "urn:agent:bob");
  const auto results = readAckEvent(frame.data);
  REQUIRE(results);
  REQUIRE(results->size() == 1);
  CHECK(results->front().id == "019a0000-0000-7000-8000-000000000001");
  CHECK(results->front().sequence == 42);
  CHECK((results->front().result.outcome == Outcome::ack));
  CHECK(results->front().result.result == R"({"order": 7})");
}

TEST_CASE("Golden: an event in binary mode is read as its structured form would be") {
  const InboundFrame frame = frameIn("binary_event.json");
  CHECK(frame.id == "019a0000-0000-7000-8000-000000000006");
  CHECK(frame.source == "urn:agent:alice");
  CHECK(frame.type == "com.example.order.placed");
  CHECK(frame.audience == "urn:agent:bob");
  CHECK((frame.time == parseTimestamp("2026-01-31T23:59:59.999Z")));
  CHECK(frame.correlationId == "Euro \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(frame.data == vectorNamed("binary_event.json"));
}

TEST_CASE("Golden: AGENIUM's frames are read, and answered in their form") {
  const InboundFrame event = frameIn("agenium_event.json");
  CHECK(event.id == "019a0000-0000-7000-8000-000000000004");
  CHECK(event.session == "orders");
  CHECK(event.type == "order.placed");
  CHECK((event.time == parseTimestamp("2026-01-31T23:59:59.999Z")));
  CHECK(event.data == R"({ "event":"order.placed","data":{"total": 1.10} })");
  const InboundFrame ack = frameIn("agenium_ack.json");
  CHECK(ack.type == kAckEventType);
  const auto results = readAckEvent(ack.data);
  REQUIRE(results);
  CHECK(results->front().id == "019a0000-0000-7000-8000-000000000001");
  FrameResult again;
  again.outcome = Outcome::ack;
  again.duplicate = true;
  CHECK(encodeAgeniumAnswer(again).body == vectorNamed("agenium_answer.json"));
}

TEST_CASE("Golden: each message's signatures, made byte for byte and verified by either key alone") {
  const KeyRing signer = ringOf({"whsec", "whsk"});
  CHECK(messages().size() == 11);
  for (const nlohmann::json& message : messages()) {
    const std::string body = vectorNamed(message.at("body"));
    CAPTURE(message.at("body"));
    const nlohmann::json& headers = message.at("headers");
    const SignatureHeaders golden{headers.at("webhook-id"), headers.at("webhook-timestamp"),
                                  headers.at("webhook-signature")};
    CHECK(golden.id.starts_with("re_") == (message.at("message") == "answer"));
    const WallTime at{std::chrono::seconds(std::stoll(golden.timestamp))};
    const SignatureHeaders made = signer.sign(golden.id, body, at);
    CHECK(made.timestamp == golden.timestamp);
    CHECK(made.signature == golden.signature);
    for (const char* key : {"whsec", "whpk"}) {
      const KeyRing reader = ringOf({key});
      CHECK(reader.verify(golden, body, at) == SignatureVerdict::valid);
      CHECK(reader.verify(golden, body, at + std::chrono::seconds(301)) == SignatureVerdict::skewed);
      std::size_t taken = 0;
      damage(body, [&](const std::string& other) {
        taken += reader.verify(golden, other, at) == SignatureVerdict::valid ? 1U : 0U;
      });
      CHECK(taken == 0);
    }
  }
}

TEST_CASE("P11: a damaged request is refused or decoded within its limits, never more") {
  for (const bool batch : {false, true}) {
    const std::string whole = vectorNamed(batch ? "request_batch.json" : "request_single.json");
    damage(whole, [&](const std::string& body) {
      const DecodedRequest decoded = decode(batch ? kMediaTypeBatch : kMediaTypeFrame, body);
      if (body.size() < whole.size()) {
        REQUIRE(decoded.problem);
        REQUIRE(decoded.problem->status == 400);
      }
      for (const DecodedFrame& member : decoded.frames) {
        REQUIRE((member.refusal || (!member.frame.id.empty() && ackbox::json::isValid(member.frame.data, 64))));
        REQUIRE(
            (member.refusal || member.frame.sequence == 0 || member.frame.previousSequence < member.frame.sequence));
      }
    });
  }
}

TEST_CASE("P3: a damaged answer settles by the ids that were sent or not at all") {
  const std::string whole = vectorNamed("ack_document.json");
  damage(whole, [&](const std::string& body) {
    const SendReport report = readAnswer(ackedRequest(), "delivery-7", 200, kMediaTypeAck, "", body);
    if (report.outcome == RequestOutcome::answered) {
      REQUIRE(body.size() == whole.size());
      REQUIRE(report.results.size() == 5);
      // No single flipped bit turns one outcome's name into another's.
      for (std::size_t index = 0; index < 5; ++index) {
        REQUIRE((report.results[index].outcome == ackResults()[index].outcome));
      }
    } else {
      REQUIRE((report.outcome == RequestOutcome::peerUnavailable));
    }
  });
}

TEST_CASE("P11: a damaged problem document harms nothing") {
  damage(vectorNamed("problem.json"), [](const std::string& body) {
    REQUIRE((readAnswer(singleRequest(), "d", 413, kMediaTypeProblem, "", body).outcome ==
             RequestOutcome::requestRejected));
  });
}

}  // namespace vectors_test
