// Goal: P11: headers of the user's own are taken as written, a line that could change the request is refused, and no
// error shows a value. Method: lines as a table.

#include "protocol/own_headers.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"

namespace ackbox::protocol::own_headers_test {
namespace {

std::vector<Secret> linesOf(const std::vector<std::string>& texts) {
  std::vector<Secret> lines;
  for (const std::string& text : texts) {
    lines.emplace_back(std::string(text));
  }
  return lines;
}

std::string refusalOf(const std::vector<std::string>& texts) {
  try {
    const OwnHeaders headers(linesOf(texts));
    return {};
  } catch (const Error& error) {
    CHECK((error.code() == Errc::invalidOption));
    return error.what();
  }
}

}  // namespace

TEST_CASE("Lines become headers in their order, with the blanks around a value left out") {
  const OwnHeaders headers(linesOf({"Authorization: Bearer abc.def=", "X-API-Key:k y\t", "a:b:c"}));
  std::vector<std::pair<std::string, std::string>> made = {{"webhook-id", "m"}};
  headers.addTo(made);
  CHECK(made == std::vector<std::pair<std::string, std::string>>{
                    {"webhook-id", "m"}, {"Authorization", "Bearer abc.def="}, {"X-API-Key", "k y"}, {"a", "b:c"}});
  CHECK_FALSE(headers.isEmpty());
  CHECK(OwnHeaders(std::vector<Secret>()).isEmpty());
}

TEST_CASE("P11: a line that is no header, or could change the request, is refused by its place, not by its text") {
  for (const char* line :
       {"", "hidden", "hidden:", "hidden: ", ": hidden", "hid den: x", "hidden : x", "hidden: a\rb", "hidden: a\nb: c",
        "hidden: \xC3\xA9", "hidden: a\tb", "hidd\xC3\xA9n: x", "hidden: a\x7F"}) {
    CAPTURE(line);
    const std::string refusal = refusalOf({"a: b", line});
    CHECK(refusal.find("headers[1]: must be a header") != std::string::npos);
    CHECK(refusal.find("hid") == std::string::npos);
  }
  for (const char* name : {"Content-Type", "content-length", "HOST", "Transfer-Encoding", "connection", "Webhook-Id",
                           "webhook-signature", "outbox-agent", "ce-type", "traceparent", "user-agent"}) {
    CAPTURE(name);
    const std::string refusal = refusalOf({std::string(name) + ": hidden"});
    CHECK(refusal.find("headers[0]: cannot be ") != std::string::npos);
    CHECK(refusal.find("hidden") == std::string::npos);
  }
  CHECK(refusalOf({"X-Key: hidden", "x-key: hidden"}).find("headers[1]: has the name") != std::string::npos);
}

TEST_CASE("P11: more than 16 headers, or more than 8 KiB of them, are refused") {
  std::vector<std::string> many;
  for (int index = 0; index < 16; ++index) {
    many.push_back("x" + std::to_string(index) + ": y");
  }
  CHECK(refusalOf(many).empty());
  many.emplace_back("x16: y");
  CHECK(refusalOf(many).find("at most 16") != std::string::npos);
  CHECK(refusalOf({"x: " + std::string(8 * 1024 - 3, 'y')}).empty());
  CHECK(refusalOf({"x: " + std::string(8 * 1024 - 2, 'y')}).find("at most 8 KiB") != std::string::npos);
}

}  // namespace ackbox::protocol::own_headers_test
