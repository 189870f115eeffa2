// Goal: what a known peer with a key says is believed no further than its form goes: it is refused with a reason that
// its sender can act on, takes memory within the limits, and costs nobody else. Method: signed bodies of mallory's over
// HTTP; the status, the words, what took effect, and alice's frame behind each. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "hostile/memory_meter.hpp"
#include "hostile/target.hpp"

namespace ackbox::testing::server_frame_test {
namespace {

constexpr std::size_t kMib = std::size_t{1024} * 1024;
// The name of the session follows.
const std::string kInSession =
    R"(,"sessionorigin":"o","sessionepoch":"1","sessionseq":"1","sessionprev":"0","sessionid":)";
constexpr const char* kBatch = "application/cloudevents-batch+json";

std::string repeated(std::string_view piece, std::size_t count) {
  std::string made;
  made.reserve(piece.size() * count);
  for (std::size_t index = 0; index < count; ++index) {
    made += piece;
  }
  return made;
}

/// Each of these bodies gets the status, and an answer with `words` in it; nothing takes effect.
void allGet(int status, std::string_view words, const std::vector<std::string>& bodies,
            std::string_view contentType = "application/cloudevents+json") {
  Target bob;
  for (const std::string& body : bodies) {
    CAPTURE(body.substr(0, 200));
    const std::string got = bob.askSigned(body, contentType);
    CAPTURE(got);
    CHECK(hasStatus(got, status));
    CHECK(got.find(words) != std::string::npos);
  }
  CHECK(bob.mallorys() == 0);
  CHECK(bob.servesAlice());
}

TEST_CASE("hostile: depth bombs of a megabyte, in lists, objects and data: 400, without recursion or memory") {
  constexpr std::size_t kLevels = 1'000'000;
  const MemoryMeter meter;
  allGet(400, "maxdepth",
         {repeated("[", kLevels), repeated("{\"a\":", kLevels / 5),
          malloryFrame("a", ",\"data\":" + repeated("[", kLevels)),
          malloryFrame("a", ",\"data\":" + repeated("[", 64) + repeated("]", 64))});
  allGet(400, "maxdepth", {repeated("[", kLevels), repeated("[{\"a\":", kLevels / 6)}, kBatch);
  CHECK(meter.peakGrowth() < 16 * kMib);
}

TEST_CASE("hostile: bytes that are not UTF-8, a byte order mark, UTF-16: 400") {
  using namespace std::string_literals;
  allGet(400, "Not JSON",
         {malloryFrame("a", ",\"data\":\"\xff\""), malloryFrame("a", ",\"data\":\"\xc0\xaf\""),
          malloryFrame("a", ",\"data\":\"\xed\xa0\x80\""), malloryFrame("a", ",\"data\":\"\xf4\x90\x80\x80\""),
          malloryFrame("a\xc3"), "\xef\xbb\xbf" + malloryFrame("a"), "{\0\"\0i\0"s});
}

TEST_CASE("hostile: half a surrogate pair or a NUL in a name: refused for good, as a malformed frame") {
  allGet(422, "malformed",
         {malloryFrame("a\\ud800"), malloryFrame("a\\u0000b"), malloryFrame("a", kInSession + R"("\u0000")"),
          malloryFrame("a", R"(,"audience":"a\nb")"), malloryFrame("a\\u007f")});
}

TEST_CASE("hostile: duplicate keys, also when one is spelled with escapes: refused for good, as a malformed frame") {
  allGet(422, "malformed",
         {malloryFrame("a", R"(,"id":"b")"), malloryFrame("a", R"(,"\u0069d":"b")"),
          malloryFrame("a", R"(,"source":"urn:agent:alice")"), malloryFrame("a", R"(,"data":1,"data":2)")});
}

TEST_CASE("hostile: an object of 100,000 keys: refused for good, without a tree of them") {
  std::string keys;
  for (int number = 0; number < 100'000; ++number) {
    keys += ",\"" + std::to_string(number) + "\":0";
  }
  const MemoryMeter meter;
  allGet(422, "malformed", {malloryFrame("a", keys)});
  CHECK(meter.peakGrowth() < 16 * kMib);
}

TEST_CASE("hostile: counters beyond 2^63, negative, with an exponent, or as numbers: refused for good") {
  std::vector<std::string> bodies;
  for (const char* number : {"\"9223372036854775808\"", "\"99999999999999999999999999\"", "\"-1\"", "\"1e3\"",
                             "\"0x1\"", "\"\"", "\" 1\"", "1", "1e400"}) {
    bodies.push_back(malloryFrame("a", R"(,"sessionid":"s","sessionorigin":"o","sessionepoch":"1","sessionprev":"0",)" +
                                           ("\"sessionseq\":" + std::string(number))));
  }
  allGet(422, "malformed", bodies);
}

TEST_CASE("hostile: huge numbers in the data: carried as the bytes that they are") {
  Target bob;
  const std::string digits(100'000, '9');
  for (const std::string& number : {std::string("1e999999999"), "-" + digits, "0." + digits, digits + "e-" + digits}) {
    CAPTURE(number.substr(0, 40));
    CHECK(hasStatus(bob.askSigned(malloryFrame(std::to_string(bob.mallorys()), ",\"data\":" + number)), 200));
  }
  CHECK(bob.mallorys() == 4);
}

TEST_CASE("hostile: a batch of none: 400") {
  allGet(400, "Empty batch", {"[]", " [ ] "}, kBatch);
}

TEST_CASE("hostile: a batch of 257 frames, or of 300,000 empty ones: 413 with the limit, before any is read") {
  std::string frames = "[" + malloryFrame("0");
  for (int number = 1; number < 257; ++number) {
    frames += "," + malloryFrame(std::to_string(number));
  }
  const MemoryMeter meter;
  allGet(413, "\"maxframes\":256", {frames + "]", "[" + repeated("{},", 300'000) + "{}]"}, kBatch);
  CHECK(meter.peakGrowth() < 16 * kMib);
}

TEST_CASE("hostile: a batch of 256 frames that are none: 200, each refused alone, and nothing else") {
  Target bob;
  const std::string got = bob.askSigned("[" + repeated("7,", 255) + "7]", kBatch);
  CHECK(hasStatus(got, 200));
  CHECK(got.find("\"ack\"") == std::string::npos);
  CHECK(bob.mallorys() == 0);
  CHECK(bob.servesAlice());
}

TEST_CASE("hostile: the same frame 256 times in one batch: takes effect once") {
  Target bob;
  std::string frames = "[" + malloryFrame("same");
  for (int number = 1; number < 256; ++number) {
    frames += "," + malloryFrame("same");
  }
  CHECK(hasStatus(bob.askSigned(frames + "]", kBatch), 200));
  CHECK(bob.mallorys() == 1);
}

TEST_CASE("hostile: an empty body, a list for a frame, a frame for a batch, text after the frame: 400") {
  allGet(400, "",
         {"", " ", "[]", "7", "\"frame\"", "null", malloryFrame("a") + malloryFrame("b"), malloryFrame("a") + "x"});
  allGet(400, "", {"", malloryFrame("a")}, kBatch);
}

TEST_CASE("hostile: another media type, or none: 415") {
  for (const char* type :
       {"text/plain", "application/json", "multipart/form-data; boundary=x", "", "application/x-tar"}) {
    CAPTURE(type);
    allGet(415, "", {malloryFrame("a")}, type);
  }
}

TEST_CASE("hostile: names of 100 kB for an id, a source, a session or a type: refused for good") {
  const std::string name(100'000, 'n');
  allGet(422, "malformed",
         {malloryFrame(name), malloryFrame("a", ",\"audience\":\"" + name + "\""),
          malloryFrame("a", kInSession + "\"" + name + "\"")});
}

TEST_CASE("hostile: data beyond the limit of a frame: refused for good; a body beyond its own: 413") {
  allGet(422, "frame-too-large", {malloryFrame("a", ",\"data\":\"" + std::string(300'000, 'x') + "\"")});
  allGet(413, "\"maxbytes\":1048576", {malloryFrame("a", ",\"data\":\"" + std::string(kMib, 'x') + "\"")});
}

TEST_CASE("hostile: times that are none, or before and beyond the calendar: refused for good") {
  std::vector<std::string> bodies;
  for (const char* time : {"\"\"", "\"yesterday\"", "\"2023-02-30T00:00:00Z\"", "\"99999-01-01T00:00:00Z\"",
                           "\"2023-01-01T25:00:00Z\"", "\"2023-01-01T00:00:00+99:99\"", "5"}) {
    bodies.push_back(malloryFrame("a", ",\"time\":" + std::string(time)));
  }
  allGet(422, "malformed", bodies);
}

TEST_CASE("hostile: a frame in another's name by a known peer, alone or among 255 of its own: 403, and none is taken") {
  const std::string forged = R"({"specversion":"1.0","source":"urn:agent:alice","type":"test","id":"forged","data":1})";
  allGet(403, "", {forged});
  std::string frames = "[";
  for (int number = 0; number < 255; ++number) {
    frames += malloryFrame(std::to_string(number)) + ",";
  }
  Target bob;
  CHECK(hasStatus(bob.askSigned(frames + forged + "]", kBatch), 403));
  CHECK(bob.mallorys() + bob.alices() == 0);
}

TEST_CASE(
    "hostile: an ACK event for messages that were never hers, or that nobody knows: acknowledged, settles nothing") {
  Target bob;
  const std::string got =
      bob.askSigned(R"({"specversion":"1.0","source":"urn:agent:mallory","type":"ackbox.ack.v1","id":"e",)"
                    R"("data":{"results":[{"id":"message-1","outcome":"ack"},{"id":"nobody's","outcome":"term"}]}})");
  CHECK(hasStatus(got, 200));
  CHECK(bob.servesAlice());
}

}  // namespace
}  // namespace ackbox::testing::server_frame_test
