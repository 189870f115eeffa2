// Goal: the answers of receivers without ACK documents are read by their status alone, as the table in proto/README.md
// says. Method: every status from 200 to 599.

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/wire.hpp"

namespace webhook_answer_test {

using namespace ackbox;
using namespace ackbox::protocol;

namespace {

RequestOutcome outcomeOf(int status) {
  return readWebhookAnswer(status, "").outcome;
}

}  // namespace

TEST_CASE("P3: any 2xx, and no other status, is a webhook's ACK") {
  for (int status = 200; status < 600; ++status) {
    const SendReport report = readWebhookAnswer(status, "");
    const bool isAck = report.outcome == RequestOutcome::answered && report.results.size() == 1 &&
                       report.results[0].outcome == Outcome::ack;
    CHECK(isAck == (status < 300));
    CHECK(report.creditFrames == 0);
  }
}

TEST_CASE("P8: a webhook's other statuses hold, disable or pause the peer, or are about the frame") {
  const std::set<int> gaveUp{413, 422};
  const std::set<int> pauses{408, 425, 429};
  for (int status = 300; status < 500; ++status) {
    CAPTURE(status);
    if (status == 400) {
      const SendReport report = readWebhookAnswer(status, "");
      REQUIRE((report.outcome == RequestOutcome::answered));
      CHECK((report.results.at(0).outcome == Outcome::nack));
      CHECK(report.results[0].code == "bad-request");
    } else if (status == 410) {
      CHECK((outcomeOf(status) == RequestOutcome::peerGone));
    } else if (gaveUp.contains(status)) {
      CHECK((outcomeOf(status) == RequestOutcome::requestRejected));
    } else if (pauses.contains(status)) {
      CHECK((outcomeOf(status) == RequestOutcome::peerUnavailable));
    } else {
      CHECK((outcomeOf(status) == RequestOutcome::peerRefused));
    }
  }
}

TEST_CASE(
    "P3: a webhook's 5xx that names no outage is charged to the frame, and no status but 413 and 422 gives it up") {
  const std::set<int> outages{502, 503, 504, 507};
  // A number that is no status counts as a 5xx (RFC 9110, 15).
  std::vector<int> statuses{1, 99, 600, 999};
  for (int status = 500; status < 600; ++status) {
    statuses.push_back(status);
  }
  for (const int status : statuses) {
    CAPTURE(status);
    if (outages.contains(status)) {
      CHECK((outcomeOf(status) == RequestOutcome::peerUnavailable));
      continue;
    }
    const SendReport report = readWebhookAnswer(status, "");
    REQUIRE((report.outcome == RequestOutcome::answered));
    CHECK((report.results.at(0).outcome == Outcome::nack));
    CHECK(report.results[0].code == "server-error");
    CHECK(report.results[0].detail == "HTTP " + std::to_string(status));
  }
}

TEST_CASE("A webhook's Retry-After is heard, where it is about the peer and where it is about the frame") {
  CHECK((readWebhookAnswer(429, " 7 ").retryAfter == std::chrono::seconds(7)));
  CHECK((readWebhookAnswer(503, "86400").retryAfter == std::chrono::hours(1)));
  CHECK((readWebhookAnswer(500, "9").results.at(0).retryAfter == std::chrono::seconds(9)));
  CHECK((readWebhookAnswer(400, "9").results.at(0).retryAfter == std::chrono::seconds(9)));
  CHECK((readWebhookAnswer(503, "Fri, 31 Dec 2027 23:59:59 GMT").retryAfter == std::nullopt));
  CHECK((readWebhookAnswer(204, "9").results.at(0).retryAfter == std::nullopt));
}

TEST_CASE("A webhook's Retry-After that is a date is heard by the clock that is passed in") {
  const WallTime now{std::chrono::seconds(784'111'777)};
  const char* const inNine = "Sun, 06 Nov 1994 08:49:46 GMT";
  CHECK((readWebhookAnswer(503, inNine, "", "", now).retryAfter == std::chrono::seconds(9)));
  CHECK((readWebhookAnswer(429, inNine, "", "", now).retryAfter == std::chrono::seconds(9)));
  CHECK((readWebhookAnswer(500, inNine, "", "", now).results.at(0).retryAfter == std::chrono::seconds(9)));
  CHECK((readWebhookAnswer(503, "Fri, 31 Dec 2027 23:59:59 GMT", "", "", now).retryAfter == std::chrono::hours(1)));
}

TEST_CASE("P13: what a webhook's endpoint says of its refusal is in the error, and in the frame's result") {
  const auto answer = [](int status, std::string_view body) {
    return readWebhookAnswer(status, "", "application/json", body);
  };
  const char* const said = R"({"detail":"no such order"})";
  CHECK(answer(422, said).error == "HTTP 422: no such order");
  CHECK(answer(404, said).error == "HTTP 404: no such order");
  CHECK(answer(503, said).error == "HTTP 503: no such order");
  CHECK(answer(400, said).results.at(0).detail == "HTTP 400: no such order");
  CHECK(answer(500, said).results.at(0).detail == "HTTP 500: no such order");
  CHECK(answer(500, "").results.at(0).detail == "HTTP 500");
  CHECK(answer(200, said).error == "HTTP 200");
  CHECK(answer(200, said).results.at(0).detail.empty());
}

}  // namespace webhook_answer_test
