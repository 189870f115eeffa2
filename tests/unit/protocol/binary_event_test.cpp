// Goal: an event in CloudEvents' binary mode is the same frame as in the structured one, and unsigned parts are not
// trusted where they could be used against its sender. Method: headers and bodies as they are on the wire, each changed
// in one place; examples of the HTTP binding 1.0.2.

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "protocol/wire.hpp"

namespace binary_event_test {

using namespace ackbox;
using namespace ackbox::protocol;

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

InboundRequest requestWith(std::string body, std::string contentType = "application/json", Headers more = {}) {
  InboundRequest request;
  request.contentType = std::move(contentType);
  request.body = std::move(body);
  request.webhookId = "m1";
  request.eventHeaders = {{"specversion", "1.0"}, {"id", "m1"}, {"source", "urn:a"}, {"type", "t"}};
  for (auto& header : more) {
    request.eventHeaders.push_back(std::move(header));
  }
  return request;
}

InboundOptions binary() {
  return {.binaryMode = true};
}

DecodedFrame taken(const InboundRequest& request, const InboundOptions& limits = binary()) {
  const DecodedRequest decoded = decodeRequest(request, limits);
  REQUIRE_FALSE(decoded.problem);
  CHECK_FALSE(decoded.batch);
  REQUIRE(decoded.frames.size() == 1);
  return decoded.frames[0];
}

std::string codeOf(const InboundRequest& request, const InboundOptions& limits = binary()) {
  const DecodedFrame member = taken(request, limits);
  if (!member.refusal) {
    return {};
  }
  CHECK((member.refusal->outcome == Outcome::term));
  return member.refusal->code;
}

InboundRequest withHeader(const std::string& name, const std::string& value) {
  return requestWith("{}", "application/json", {{name, value}});
}

}  // namespace

TEST_CASE("Binary mode: attributes come from the headers, the data are the body's very bytes") {
  const DecodedFrame member = taken(requestWith(" { \"a\" : 1.10 } ", "application/vnd.x+json; charset=utf-8",
                                                {{"time", "2026-01-31T23:59:59.999Z"},
                                                 {"expirytime", "2026-02-01T00:00:00+01:00"},
                                                 {"audience", "urn:bob"},
                                                 {"traceparent", "00-x"},
                                                 {"correlationid", "c"},
                                                 {"comexampleextension", "unknown"}}));
  CHECK_FALSE(member.refusal);
  const InboundFrame& frame = member.frame;
  CHECK(frame.id == "m1");
  CHECK(frame.source == "urn:a");
  CHECK(frame.type == "t");
  CHECK(frame.data == "{ \"a\" : 1.10 }");
  CHECK(frame.dataContentType.empty());
  CHECK(frame.time);
  CHECK(frame.expiresAt);
  CHECK(frame.audience == "urn:bob");
  CHECK(frame.traceparent == "00-x");
  CHECK(frame.correlationId == "c");
  CHECK(frame.sequence == 0);
  CHECK(taken(requestWith("")).frame.data == "null");
}

