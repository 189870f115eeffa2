// Goal: JSON text is accepted exactly when RFC 8259 accepts it, at any length and depth, and its values are found by
// their bytes. Method: tables of good and bad texts, long hostile texts, and documents cut at every byte.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>

#include "json/fault.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"

namespace json_test {

using namespace ackbox::json;

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
    CHECK(isValid(text, 64));
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
    CHECK_FALSE(isValid(text, 64));
  }
  CHECK_FALSE(isValid(std::string_view("1\0", 2), 64));
  CHECK_FALSE(isValid(std::string_view("\"\0\"", 3), 64));
}

TEST_CASE("Text that is not UTF-8 is told apart") {
  for (const char* text : {"\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xC3\""}) {
    CHECK(findFault(text, 64) == Fault::encoding);
  }
}

TEST_CASE("what a string may not hold as it is, is seen wherever it stands") {
  for (std::size_t length = 1; length <= 40; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      for (unsigned byte = 0; byte < 0x80; ++byte) {
        std::string text = "\"" + std::string(length, 'x') + "\"";
        text[1 + place] = static_cast<char>(byte);
        const bool isPlain = byte >= 0x20 && byte != '"' && byte != '\\';
        if (isValid(text, 1) != isPlain) {
          FAIL_CHECK("byte " << byte << " at " << place << " of " << length);
        }
      }
    }
  }
  CHECK(isValid("\"0123456789abc\u00e9\u00e90123456789\u20ac\"", 1));
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
    CHECK(findFault(whole, depth) == Fault::none);
    CHECK(findFault(whole, depth - 1) == Fault::depth);
    CHECK(findFault(text + "1" + end.substr(0, end.size() - 1), depth) == Fault::syntax);
  }
  CHECK(findFault("[]", 0) == Fault::depth);
  CHECK(findFault("1", 0) == Fault::none);
}

