// Goal: a line becomes the frame that it says, or a problem that says why not; data stays byte for byte.
// Method: lines in, frames out.

#include "records/frame_line.hpp"

#include <doctest/doctest.h>

namespace ackbox::records::frame_line_test {
namespace {

Frame defaults() {
  Frame frame;
  frame.type = "default.type";
  return frame;
}

std::string problemOf(std::string_view line) {
  return parseFrameLine(line, defaults()).problem;
}

TEST_CASE("every field of a frame is read, data byte for byte") {
  const FrameLine line = parseFrameLine(
      R"( {"peer":"bob","session":"sé\u0041","type":"t","id":"m","not_before_ms":5,"expires_at_ms":1700000000000,)"
      R"("priority":9,"idempotency_key":"k","supersede_key":"l","traceparent":"00","correlation_id":"c",)"
      R"("data": { "n" : 1.10, "s":"}],\"", "big":123456789012345678901234567890 } } )",
      defaults());
  REQUIRE(line.problem.empty());
  CHECK(line.frame.peer == "bob");
  CHECK(line.frame.session == "séA");
  CHECK(line.frame.type == "t");
  CHECK(line.frame.id == "m");
  CHECK(line.frame.notBefore == WallTime(std::chrono::milliseconds(5)));
  CHECK(line.frame.expiresAt == WallTime(std::chrono::milliseconds(1'700'000'000'000)));
  CHECK(line.frame.priority == 9);
  CHECK(line.frame.idempotencyKey == "k");
  CHECK(line.frame.supersedeKey == "l");
  CHECK(line.frame.traceparent == "00");
  CHECK(line.frame.correlationId == "c");
  CHECK(line.frame.data == R"({ "n" : 1.10, "s":"}],\"", "big":123456789012345678901234567890 })");
}

TEST_CASE("a key that occurs twice is refused, whatever it says, because readers differ in which of the two counts") {
  CHECK(problemOf(R"({"peer":"a","type":"t","peer":"b"})") == "the key \"peer\" occurs twice");
  CHECK(problemOf(R"({"data":1,"data":1})") == "the key \"data\" occurs twice");
  CHECK(problemOf(R"({"type":"t","data":{"a":1,"a":2}})").empty());
  const std::string large(100'000, 'k');
  CHECK(problemOf("{\"" + large + "\":1,\"" + large + "\":2}").size() < 1'000);
}

TEST_CASE("a field that is given by both of its names is refused") {
  CHECK(problemOf(R"({"id":"a","message_id":"b"})") == "id and message_id are names of one field: give one of them");
  CHECK(problemOf(R"({"not_before_ms":5,"not_before":null})") ==
        "not_before and not_before_ms are names of one field: give one of them");
  CHECK(problemOf(R"({"expires_at":null,"expires_at_ms":5})") ==
        "expires_at and expires_at_ms are names of one field: give one of them");
}

TEST_CASE("instants are read as export writes them, and as numbers of milliseconds") {
  const FrameLine line =
      parseFrameLine(R"({"not_before":"2023-11-14T22:13:20.005Z","expires_at":"2024-02-29T00:00:00Z"})", defaults());
  REQUIRE(line.problem.empty());
  CHECK(line.frame.notBefore == WallTime(std::chrono::milliseconds(1'700'000'000'005)));
  CHECK(line.frame.expiresAt == WallTime(std::chrono::milliseconds(1'709'164'800'000)));
  CHECK_FALSE(parseFrameLine(R"({"expires_at":null})", defaults()).frame.expiresAt);
  for (const char* wrong : {"\"\"", "\"Z\"", "5", "\"2023-02-29T00:00:00Z\"", "\"2023-11-14T22:13:20\"",
                            "\"2023-11-14T24:00:00Z\"", "\"2023-11-14T22:60:00Z\"", "\"2023-11-14T22:13:60Z\"",
                            "\"1969-12-31T23:59:59Z\"", "\"2023-11-14T22:13:20.Z\"", "\"2023-11-14 22:13:20Z\""}) {
    CAPTURE(wrong);
    CHECK(problemOf("{\"expires_at\":" + std::string(wrong) + "}") ==
          "expires_at must be an instant from 1970 on, such as 2026-01-31T23:59:59.999Z, or null");
  }
}

TEST_CASE("what a line does not name is as the options say, and what export adds is passed over") {
  const FrameLine line = parseFrameLine(
      R"({"row":7,"state":"failed","reason":"x","failed_at":"2023-11-14T22:13:20.000Z","expires_at_ms":null})",
      defaults());
  CHECK(line.problem.empty());
  CHECK(line.frame.type == "default.type");
  CHECK(line.frame.session == "default");
  CHECK_FALSE(line.frame.expiresAt);
}

TEST_CASE("what is no frame has a problem, however it is damaged") {
  CHECK(problemOf("[]") == "it is not a JSON object");
  CHECK(problemOf(R"({"a)") == "it is not JSON: it ends too early");
  CHECK(problemOf(R"({"data":"abc)") == "it is not JSON: it ends too early");
  CHECK(problemOf(R"({"data":[1})") == "it is not JSON: byte 11 is unexpected");
  CHECK(problemOf(R"({"type":"a"} x)") == "it is not JSON: byte 14 is unexpected");
  CHECK(problemOf("{\"type\":\"\xff\"}") == "it is not UTF-8");
  CHECK(problemOf(R"({"type":["a"]})") == "type must be a string");
  CHECK(problemOf(R"({"type":"\ud800"})") == "type must be a string");
  CHECK(problemOf(R"({"priority":10})") == "priority must be a whole number from 0 to 9");
  CHECK(problemOf(R"({"expires_at_ms":1e30})").find("whole number") != std::string::npos);
  CHECK(problemOf(R"({"sesion":"s"})") == "a frame has no key \"sesion\"");
  const std::string whole = R"({"peer":"b","data":{"a":[1,"x\\"]},"id":"m"})";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK_FALSE(problemOf(whole.substr(0, length)).empty());
  }
  CHECK_FALSE(problemOf(std::string(1'000'000, '[')).empty());
  CHECK_FALSE(problemOf("{\"type\":" + std::string(1'000'000, '[')).empty());
}

}  // namespace
}  // namespace ackbox::records::frame_line_test