TEST_CASE("Binary mode: values are unquoted, then percent-decoded once, and must then be UTF-8") {
  const auto decoded = [](const std::string& value) { return taken(withHeader("audience", value)).frame.audience; };
  CHECK(decoded("Euro%20%E2%82%AC%20%F0%9F%98%80") == "Euro \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(decoded("%e2%82%ac") == "\xE2\x82\xAC");
  CHECK(decoded("%61%2562") == "a%62");
  CHECK(decoded(R"("a \"b\" \\ c")") == R"(a "b" \ c)");
  CHECK(decoded(R"("Euro%20x")") == "Euro x");
  CHECK(decoded(R"("he said \"no\"")") == R"(he said "no")");
  // From senders that do not encode.
  CHECK(decoded("100%") == "100%");
  CHECK(decoded("100%zz%4") == "100%zz%4");
  CHECK(decoded("100%z4") == "100%z4");
  CHECK(decoded("100%4z") == "100%4z");
  CHECK(decoded("\"") == "\"");
  CHECK(decoded(R"("a\")") == R"(a\)");
  for (const char* value : {"%C0%A0", "%FF", "a%0Ab", "%00", "\xE4"}) {
    CHECK(codeOf(withHeader("audience", value)) == "malformed");
  }
}

TEST_CASE("Binary mode: data that is no JSON comes as base64 with its media type") {
  const DecodedFrame member = taken(requestWith(std::string("\x00\xFFhi", 4), "application/x-thing; v=1"));
  CHECK_FALSE(member.refusal);
  CHECK(member.frame.data == "\"AP9oaQ==\"");
  CHECK(member.frame.dataContentType == "application/x-thing; v=1");
  CHECK(taken(requestWith("x", "")).frame.dataContentType == "application/octet-stream");
  CHECK(taken(requestWith("", "text/plain")).frame.data == "\"\"");
  CHECK(codeOf(requestWith("x", std::string(300, 'x'))) == "malformed");
}

TEST_CASE("Binary mode: limits hold as for a structured event") {
  InboundOptions limits = binary();
  limits.frameBytesMax = 10;
  CHECK(codeOf(requestWith("\"12345678\""), limits).empty());
  CHECK(codeOf(requestWith("\"123456789\""), limits) == "frame-too-large");
  CHECK(codeOf(requestWith("123456", "text/plain"), limits).empty());
  CHECK(codeOf(requestWith("1234567", "text/plain"), limits) == "frame-too-large");
  limits.bodyBytesMax = 4;
  CHECK(decodeRequest(requestWith("12345", "text/plain"), limits).problem->status == 413);
  limits = binary();
  limits.depthMax = 3;
  CHECK(codeOf(requestWith("[[1]]"), limits).empty());
  CHECK(decodeRequest(requestWith("[[[1]]]"), limits).problem->status == 400);
  CHECK(decodeRequest(requestWith("{"), binary()).problem->status == 400);
  CHECK(decodeRequest(requestWith("\"\xE4\""), binary()).problem->status == 400);
}

TEST_CASE("P11: Binary mode: what must be inside a signature is not taken from headers") {
  InboundRequest renamed = requestWith("{}");
  renamed.webhookId = "another";
  CHECK(codeOf(renamed) == "malformed");
  renamed.webhookId.clear();
  CHECK(codeOf(renamed).empty());
  for (const char* name : {"sessionid", "sessionorigin", "sessionepoch", "sessionseq", "sessionprev"}) {
    CHECK(codeOf(withHeader(name, "1")) == "malformed");
  }
  InboundRequest word = requestWith(R"({"results":[{"id":"x","outcome":"ack"}]})");
  word.eventHeaders[3].second = "ackbox.ack.v1";
  CHECK(codeOf(word) == "malformed");
}

TEST_CASE("Binary mode: a header that is missing, twice, or stands for the data is refused") {
  for (std::size_t left = 1; left < 4; ++left) {
    InboundRequest request = requestWith("{}");
    request.eventHeaders.erase(request.eventHeaders.begin() + static_cast<std::ptrdiff_t>(left));
    CHECK(codeOf(request) == "malformed");
  }
  CHECK(codeOf(withHeader("type", "u")) == "malformed");
  CHECK(codeOf(withHeader("data", "{}")) == "malformed");
  CHECK(codeOf(withHeader("datacontenttype", "text/plain")) == "malformed");
  InboundRequest old = requestWith("{}");
  old.eventHeaders[0].second = "0.3";
  CHECK(codeOf(old) == "malformed");
}

TEST_CASE("Binary mode is what has a specversion among its headers and another media type than a format's") {
  const std::string event = R"({"specversion":"1.0","id":"in the body","source":"urn:b","type":"u"})";
  InboundRequest structured = requestWith(event, "application/cloudevents+json");
  CHECK(taken(structured).frame.id == "in the body");
  structured.contentType = "Application/CloudEvents+avro";
  CHECK(decodeRequest(structured, binary()).problem->status == 415);
  InboundRequest none = requestWith("{}");
  none.eventHeaders.erase(none.eventHeaders.begin());
  CHECK(decodeRequest(none, binary()).problem->status == 415);
}

TEST_CASE("P11: Binary mode is taken only where it was asked for") {
  const DecodedRequest decoded = decodeRequest(requestWith("{}"), InboundOptions());
  REQUIRE(decoded.problem);
  CHECK(decoded.problem->status == 415);
  CHECK(decoded.isRefusedByHeaders);
}

TEST_CASE("P11: Binary mode: a body that is a frame in another mode or form is no data, whatever type it is given") {
  const std::string event = R"({"specversion":"1.0","id":"m1","source":"urn:a","type":"t","data":1})";
  const std::string escaped = R"({"\u0073pecversion":"1.0","id":"m1","source":"urn:a","type":"t"})";
  const std::string agenium = R"({"version":"1.0","messageId":"m1","type":"EVENT","payload":{}})";
  for (const std::string& body : {event, " \n" + event, escaped, agenium, "[" + event + "]", "[ " + event + ",1]",
                                  std::string(65, '[') + std::string(65, ']')}) {
    CAPTURE(body);
    for (const char* type : {"application/json", "application/vnd.x+json", "text/plain", "application/x-thing", ""}) {
      const DecodedRequest decoded = decodeRequest(requestWith(body, type), binary());
      CHECK(decoded.isRefusedByHeaders);
      CHECK((decoded.problem || decoded.frames.at(0).refusal));
    }
  }
  for (const char* body : {"{}", "[]", "[1]", R"({"data":{"specversion":"1.0"}})", R"({"messageId":"m1"})", "[text",
                           R"("specversion")", "{"}) {
    CAPTURE(body);
    CHECK(codeOf(requestWith(body, "text/plain")).empty());
  }
}

}  // namespace binary_event_test
