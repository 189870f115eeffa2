// Goal: an endpoint's explanation of its refusal reaches the operator, and cannot harm a terminal, a log or a file.
// Method: bodies as frameworks write them, and hostile ones.

#include "protocol/answer_text.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ackbox::protocol::answer_text_test {
namespace {

const std::string kJson = "application/json";

TEST_CASE("P13: of an answer's JSON the text that people look for is shown, else its beginning, and no page") {
  CHECK(textOfAnswer(kJson, R"({"detail":"no such order","title":"Refused"})") == "no such order");
  CHECK(textOfAnswer("application/problem+json", R"({"title":"Refused","status":422})") == "Refused");
  CHECK(textOfAnswer(kJson, R"({"error":{"code":7},"message":"seven"})") == "seven");
  // A body of FastAPI.
  CHECK(textOfAnswer(kJson, R"({"detail":[{"loc":["body","id"],"msg":"field required"}]})") ==
        R"({"detail":[{"loc":["body","id"],"msg":"field required"}]})");
  CHECK(textOfAnswer(kJson, "{\"detail\":") == "{\"detail\":");
  CHECK(textOfAnswer("text/plain; charset=utf-8", " not\r\n today \n") == "not   today");
  CHECK(textOfAnswer("", "no type") == "no type");
  CHECK(textOfAnswer("text/html", "<h1>422</h1>").empty());
  CHECK(textOfAnswer("application/octet-stream", "abc").empty());
  CHECK(textOfAnswer(kJson, "").empty());
}

TEST_CASE("P11: what an answer says is cut between characters, and can be printed") {
  const std::string longText(10'000, 'x');
  CHECK(textOfAnswer("", longText) == std::string(kAnswerTextBytesMax, 'x'));
  std::string letters = "x";
  while (letters.size() < 1'000) {
    letters += "\u00e9";
  }
  CHECK(textOfAnswer("", letters).size() == kAnswerTextBytesMax - 1);
  CHECK(textOfAnswer("", "a\x1b[2Jb") == "a\\x1b[2Jb");
  CHECK(textOfAnswer(kJson, R"({"detail":"a\u001b[2Jb\u0000"})") == "a\\x1b[2Jb\\x00");
  CHECK(textOfAnswer("",
                     "a\xff"
                     "b") == "a\\xffb");
  CHECK(textOfAnswer("",
                     "a\u202e"
                     "b") == "a\\u202eb");
  CHECK(textOfAnswer(kJson, "[" + std::string(10'000, '[')).size() == kAnswerTextBytesMax);
}

TEST_CASE("P11: a secret that an answer repeats is left out but for its kind, also where it would be cut") {
  CHECK(textOfAnswer("", "expected whsec_YWxp+/Y2U=, not whsk_b2Jv") == "expected whsec_..., not whsk_...");
  CHECK(textOfAnswer(kJson, R"({"error":"whsec_YWxpY2U"})") == "whsec_...");
  const std::string cut = textOfAnswer("", std::string(kAnswerTextBytesMax - 8, 'x') + " whsec_YWxpY2UgYWxpY2U");
  CHECK(cut.find("YW") == std::string::npos);
}

}  // namespace
}  // namespace ackbox::protocol::answer_text_test
