// Goal: an inbound request is parsed without trust: whole bodies are refused by status, single frames by their own term
// result, and a good frame's data keeps the very bytes sent.
// Method: bodies are built as text around one good event, changed in one place each.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "protocol/wire.hpp"

namespace request_test {

using namespace ackbox;
using namespace ackbox::protocol;

namespace {

const std::string kCore = R"("specversion":"1.0","id":"m1","source":"urn:a","type":"t")";
const std::string kSession =
    R"(,"sessionid":"s","sessionorigin":"o","sessionepoch":"1","sessionseq":"2","sessionprev":"1")";

DecodedRequest decode(std::string body, std::string_view contentType = kMediaTypeFrame) {
  return decodeRequest({std::string(contentType), std::move(body), "d"}, InboundOptions());
}

int problemStatus(std::string body, std::string_view contentType = kMediaTypeFrame) {
  const DecodedRequest decoded = decode(std::move(body), contentType);
  CHECK((!decoded.problem || decoded.frames.empty()));
  return decoded.problem ? decoded.problem->status : 0;
}

/// The refusal's code for a single event with these members; empty if it is accepted.
std::string refusalOf(const std::string& members) {
  const DecodedRequest decoded = decode("{" + members + "}");
  REQUIRE_FALSE(decoded.problem);
  REQUIRE(decoded.frames.size() == 1);
  if (decoded.frames[0].refusal) {
    CHECK((decoded.frames[0].refusal->outcome == Outcome::term));
    return decoded.frames[0].refusal->code;
  }
  return {};
}

std::string batchOf(std::size_t count) {
  std::string body;
  for (std::size_t index = 0; index < count; ++index) {
    body += (index == 0 ? "[{" : ",{") + kCore + "}";
  }
  return body + "]";
}

}  // namespace

TEST_CASE("A frame says which message its sender sends again; one that does not, and any other, is sent as before") {
  SendRequest request;
  request.agent = "urn:a";
  request.frames.resize(1);
  request.frames[0].messageId = "copy";
  request.frames[0].type = "t";
  CHECK(encodeRequest(request, "d").body.find("resentof") == std::string::npos);
  request.frames[0].resentOf = "m1";
  const DecodedRequest decoded = decode(encodeRequest(request, "d").body);
  REQUIRE(decoded.frames.size() == 1);
  CHECK(decoded.frames[0].frame.resentOf == "m1");
  const EncodedRequest binary = encodeBinaryRequest(request, "d");
  CHECK(std::ranges::count(binary.headers, std::pair<std::string, std::string>("ce-resentof", "m1")) == 1);
  CHECK(refusalOf(kCore + R"(,"resentof":null)").empty());
  CHECK(refusalOf(kCore + R"(,"resentof":1)") == "malformed");
  CHECK(refusalOf(kCore + R"(,"resentof":")" + std::string(129, 'x') + "\"") == "malformed");
}

TEST_CASE("Data comes out as the bytes that were sent") {
  for (const std::string data : {"{ \"a\" : 1.10, \"a\":2 }", "1e999", "123456789012345678901234567890",
                                 "\"\\u00fc\\/\"", "[ ]", "false", "\"\\ud800\""}) {
    const DecodedRequest decoded = decode(" {\"data\" : " + data + " ," + kCore + "} ");
    REQUIRE(decoded.frames.size() == 1);
    CHECK_FALSE(decoded.frames[0].refusal);
    CHECK(decoded.frames[0].frame.data == data);
  }
  CHECK(decode("{" + kCore + "}").frames.at(0).frame.data == "null");
}

TEST_CASE("An event without a sequence is a plain CloudEvents event") {
  const DecodedRequest decoded = decode("{" + kCore + R"(,"sessionid":"s","unknown":{"x":[1]}})");
  REQUIRE_FALSE(decoded.frames.at(0).refusal);
  CHECK(decoded.frames[0].frame.sequence == 0);
  CHECK(decoded.frames[0].frame.session.empty());
}

