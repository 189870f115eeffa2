// Goal: a request of another version is refused before any part of it is read, and the refusal names the supported
// version; a trace context is accepted only in the form that W3C allows.
// Method: tables of header values.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "protocol/wire.hpp"

namespace request_headers_test {

using namespace ackbox;
using namespace ackbox::protocol;

TEST_CASE("A version is missing, ours, or ours with a minor number; all else is refused") {
  for (const char* taken : {"", "1", " 1 ", "1.0", "1.27"}) {
    CAPTURE(taken);
    CHECK_FALSE(versionProblem(taken));
  }
  for (const char* refused : {"2", "0", "10", "01", "1.", "1.x", ".1", "1.0.0", "v1", "1,2", "-1", "\xff"}) {
    CAPTURE(refused);
    const auto problem = versionProblem(refused);
    REQUIRE(problem);
    // Not a status on which a sender gives up its messages: they are held until an operator acts.
    CHECK(problem->status == 415);
    CHECK(problem->contentType == kMediaTypeProblem);
    const auto body = nlohmann::json::parse(problem->body);
    CHECK(body["versions"] == nlohmann::json::array({"1"}));
    CHECK(body["status"] == 415);
  }
}

TEST_CASE("A sender takes the refusal of its version for the peer's, and keeps its messages") {
  SendRequest request;
  request.frames.emplace_back().messageId = "m";
  const auto problem = versionProblem("2");
  REQUIRE(problem);
  const SendReport report = readAnswer(request, "m", problem->status, problem->contentType, "", problem->body);
  CHECK(report.outcome == RequestOutcome::peerRefused);
  CHECK(report.error.find("Unsupported version") != std::string::npos);
}

TEST_CASE("A trace context has W3C's form") {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  CHECK(isTraceparent(good));
  CHECK(isTraceparent("cc" + good.substr(2) + "-what-comes-later"));
  const auto with = [&good](std::size_t place, const std::string& text) {
    return std::string(good).replace(place, text.size(), text);
  };
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "-more", good + "0", "cc" + good.substr(2) + ".more", with(0, "ff"),
        with(0, "0g"), with(2, "_"), with(35, "_"), with(52, "_"), with(3, std::string(32, '0')),
        with(36, std::string(16, '0')), with(3, "A"), with(53, "x"), "cc" + good.substr(2) + "-a b"}) {
    CAPTURE(bad);
    CHECK_FALSE(isTraceparent(bad));
  }
}

}  // namespace request_headers_test
