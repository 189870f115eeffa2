// Goal: JSON text is accepted exactly when RFC 8259 accepts it, at any length and depth, and its values are found by
// their bytes. Method: tables of good and bad texts, long hostile texts, and documents cut at every byte.

#include <doctest/doctest.h>

#include <string>

#include "protocol/json_reader.hpp"
#include "protocol/json_text.hpp"
#include "protocol/json_writer.hpp"
#include "protocol/wire.hpp"

using namespace ackbox::protocol;

TEST_CASE("Every form of RFC 8259 is accepted") {
  for (const char* text : {"null",
                           "true",
                           "false",
                           "0",
                           "-0",
                           "10",
                           "-1.5e+10",
                           "1E-2",
                           "0.0",
                           "\"\"",
                           "\"\\u00fC\\n\\/\\\"\\\\\"",
                           "[]",
                           "{}",
                           " [ 1 , {\"a\" : [ ] } ]\r\n\t",
                           "{\"a\":1,\"a\":2}",
                           "\"\\ud800\"",
                           "\"\x7F\"",
                           "1e99999",
                           "123456789012345678901234567890",
                           "\"\xF0\x9F\x98\x80\""}) {
    CAPTURE(text);
    CHECK(isValidJson(text, 64));
  }
}

TEST_CASE("Everything else is refused") {
  for (const char* text : {"",
                           " ",
                           "nul",
                           "True",
                           "01",
                           "-",
                           "+1",
                           ".5",
                           "1.",
                           "1e",
                           "1e+",
                           "0x1",
                           "NaN",
                           "Infinity",
                           "'a'",
                           "\"",
                           "\"\\\"",
                           "\"\\x\"",
                           "\"\\u12G4\"",
                           "\"\\u123\"",
                           "[",
                           "]",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{",
                           "}",
                           "{a:1}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{1:2}",
                           "[}",
                           "{]",
                           "1 2",
                           "null,",
                           "//x\n1",
                           "\"a\nb\"",
                           "\xEF\xBB\xBF"
                           "1"}) {
    CAPTURE(text);
    CHECK_FALSE(isValidJson(text, 64));
  }
  CHECK_FALSE(isValidJson(std::string_view("1\0", 2), 64));
  CHECK_FALSE(isValidJson(std::string_view("\"\0\"", 3), 64));
}

TEST_CASE("Text that is not UTF-8 is told apart") {
  for (const char* text : {"\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xC3\""}) {
    CHECK(findFault(text, 64) == JsonFault::encoding);
  }
}

TEST_CASE("what a string may not hold as it is, is seen wherever it stands") {
  for (std::size_t length = 1; length <= 40; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      for (unsigned byte = 0; byte < 0x80; ++byte) {
        std::string text = "\"" + std::string(length, 'x') + "\"";
        text[1 + place] = static_cast<char>(byte);
        const bool isPlain = byte >= 0x20 && byte != '"' && byte != '\\';
        if (isValidJson(text, 1) != isPlain) {
          FAIL_CHECK("byte " << byte << " at " << place << " of " << length);
        }
      }
    }
  }
  CHECK(isValidJson("\"0123456789abc\u00e9\u00e90123456789\u20ac\"", 1));
}

TEST_CASE("Depth is counted exactly, across the words that hold it") {
  for (const std::size_t depth : {1U, 2U, 63U, 64U, 65U, 128U, 129U, 1000U}) {
    std::string text;
    std::string end;
    for (std::size_t level = 0; level < depth; ++level) {
      const bool isObject = (level % 3) == 1;
      text += isObject ? "{\"k\":" : "[";
      end.insert(0, isObject ? "}" : "]");
    }
    const std::string whole = text + "1" + end;
    CAPTURE(depth);
    CHECK(findFault(whole, depth) == JsonFault::none);
    CHECK(findFault(whole, depth - 1) == JsonFault::depth);
    CHECK(findFault(text + "1" + end.substr(0, end.size() - 1), depth) == JsonFault::syntax);
  }
  CHECK(findFault("[]", 0) == JsonFault::depth);
  CHECK(findFault("1", 0) == JsonFault::none);
}

TEST_CASE("P11: a bomb of depth neither recurses nor passes") {
  const std::string bomb(200'000, '[');
  CHECK(findFault(bomb, 64) == JsonFault::depth);
  CHECK(findFault(bomb, 1'000'000) == JsonFault::syntax);
  CHECK(findFault(bomb + std::string(200'000, ']'), 1'000'000) == JsonFault::none);
}

TEST_CASE("Values are found as the bytes that they were written in") {
  const auto members = Members::read(R"({ "a" : { "x":"}," } , "b\u0063":[1, "]"],"n":null,"z":-1.50E+3})");
  REQUIRE(members);
  CHECK(members->find("a") == R"({ "x":"}," })");
  CHECK(members->find("bc") == R"([1, "]"])");
  CHECK(members->find("z") == "-1.50E+3");
  CHECK_FALSE(members->find("n"));
  CHECK_FALSE(members->find("x"));

  ElementReader elements(R"([ 1 ,"a,]", {"b":[2,3]},[] ])");
  CHECK(elements.next() == "1");
  CHECK(elements.next() == "\"a,]\"");
  CHECK(elements.next() == "{\"b\":[2,3]}");
  CHECK(elements.next() == "[]");
  CHECK_FALSE(elements.next());
  CHECK_FALSE(elements.next());
}

TEST_CASE("Duplicate keys are seen through their escapes, and keys are limited in number") {
  CHECK_FALSE(Members::read(R"({"id":1,"\u0069d":2})"));
  CHECK_FALSE(Members::read(R"({"\ud800":1})"));
  std::string many = "{";
  for (int index = 0; index < 128; ++index) {
    many += "\"k" + std::to_string(index) + "\":1,";
  }
  CHECK(Members::read(many.substr(0, many.size() - 1) + "}"));
  CHECK_FALSE(Members::read(many + "\"last\":1}"));
}

TEST_CASE("Strings are decoded, and half a surrogate pair is none") {
  CHECK(decodeString(R"("a\u00e9\ud83d\ude00\t\"\\\/")") == "a\xC3\xA9\xF0\x9F\x98\x80\t\"\\/");
  for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ud83d\n")", "1"}) {
    CAPTURE(text);
    CHECK_FALSE(decodeString(text));
  }
}

TEST_CASE("Text is written so that it is read as it was, whatever stands in it and where") {
  for (std::size_t length = 0; length <= 40; ++length) {
    for (std::size_t place = 0; place <= length; ++place) {
      for (unsigned byte = 0; byte < 0x80; ++byte) {
        std::string text(length, 'x');
        text.insert(place, 1, static_cast<char>(byte));
        text.append(byte % 3 == 0 ? "\u20ac" : "");
        std::string out;
        appendJsonString(out, text);
        if (!isValidJson(out, 1) || decodeString(out) != text) {
          FAIL_CHECK("byte " << byte << " at " << place << " of " << length);
        }
      }
    }
  }
}

TEST_CASE("Whatever text is written, the document stays JSON") {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {'a', static_cast<char>(first), static_cast<char>(second)};
      std::string out;
      appendJsonString(out, text);
      REQUIRE(isValidJson(out, 1));
    }
  }
  std::string out;
  appendJsonString(out,
                   "\xFF"
                   "a\"\n");
  CHECK(out ==
        "\"\xEF\xBF\xBD"
        "a\\\"\\u000a\"");
}