TEST_CASE("A frame that breaks a rule is refused alone") {
  CHECK(refusalOf(kCore + kSession).empty());
  const std::string long129(129, 'a');
  for (const std::string& members :
       {std::string(), std::string(R"("id":"m1")"), kCore + R"(,"id":"m2")", kCore + R"(,"data":1,"dat\u0061":2)",
        std::string(R"("specversion":"0.3","id":"m1","source":"urn:a","type":"t")"),
        std::string(R"("specversion":1.0,"id":"m1","source":"urn:a","type":"t")"),
        std::string(R"("specversion":"1.0","id":7,"source":"urn:a","type":"t")"),
        std::string(R"("specversion":"1.0","id":"","source":"urn:a","type":"t")"),
        R"("specversion":"1.0","source":"urn:a","type":"t","id":")" + long129 + "\"",
        std::string(R"("specversion":"1.0","id":"a\u0000b","source":"urn:a","type":"t")"),
        std::string(R"("specversion":"1.0","id":"\ud800","source":"urn:a","type":"t")"),
        kCore + R"(,"time":"yesterday")", kCore + R"(,"expirytime":1)", kCore + R"(,"audience":[])",
        kCore + R"(,"sessionseq":"1")"}) {
    CAPTURE(members);
    CHECK(refusalOf(members) == "malformed");
  }
}

TEST_CASE("A session's counters are held to their grammar and their order") {
  const auto session = [](const std::string& sequence, const std::string& previous, const std::string& name = "s") {
    return refusalOf(kCore + R"(,"sessionid":")" + name + R"(","sessionorigin":"o","sessionepoch":"0","sessionseq":)" +
                     sequence + R"(,"sessionprev":)" + previous);
  };
  CHECK(session("\"1\"", "\"0\"").empty());
  CHECK(session("\"9223372036854775807\"", "\"9223372036854775806\"").empty());
  CHECK(session("\"1\"", "\"0\"", std::string(256, 's')).empty());
  CHECK(session("\"1\"", "\"0\"", std::string(257, 's')) == "malformed");
  for (const char* sequence :
       {"1", "\"0\"", "\"01\"", "\"+1\"", "\"-1\"", "\"1.0\"", "\"9223372036854775808\"", "1e999"}) {
    CAPTURE(sequence);
    CHECK(session(sequence, "\"0\"") == "malformed");
  }
  CHECK(session("\"2\"", "\"2\"") == "malformed");
  CHECK(session("\"2\"", "null") == "malformed");
}

TEST_CASE("Data that is not JSON or too large has a code of its own") {
  CHECK(refusalOf(kCore + R"(,"data_base64":"AA==")") == "unsupported-data");
  CHECK(refusalOf(kCore + R"(,"datacontenttype":"text/plain","data":"x")") == "unsupported-data");
  CHECK(refusalOf(kCore + R"(,"datacontenttype":"application/json; charset=utf-8","data_base64":null)").empty());
  CHECK(refusalOf(kCore + ",\"data\":\"" + std::string(256 * 1024 - 2, 'x') + "\"").empty());
  CHECK(refusalOf(kCore + ",\"data\":\"" + std::string(256 * 1024 - 1, 'x') + "\"") == "frame-too-large");
}

