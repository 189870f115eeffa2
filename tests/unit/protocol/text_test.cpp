// Goal: the small rules of the wire hold at their edges: times, counters, media types, and the texts of a frame.
// Method: tables of accepted and refused texts.

#include <doctest/doctest.h>

#include <string>

#include "base/timestamp.hpp"
#include "protocol/media_type.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace text_test {

using namespace ackbox;
using namespace ackbox::protocol;
using std::chrono::milliseconds;

TEST_CASE("Times are written in UTC with milliseconds, and the unsayable is clamped") {
  CHECK(formatTimestamp(WallTime(milliseconds(0))) == "1970-01-01T00:00:00.000Z");
  CHECK(formatTimestamp(WallTime(milliseconds(-1))) == "1969-12-31T23:59:59.999Z");
  CHECK(formatTimestamp(WallTime::max()) == "9999-12-31T23:59:59.999Z");
  CHECK(formatTimestamp(WallTime::min()) == "0000-01-01T00:00:00.000Z");
}

TEST_CASE("Times are read with any offset and fraction") {
  const WallTime noon = WallTime(milliseconds(1'767'268'800'000));
  for (const char* text : {"2026-01-01T12:00:00Z", "2026-01-01t12:00:00z", "2026-01-01T12:00:00.000999Z",
                           "2026-01-01T13:30:00+01:30", "2025-12-31T23:00:00-13:00", "2026-01-01T12:00:00-00:00"}) {
    CAPTURE(text);
    CHECK(parseTimestamp(text) == noon);
  }
  CHECK(parseTimestamp("2026-01-01T12:00:00.05Z") == noon + milliseconds(50));
  CHECK(parseTimestamp("2024-02-29T00:00:00Z"));
  CHECK(parseTimestamp("2016-12-31T23:59:60Z") == parseTimestamp("2017-01-01T00:00:00Z"));
  CHECK(parseTimestamp("2017-01-01T01:59:60+02:00") == parseTimestamp("2017-01-01T00:00:00Z"));
  for (const WallTime time : {noon, WallTime(milliseconds(-123'456'789)), noon + milliseconds(7)}) {
    CHECK(parseTimestamp(formatTimestamp(time)) == time);
  }
}

TEST_CASE("What is no RFC 3339 time is refused") {
  for (const char* text : {"",
                           "2026-01-01",
                           "2026-01-01T12:00:00",
                           "2026-01-01 12:00:00Z",
                           "2026-1-01T12:00:00Z",
                           "2026-13-01T12:00:00Z",
                           "2026-02-29T12:00:00Z",
                           "2026-00-01T12:00:00Z",
                           "2026-01-00T12:00:00Z",
                           "2026-01-01T24:00:00Z",
                           "2026-01-01T12:60:00Z",
                           "2026-01-01T12:00:61Z",
                           "2026-01-01T12:00:60Z",
                           "2026-01-01T12:00:00.Z",
                           "2026-01-01T12:00:00+1:00",
                           "2026-01-01T12:00:00+0100",
                           "2026-01-01T12:00:00+24:00",
                           "2026-01-01T12:00:00ZZ",
                           "+2026-01-01T12:00:00Z",
                           "-026-01-01T12:00:00Z",
                           "2026-01-01T12:00:00Z ",
                           "2026-01-01T12:00:00+01:60"}) {
    CAPTURE(text);
    CHECK_FALSE(parseTimestamp(text));
  }
}

