// Goal: text from outside gives its members and elements, or a sentence that says what is wrong with it and where.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>

#include "json/checked.hpp"

namespace ackbox::json::checked_test {
namespace {

std::string problemOf(std::string_view text) {
  return readObject(text).problem;
}

}  // namespace

TEST_CASE("members are in the order of the text, with decoded keys and the values' own bytes") {
  const CheckedMembers object = readObject(R"( {"a" : 1.10 , "\u0062":{ "x":[1,2] },"c":null} )");
  REQUIRE(object.problem.empty());
  const std::vector<Members::Member>& members = object.members.all();
  REQUIRE(members.size() == 3);
  CHECK(members[0].key == "a");
  CHECK(members[0].value == "1.10");
  CHECK(members[1].key == "b");
  CHECK(members[1].value == "{ \"x\":[1,2] }");
  CHECK(members[2].value == "null");
}

TEST_CASE("what is wrong with an object is said with its place") {
  CHECK(problemOf("") == "it is not a JSON object");
  CHECK(problemOf("[1]") == "it is not a JSON object");
  CHECK(problemOf("{\"a\":1") == "it is not JSON: it ends too early");
  CHECK(problemOf("{\"a\":01}") == "it is not JSON: byte 7 is unexpected");
  CHECK(problemOf("{\"a\":1} {}") == "it is not JSON: byte 9 is unexpected");
  CHECK(problemOf("{\"a\":\"\xc3\"}") == "it is not UTF-8");
  CHECK(problemOf("{\"a\":1,\"\\u0061\":2}") == "the key \"a\" occurs twice");
  CHECK(problemOf("{\"\\ud800\":1}") == "a key of the object holds half a surrogate pair");
}

TEST_CASE("an object has as many members as are read, and no more") {
  std::string text = "{";
  for (std::size_t index = 0; index < kMembersMax; ++index) {
    text += (index == 0 ? "\"" : ",\"") + std::to_string(index) + "\":0";
  }
  CHECK(problemOf(text + "}").empty());
  CHECK(problemOf(text + ",\"more\":0}") == "the object has more than 128 keys");
}

TEST_CASE("elements are counted before they are kept") {
  const CheckedElements elements = readArray(" [ 1, \"a,b\" ,[ ]] ", 3);
  REQUIRE(elements.problem.empty());
  REQUIRE(elements.values.size() == 3);
  CHECK(elements.values[1] == "\"a,b\"");
  CHECK(elements.values[2] == "[ ]");
  CHECK(readArray("[]", 0).problem.empty());
  CHECK(readArray("[1,2]", 1).problem == "the array has more than 1 values");
  CHECK(readArray("{}", 1).problem == "it is not a JSON array");
  CHECK(readArray("[1,]", 2).problem == "it is not JSON: byte 4 is unexpected");
}

TEST_CASE("whole numbers are digits that fit into 64 bits") {
  CHECK(wholeNumber("0") == std::optional<std::uint64_t>(0));
  CHECK(wholeNumber("18446744073709551615") == std::optional<std::uint64_t>(18'446'744'073'709'551'615U));
  for (const char* wrong : {"", "-1", "1.0", "1e3", "18446744073709551616", "\"1\"", "+1", " 1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(wholeNumber(wrong));
  }
}

}  // namespace ackbox::json::checked_test