TEST_CASE("P11: a request is refused as a whole by media type, size, depth, syntax and count, in this order") {
  CHECK(problemStatus(std::string(2'000'000, '['), "text/html") == 415);
  CHECK(problemStatus("{" + kCore + "}", "application/cloudevents+json; charset=latin1") == 415);
  CHECK(problemStatus("{" + kCore + "}", "Application/CloudEvents+JSON ; Charset=UTF-8") == 0);
  CHECK(problemStatus(std::string(2'000'000, '[')) == 413);
  CHECK(problemStatus(std::string(200'000, '[')) == 400);
  CHECK(problemStatus(std::string(200'000, '['), kMediaTypeBatch) == 400);
  CHECK(problemStatus("") == 400);
  CHECK(problemStatus("{" + kCore + ",\"data\":\"\xFF\"}") == 400);
  CHECK(problemStatus("[]") == 400);
  CHECK(problemStatus("{}", kMediaTypeBatch) == 400);
  CHECK(problemStatus("[ ]", kMediaTypeBatch) == 400);
  CHECK(problemStatus(batchOf(256), kMediaTypeBatch) == 0);
  CHECK(problemStatus(batchOf(257), kMediaTypeBatch) == 413);
  CHECK(decode(std::string(2'000'000, '[')).problem->body.find("\"maxbytes\":1048576") != std::string::npos);
}

TEST_CASE("A bad member of a batch leaves its neighbours alone, and keeps its id if it can be read") {
  const DecodedRequest decoded =
      decode("[{" + kCore + "},7,{\"id\":\"m2\",\"specversion\":\"2.0\"},{" + kCore + kSession + "}]", kMediaTypeBatch);
  REQUIRE(decoded.frames.size() == 4);
  CHECK(decoded.batch);
  CHECK_FALSE(decoded.frames[0].refusal);
  CHECK(decoded.frames[1].refusal);
  CHECK(decoded.frames[1].frame.id.empty());
  CHECK(decoded.frames[2].refusal);
  CHECK(decoded.frames[2].frame.id == "m2");
  CHECK_FALSE(decoded.frames[3].refusal);
}

TEST_CASE("P11: an object of many keys costs no more than its limit") {
  std::string members = kCore;
  for (int index = 0; index < 50'000; ++index) {
    members += ",\"k" + std::to_string(index) + "\":0";
  }
  CHECK(refusalOf(members) == "malformed");
}

TEST_CASE("In binary mode a frame's attributes are headers, percent-encoded, and its data is the body's very bytes") {
  SendRequest request;
  request.agent = "urn:agent:alice";
  request.peerAgent = "urn:agent:b\u00f6b";
  request.origin = "store";
  request.epoch = 3;
  OutboundFrame& frame = request.frames.emplace_back();
  frame.messageId = "m-1";
  frame.type = "com.example 50%\"";
  frame.session = "caf\u00e9";
  frame.sequence = 7;
  frame.previousSequence = 6;
  frame.data = "{ \"a\" : 1.10 }";
  const EncodedRequest encoded = encodeBinaryRequest(request, "d");
  CHECK(encoded.contentType == "application/json");
  CHECK(encoded.webhookId == "m-1");
  CHECK(encoded.body == frame.data);
  const std::vector<std::pair<std::string, std::string>> expected{{"ce-specversion", "1.0"},
                                                                  {"ce-id", "m-1"},
                                                                  {"ce-source", "urn:agent:alice"},
                                                                  {"ce-type", "com.example%2050%25%22"},
                                                                  {"ce-time", "1970-01-01T00:00:00.000Z"},
                                                                  {"ce-audience", "urn:agent:b%C3%B6b"},
                                                                  {"ce-sessionid", "caf%C3%A9"},
                                                                  {"ce-sessionorigin", "store"},
                                                                  {"ce-sessionepoch", "3"},
                                                                  {"ce-sessionseq", "7"},
                                                                  {"ce-sessionprev", "6"}};
  CHECK((encoded.headers == expected));
}

TEST_CASE("In binary mode a frame without a session says nothing of one, and one without data has null") {
  SendRequest request;
  request.agent = "urn:agent:alice";
  request.frames.emplace_back().messageId = "m-1";
  request.frames[0].type = "t";
  const EncodedRequest encoded = encodeBinaryRequest(request, "d");
  CHECK(encoded.body == "null");
  CHECK(encoded.headers.size() == 5);
}

}  // namespace request_test
