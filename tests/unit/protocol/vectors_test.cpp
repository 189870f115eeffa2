// Goal: the bytes of version 1 never change, and damage to them is never taken for something else.
// Method: the golden files in proto/vectors are written again and read back, then cut at every byte and flipped at
// every bit. Compatibility-sensitive: a change that needs these files changed is a new version of the protocol.

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "protocol/problem.hpp"
#include "protocol/timestamp.hpp"
#include "protocol/wire.hpp"

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

std::vector<std::string> ackIds() {
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
  for (const std::string& id : ackIds()) {
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
        REQUIRE((member.refusal || (!member.frame.id.empty() && isValidJson(member.frame.data, 64))));
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