TEST_CASE("Counters are plain decimals up to 2^63-1") {
  CHECK(parseCounter("0") == 0);
  CHECK(parseCounter("9223372036854775807") == 9'223'372'036'854'775'807U);
  for (const char* text : {"", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "9223372036854775808",
                           "18446744073709551616", "99999999999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parseCounter(text));
  }
  CHECK(parseCapped("99999999999999999999999999", 7) == 7);
  CHECK(parseCapped("6", 7) == 6);
  CHECK_FALSE(parseCapped("-6", 7));
}

TEST_CASE("Media types are compared without case and with harmless parameters") {
  for (const char* text : {"application/json", "Application/JSON", " application/json ; charset=UTF-8",
                           "application/json;charset=\"utf-8\"", "application/json;", "application/json; v=1;a"}) {
    CAPTURE(text);
    CHECK(isMediaType(text, kMediaTypeAck));
  }
  for (const char* text :
       {"", ";", "text/html", "application/jsonx", "application/json; charset=latin1", "application/json, text/html"}) {
    CAPTURE(text);
    CHECK_FALSE(isMediaType(text, kMediaTypeAck));
  }
  CHECK(isJsonMediaType("application/vnd.x+JSON; a=b"));
  CHECK_FALSE(isJsonMediaType("text/plain"));
}

TEST_CASE("Controls and spaces are seen wherever they stand") {
  for (const std::size_t length : {1U, 7U, 16U, 17U, 31U, 40U}) {
    for (std::size_t place = 0; place < length; ++place) {
      for (unsigned byte = 0; byte < 0x80; ++byte) {
        std::string text(length, 'x');
        text[place] = static_cast<char>(byte);
        const bool isPlain = byte >= 0x20 && byte != 0x7F;
        if (isPlainText(text, length) != isPlain || isPlainText(text + "\u20ac", length + 3) != isPlain ||
            isVisibleAscii(text, length) != (isPlain && byte != ' ')) {
          FAIL_CHECK("byte " << byte << " at " << place << " of " << length);
        }
      }
    }
  }
  CHECK_FALSE(isVisibleAscii("a\u20ac", 9));
  CHECK_FALSE(isPlainText("xxxxxxxxxxxxxxxxx\xFF", 99));
}

TEST_CASE("Text is cut between characters") {
  CHECK(truncated("a\xC3\xA9", 2) == "a");
  CHECK(truncated("a\xC3\xA9", 3) == "a\xC3\xA9");
  CHECK(truncated("\x80\x80\x80", 2).empty());
}

TEST_CASE("A frame's fields are held to the limits of the wire, by name") {
  Frame good;
  good.type = "t";
  CHECK_FALSE(frameProblem(good));

  const auto complaint = [&good](auto change) {
    Frame frame = good;
    change(frame);
    return frameProblem(frame).value_or("").substr(0, 4);
  };
  CHECK(complaint([](Frame& frame) { frame.type.clear(); }) == "type");
  CHECK(complaint([](Frame& frame) { frame.type.assign(257, 'a'); }) == "type");
  CHECK(complaint([](Frame& frame) { frame.type.assign(256, 'a'); }).empty());
  CHECK(complaint([](Frame& frame) { frame.session = "a\nb"; }) == "sess");
  CHECK(complaint([](Frame& frame) { frame.session = "a\xC2\x85"; }) == "sess");
  CHECK(complaint([](Frame& frame) {
          frame.session =
              "k\xC3\xBC"
              "che";
        }).empty());
  CHECK(complaint([](Frame& frame) { frame.session.assign(257, 'a'); }) == "sess");
  CHECK(complaint([](Frame& frame) { frame.id = "a b"; }) == "id m");
  CHECK(complaint([](Frame& frame) { frame.id.assign(129, 'a'); }) == "id m");
  CHECK(complaint([](Frame& frame) { frame.traceparent = "a\r\nb"; }) == "trac");
  CHECK(complaint([](Frame& frame) { frame.correlationId = "\xFF"; }) == "corr");
  CHECK(complaint([](Frame& frame) { frame.data = "{"; }) == "data");
  CHECK(complaint([](Frame& frame) { frame.data = " "; }) == "data");
}

TEST_CASE("Data may be as deep as the receiver can read inside a batch, and no deeper") {
  Frame frame;
  frame.type = "t";
  frame.data = std::string(62, '[') + std::string(62, ']');
  CHECK_FALSE(frameProblem(frame));
  SendRequest request;
  request.agent = "urn:a";
  request.frames.resize(2);
  for (OutboundFrame& sent : request.frames) {
    sent.messageId = "m";
    sent.type = "t";
    sent.data = frame.data;
  }
  const EncodedRequest encoded = encodeRequest(request, "d");
  CHECK_FALSE(decodeRequest({encoded.contentType, encoded.body, "d"}, InboundOptions()).problem);
  frame.data = "[" + frame.data + "]";
  CHECK(frameProblem(frame));
}

}  // namespace text_test