TEST_CASE("P11: a bomb of depth neither recurses nor passes") {
  const std::string bomb(200'000, '[');
  CHECK(findFault(bomb, 64) == Fault::depth);
  CHECK(findFault(bomb, 1'000'000) == Fault::syntax);
  CHECK(findFault(bomb + std::string(200'000, ']'), 1'000'000) == Fault::none);
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

TEST_CASE("A string ends at its quote, whatever is escaped within it and wherever it stands") {
  for (const std::string inner : {R"(\\)", R"(\")", R"(\\\")", R"(\u0022)", "]}", "[{", R"(\\\\)"}) {
    for (std::size_t length = 0; length <= 40; ++length) {
      const std::string value = "\"" + std::string(length, 'x') + inner + std::string(40 - length, 'y') + "\"";
      const std::string object = R"({"k":)" + value + R"(,"l":[)" + value + R"(],"z":1})";
      REQUIRE(isValid(object, 2));
      const auto members = Members::read(object);
      REQUIRE(members);
      CHECK(members->find("k") == value);
      CHECK(members->find("l") == "[" + value + "]");
      CHECK(members->find("z") == "1");
    }
  }
}

TEST_CASE("Texts are those of the document, or what its escapes stand for, for as long as the members are there") {
  std::string object = R"({"plain":"as it is","none":null,"number":7,"half":"\ud800")";
  for (int index = 0; index < 40; ++index) {
    object += R"(,"\u006b)" + std::to_string(index) + R"(":"v\u0061)" + std::to_string(index) + "\"";
  }
  object += "}";
  std::optional<Members> read = Members::read(object);
  REQUIRE(read);
  const std::optional<std::string_view> first = read->text("k0");
  Members members = *std::move(read);
  read.reset();
  CHECK(members.text("plain")->data() == object.data() + object.find("as it is"));
  CHECK_FALSE(members.text("none"));
  CHECK_FALSE(members.text("number"));
  CHECK_FALSE(members.text("half"));
  CHECK_FALSE(members.text("absent"));
  for (int index = 0; index < 40; ++index) {
    CHECK(members.text("k" + std::to_string(index)) == "va" + std::to_string(index));
  }
  CHECK(first == "va0");
}

TEST_CASE("Objects in an array are read where they stand, and whatever else is there is passed over") {
  ElementReader elements(R"([ {"a":"1"} , "no", {"b":1,"\u0062":[2]},{"c":{"d":[]} } ,[{"e":1}],{} ])");
  CHECK(elements.kind() == Kind::object);
  Members members;
  REQUIRE(elements.nextMembers(members));
  CHECK(members.text("a") == "1");
  CHECK(elements.kind() == Kind::string);
  CHECK_FALSE(elements.nextMembers(members));
  CHECK_FALSE(elements.nextMembers(members));
  REQUIRE(elements.nextMembers(members));
  CHECK(members.find("c") == R"({"d":[]})");
  CHECK_FALSE(members.find("a"));
  CHECK_FALSE(members.find("b"));
  CHECK_FALSE(members.find("d"));
  CHECK_FALSE(elements.nextMembers(members));
  CHECK_FALSE(elements.atEnd());
  REQUIRE(elements.nextMembers(members));
  CHECK_FALSE(members.find("c"));
  CHECK_FALSE(members.find("e"));
  CHECK(elements.atEnd());
  CHECK_FALSE(elements.nextMembers(members));
  CHECK(ElementReader("[ ]").atEnd());
  for (const char* text : {"[]", "[{}]", "1", "\"{}\"", "null"}) {
    CAPTURE(text);
    CHECK(Members::read(text).has_value() == (text[0] == '{'));
  }
}

TEST_CASE("Duplicate keys are seen through their escapes, and keys are limited in number") {
  CHECK_FALSE(Members::read(R"({"id":1,"\u0069d":2})"));
  CHECK_FALSE(Members::read(R"({"\u0069d":1,"id":2})"));
  CHECK_FALSE(Members::read(R"({"\u0069d":1,"i\u0064":2})"));
  CHECK_FALSE(Members::read(R"({"":1,"":2})"));
  CHECK_FALSE(Members::read(R"({"\ud800":1})"));
  std::string many = "{";
  for (int index = 0; index < 128; ++index) {
    many += "\"k" + std::to_string(index) + "\":1,";
  }
  CHECK(Members::read(many.substr(0, many.size() - 1) + "}"));
  CHECK_FALSE(Members::read(many + "\"last\":1}"));
  for (const char* key : {"k0", "k15", "k16", "k126"}) {
    CHECK_FALSE(Members::read(many.substr(0, many.rfind("\"k127\"")) + "\"" + key + "\":2}"));
  }
}

TEST_CASE("Strings are decoded, and half a surrogate pair is none") {
  CHECK(decodeString(R"("a\u00e9\ud83d\ude00\t\"\\\/")") == "a\xC3\xA9\xF0\x9F\x98\x80\t\"\\/");
  for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", R"("\ud83d\u0041")", R"("\ud83d\n")", "1"}) {
    CAPTURE(text);
    CHECK_FALSE(decodeString(text));
  }
}

TEST_CASE("An escape is half a pair from the first surrogate to the last, and a character on either side of them") {
  CHECK(decodeString(R"("\ud7ff\ue000")") == "\xED\x9F\xBF\xEE\x80\x80");
  CHECK(decodeString(R"("\ud800\udc00")") == "\xF0\x90\x80\x80");
  CHECK(decodeString(R"("\udbff\udfff")") == "\xF4\x8F\xBF\xBF");
  for (const char* text :
       {R"("\ud800")", R"("\udbff")", R"("\udc00")", R"("\udfff")", R"("\ud800\udbff")", R"("\ud800\ue000")"}) {
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
        appendString(out, text);
        if (!isValid(out, 1) || decodeString(out) != text) {
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
      appendString(out, text);
      REQUIRE(isValid(out, 1));
    }
  }
  std::string out;
  appendString(out,
               "\xFF"
               "a\"\n");
  CHECK(out ==
        "\"\xEF\xBF\xBD"
        "a\\\"\\u000a\"");
}

}  // namespace json_test
