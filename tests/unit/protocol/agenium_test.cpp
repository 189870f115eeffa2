// Goal: frames as AGENIUM's agents write them are understood and answered as their agents expect; row 9.
// Method: the frames of AGENIUM's documents and of the npm package's builders, each changed in one place.

#include "protocol/agenium.hpp"

#include <doctest/doctest.h>

#include <string>

namespace agenium_test {

using namespace ackbox;
using namespace ackbox::protocol;

namespace {

const std::string kStart =
    R"({"version":"1.0","messageId":"m1","type":"EVENT","sessionId":"s1","timestamp":1795281634423,)";

DecodedRequest decode(const std::string& body, const std::string& contentType = "application/json",
                      const InboundOptions& limits = {}) {
  return decodeAgenium({contentType, body, "w"}, limits);
}

DecodedFrame taken(const std::string& body, const InboundOptions& limits = {}) {
  const DecodedRequest decoded = decode(body, "application/json", limits);
  REQUIRE_FALSE(decoded.problem);
  REQUIRE(decoded.frames.size() == 1);
  return decoded.frames[0];
}

std::string codeOf(const std::string& body) {
  const DecodedFrame member = taken(body);
  return member.refusal ? member.refusal->code : "";
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

FrameResult resultOf(Outcome outcome, std::string code = {}, std::string detail = {}) {
  FrameResult result;
  result.outcome = outcome;
  result.code = std::move(code);
  result.detail = std::move(detail);
  return result;
}

}  // namespace

TEST_CASE("row 9: an AGENIUM event is a frame of its session, named after the event, its payload the very bytes") {
  const DecodedFrame member = taken(kStart + R"("payload":{ "event":"order.placed","data":{"n":1.10} },"extra":1})");
  CHECK_FALSE(member.refusal);
  const InboundFrame& frame = member.frame;
  CHECK(frame.id == "m1");
  CHECK(frame.session == "s1");
  CHECK(frame.sequence == 0);
  CHECK(frame.type == "order.placed");
  CHECK(frame.data == R"({ "event":"order.placed","data":{"n":1.10} })");
  CHECK((frame.time == WallTime(std::chrono::milliseconds(1'795'281'634'423))));
  CHECK(frame.source.empty());
}

TEST_CASE("row 9: an AGENIUM request is named after its method; other kinds have their own name") {
  const std::string request = R"({"version":"1.0","messageId":"m2","type":"REQUEST","sessionId":"s1","timestamp":1,)"
                              R"("timeoutMs":30000,"payload":{"method":"place","params":[]}})";
  CHECK(taken(request).frame.type == "place");
  const DecodedFrame response =
      taken(R"({"version":"1.0","messageId":"m3","type":"RESPONSE","sessionId":"s1","timestamp":1,"replyTo":"m2",)"
            R"("payload":{"success":true}})");
  CHECK(response.frame.type == "RESPONSE");
  CHECK(response.frame.correlationId == "m2");
}

TEST_CASE("row 9: AGENIUM's ACK event becomes an ACK event of ours") {
  const InboundFrame frame = taken(kStart + R"("payload":{"event":"ACK","data":{"msgId":"019a"}}})").frame;
  CHECK(frame.type == kAckEventType);
  CHECK(frame.data == R"({"results":[{"id":"019a","outcome":"ack"}]})");
  for (const char* payload : {R"({"event":"ACK"})", R"({"event":"ACK","data":[]})", R"({"event":"ACK","data":{}})",
                              R"({"event":"ACK","data":{"msgId":7}})", R"({"event":"ACK","data":{"msgId":""}})",
                              R"({"event":"ACK","data":{"msgId":"a\u0000"}})"}) {
    CHECK(codeOf(kStart + "\"payload\":" + payload + "}") == "malformed");
  }
}

TEST_CASE("An AGENIUM frame that lacks or bends a member is malformed") {
  const std::string good = kStart + R"("payload":{"event":"e"}})";
  CHECK(codeOf(good).empty());
  CHECK(codeOf(replaced(good, R"("sessionId":"s1")", R"("sessionId":"")")).empty());
  for (const char* name : {"version", "messageId", "type", "sessionId", "timestamp", "payload"}) {
    CHECK(codeOf(replaced(good, name, "other")) == "malformed");
  }
  CHECK(codeOf(replaced(good, "1.0", "2.0")) == "malformed");
  CHECK(codeOf(replaced(good, "1.0", "10")) == "malformed");
  CHECK(codeOf(replaced(good, "\"m1\"", "1")) == "malformed");
  CHECK(codeOf(replaced(good, "1795281634423", "\"1795281634423\"")) == "malformed");
  CHECK(codeOf(replaced(good, "1795281634423", "1.5")) == "malformed");
  CHECK(codeOf(replaced(good, "1795281634423", "99999999999999999")) == "malformed");
  CHECK(codeOf(replaced(good, R"({"event":"e"})", "[]")) == "malformed");
  CHECK(codeOf(replaced(good, R"("event":"e")", R"("method":"e")")) == "malformed");
  CHECK(codeOf(replaced(good, R"("s1")", R"("s1","sessionId":"s2")")) == "malformed");
  CHECK(codeOf("[]") == "malformed");
}

TEST_CASE("AGENIUM's bodies have the limits of all others") {
  InboundOptions limits;
  limits.frameBytesMax = 13;
  CHECK_FALSE(taken(kStart + R"("payload":{"event":"e"}})", limits).refusal);
  CHECK(taken(kStart + R"("payload":{"event":"ee"}})", limits).refusal->code == "frame-too-large");
  limits = {};
  limits.bodyBytesMax = 10;
  CHECK(decode(kStart + "1}", "", limits).problem->status == 413);
  CHECK(decode("{").problem->status == 400);
  CHECK(decode("\"\xE4\"").problem->status == 400);
  CHECK(decode(std::string(65, '[') + std::string(65, ']')).problem->status == 400);
  CHECK(decode("{}", "text/plain").problem->status == 415);
  CHECK_FALSE(decode("{}", "").problem);
}

TEST_CASE("row 9: answers are in AGENIUM's form") {
  InboundResponse answer = encodeAgeniumAnswer(resultOf(Outcome::ack));
  CHECK(answer.status == 200);
  CHECK(answer.contentType == "application/json");
  CHECK(answer.body == R"({"ok":true})");
  FrameResult again = resultOf(Outcome::ack);
  again.duplicate = true;
  CHECK(encodeAgeniumAnswer(again).body == R"({"ok":true,"duplicate":true})");
  // AGENIUM's sender accepts only 200 as success, and the frame is stored durably.
  CHECK(encodeAgeniumAnswer(resultOf(Outcome::defer)).status == 200);
  answer = encodeAgeniumAnswer(resultOf(Outcome::nack, "not-now", "later"));
  CHECK(answer.status == 503);
  CHECK(answer.retryAfterSeconds == 1);
  CHECK(answer.body == R"({"ok":false,"error":"not-now","detail":"later"})");
  answer = encodeAgeniumAnswer(resultOf(Outcome::term, "rejected"));
  CHECK(answer.status == 422);
  CHECK(answer.body == R"({"ok":false,"error":"rejected"})");
}

}  // namespace agenium_test
