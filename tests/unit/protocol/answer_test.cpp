// Goal: a message is settled only by a document that answers exactly the request sent; all else is judged by status.
// Method: answers are made by `encodeAck` and by hand, then changed in one place each.

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <vector>

#include "protocol/wire.hpp"

namespace answer_test {

using namespace ackbox;
using namespace ackbox::protocol;
using std::chrono::milliseconds;

namespace {

SendRequest sent(const std::vector<std::string>& ids) {
  SendRequest request;
  for (const std::string& id : ids) {
    request.frames.emplace_back().messageId = id;
  }
  return request;
}

std::string entry(const std::string& id, const std::string& rest = R"(,"outcome":"ack")") {
  return R"({"id":")" + id + "\"" + rest + "}";
}

std::string document(const std::string& results, const std::string& delivery = "d", const std::string& version = "1") {
  return R"({"outbox":")" + version + R"(","delivery":")" + delivery + R"(","store":"x","results":[)" + results + "]}";
}

SendReport read(const SendRequest& request, const std::string& body, int status = 200,
                std::string_view contentType = kMediaTypeAck, std::string_view retryAfter = {}) {
  return readAnswer(request, "d", status, contentType, retryAfter, body);
}

FrameResult result(Outcome outcome) {
  FrameResult made;
  made.outcome = outcome;
  return made;
}

InboundResponse acknowledge(bool batch, const std::vector<FrameResult>& results) {
  std::vector<std::string> ids;
  for (std::size_t index = 0; index < results.size(); ++index) {
    ids.push_back("m" + std::to_string(index));
  }
  return encodeAck({"", "", batch ? "d" : "m0"}, batch, "store", std::vector<std::string_view>(ids.begin(), ids.end()),
                   results, {}, InboundOptions());
}

}  // namespace

TEST_CASE("A single frame's outcome is its status, and comes back as it was") {
  for (const auto& [outcome, status] : std::vector<std::pair<Outcome, int>>{
           {Outcome::ack, 200}, {Outcome::defer, 202}, {Outcome::nack, 503}, {Outcome::term, 422}}) {
    const InboundResponse response = acknowledge(false, {result(outcome)});
    CHECK(response.status == status);
    CHECK(response.retryAfterSeconds.has_value() == (outcome == Outcome::nack));
    const SendReport report = read(sent({"m0"}), response.body, response.status, response.contentType, "9");
    REQUIRE((report.outcome == RequestOutcome::answered));
    CHECK((report.results.at(0).outcome == outcome));
    CHECK_FALSE(report.retryAfter);
    CHECK_FALSE(report.results[0].retryAfter);
    CHECK(report.creditFrames == 256);
    CHECK(report.creditBytes == 1'048'576);
  }
}

TEST_CASE("A batch is always 200, and each result keeps its fields") {
  FrameResult refused = result(Outcome::term);
  refused.code = "rejected";
  refused.detail = "no \"way\"\n\xFF";
  FrameResult later = result(Outcome::nack);
  later.retryAfter = milliseconds(1'500);
  FrameResult held = result(Outcome::nack);
  held.held = true;
  FrameResult done = result(Outcome::ack);
  done.duplicate = true;
  done.result = "{ \"n\": 1.0 }";
  const InboundResponse response = acknowledge(true, {refused, later, held, done});
  CHECK(response.status == 200);
  const SendReport report = read(sent({"m0", "m1", "m2", "m3"}), response.body);
  REQUIRE((report.outcome == RequestOutcome::answered));
  CHECK(report.results[0].code == "rejected");
  CHECK(report.results[0].detail == "no \"way\"\n\xEF\xBF\xBD");
  CHECK(report.results[1].retryAfter == milliseconds(1'500));
  CHECK_FALSE(report.results[1].held);
  CHECK(report.results[2].held);
  CHECK(report.results[3].duplicate);
  CHECK(report.results[3].result == done.result);
}

TEST_CASE(
    "P13: a deferral says for how long there has been no application, and what cannot be read of it is passed over") {
  FrameResult unattended = result(Outcome::defer);
  unattended.unattended = milliseconds(240'000);
  FrameResult ahead = unattended;
  ahead.unattended = milliseconds(-5);
  const InboundResponse response = acknowledge(true, {unattended, result(Outcome::defer), ahead});
  CHECK(response.body.find(R"("outcome":"defer","unattendedms":240000})") != std::string::npos);
  const SendReport report = read(sent({"m0", "m1", "m2"}), response.body);
  REQUIRE((report.outcome == RequestOutcome::answered));
  CHECK(report.results[0].unattended == milliseconds(240'000));
  CHECK_FALSE(report.results[1].unattended);
  CHECK(report.results[2].unattended == milliseconds(0));
  const auto readWith = [&](const std::string& value, const std::string& outcome) {
    std::string body = response.body;
    body.replace(body.find("\"defer\",\"unattendedms\":240000"), 29, "\"" + outcome + "\",\"unattendedms\":" + value);
    return read(sent({"m0", "m1", "m2"}), body).results.at(0).unattended;
  };
  CHECK(readWith("7", "defer") == milliseconds(7));
  CHECK_FALSE(readWith("7", "nack"));
  for (const char* value : {"-1", "\"7\"", "null", "{}", "1.5"}) {
    CHECK_FALSE(readWith(value, "defer"));
  }
  // The limit keeps every instant that is computed from it within the calendar.
  CHECK(readWith("99999999999999999999", "defer").value_or(milliseconds(0)) <= std::chrono::years(10));
}

TEST_CASE("Retry-After is in seconds, rounded up, and at least one") {
  const auto seconds = [](std::int64_t wish) {
    FrameResult later = result(Outcome::nack);
    later.retryAfter = milliseconds(wish);
    return acknowledge(false, {later}).retryAfterSeconds;
  };
  CHECK(seconds(1) == 1);
  CHECK(seconds(1'001) == 2);
  CHECK(seconds(-5) == 1);
  CHECK(seconds(std::numeric_limits<std::int64_t>::max()) == 3'600);
}

TEST_CASE("A result that is no JSON, or has no room, is left out and said to be") {
  FrameResult bad = result(Outcome::ack);
  FrameResult large = bad;
  FrameResult deep = bad;
  bad.result = "}{";
  large.result = "\"" + std::string(300'000, 'x') + "\"";
  deep.result = std::string(62, '[') + std::string(62, ']');
  const SendReport report = read(sent({"m0", "m1", "m2"}), acknowledge(true, {bad, large, deep}).body);
  REQUIRE((report.outcome == RequestOutcome::answered));
  for (const FrameResult& each : report.results) {
    CHECK(each.result.empty());
    CHECK(each.detail.find("left out") != std::string::npos);
  }
}

TEST_CASE("P3: only exactly one well-formed result per frame, by id and in order, is an answer") {
  const SendRequest request = sent({"a", "b"});
  CHECK((read(request, document(entry("a") + "," + entry("b"))).outcome == RequestOutcome::answered));
  const std::string good = entry("a") + ",";
  for (const std::string& body : {document(entry("b") + "," + entry("a")),
                                  document(entry("a")),
                                  document(""),
                                  document(good + entry("b") + "," + entry("c")),
                                  document(good + entry("x")),
                                  document(good + entry("a")),
                                  document(good + entry("b"), "other"),
                                  document(good + entry("b"), "d", "2"),
                                  document(good + entry("b", "")),
                                  document(good + entry("b", R"(,"outcome":"ok")")),
                                  document(good + entry("b", R"(,"outcome":"ACK")")),
                                  document(good + entry("b", R"(,"outcome":1)")),
                                  document(good + entry("b", R"(,"outcome":"ack","id":"b")")),
                                  document(good + entry("b", R"(,"outcome":"ack","outcome":"term")")),
                                  document(good + entry("b", R"(,"outcome":"ack","duplicate":"yes")")),
                                  document(good + entry("b", R"(,"outcome":"ack","code":7)")),
                                  document(good + "\"b\""),
                                  document(good + "null"),
                                  std::string("{}"),
                                  std::string("[]"),
                                  std::string("true"),
                                  std::string("<html>Welcome</html>"),
                                  std::string(),
                                  std::string(200'000, '[')}) {
    CAPTURE(body.substr(0, 300));
    CHECK((read(request, body).outcome == RequestOutcome::peerUnavailable));
    CHECK((read(request, body, 422).outcome == RequestOutcome::requestRejected));
  }
}

TEST_CASE("P11: a code that is no plain text counts as none, and its outcome counts") {
  const auto codeOf = [](const std::string& code) {
    const std::string first = entry("a", R"(,"outcome":"term","code":")" + code + "\"");
    const SendReport report = read(sent({"a", "b"}), document(first + "," + entry("b")));
    REQUIRE((report.outcome == RequestOutcome::answered));
    CHECK((report.results.at(0).outcome == Outcome::term));
    return report.results[0].code;
  };
  CHECK(codeOf("no-stock") == "no-stock");
  CHECK(codeOf(R"(caf\u00e9)") == "caf\u00e9");
  CHECK(codeOf(R"(x\u0000y)").empty());
  CHECK(codeOf(R"(x\ny)").empty());
}

TEST_CASE("P3: a document cut at any byte settles nothing") {
  const std::string whole = document(entry("a") + "," + entry("b"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    REQUIRE((read(sent({"a", "b"}), whole.substr(0, length)).outcome == RequestOutcome::peerUnavailable));
  }
}

TEST_CASE("P3: the status must allow an answer and the media type must be JSON") {
  const std::string body = document(entry("a"), "a");
  CHECK((read(sent({"a"}), body, 200, "Application/Json; charset=utf-8").outcome == RequestOutcome::answered));
  CHECK((read(sent({"a"}), body, 202).outcome == RequestOutcome::answered));
  CHECK((read(sent({"a"}), body, 200, "text/html").outcome == RequestOutcome::peerUnavailable));
  CHECK((read(sent({"a"}), body, 500).outcome == RequestOutcome::peerUnavailable));
  CHECK((read(sent({"a"}), body, 302).outcome == RequestOutcome::peerRefused));
  CHECK((read(sent({}), document("")).outcome == RequestOutcome::peerUnavailable));
}

TEST_CASE("P12: without a document an answer is unclear, if its status names neither an outage nor a refusal") {
  const auto isUnclear = [](int status) { return read(sent({"a"}), "", status, "").isUnclear; };
  for (const int status : {0, 100, 200, 204, 299, 500, 501, 505, 599, 999, -1}) {
    CAPTURE(status);
    CHECK(isUnclear(status));
    CHECK(readUnverifiedAnswer(sent({"a"}), status, "", "", "").isUnclear);
  }
  for (const int status : {302, 400, 404, 408, 410, 425, 429, 502, 503, 504, 507}) {
    CAPTURE(status);
    CHECK_FALSE(isUnclear(status));
    CHECK_FALSE(readUnverifiedAnswer(sent({"a"}), status, "", "", "").isUnclear);
  }
  const std::string body = document(entry("a"), "a");
  CHECK_FALSE(read(sent({"a"}), body, 200, "Application/Json; charset=utf-8").isUnclear);
}

TEST_CASE("P8: without a document the status alone says whose fault it is") {
  const auto judged = [](int status) { return read(sent({"a"}), "", status, "").outcome; };
  for (const int status : {0, 100, 200, 204, 299, 408, 425, 429, 500, 501, 502, 503, 504, 507, 599, 999, -1}) {
    CAPTURE(status);
    CHECK((judged(status) == RequestOutcome::peerUnavailable));
  }
  for (const int status : {300, 301, 304, 308, 401, 403, 404, 405, 406, 415, 431}) {
    CAPTURE(status);
    CHECK((judged(status) == RequestOutcome::peerRefused));
  }
  for (const int status : {400, 413, 422}) {
    CAPTURE(status);
    CHECK((judged(status) == RequestOutcome::requestRejected));
  }
}

TEST_CASE("Wishes for a delay are believed up to an hour") {
  const auto pause = [](std::string_view header) { return read(sent({"a"}), "", 503, "", header).retryAfter; };
  CHECK(pause("2") == milliseconds(2'000));
  CHECK(pause(" 0 ") == milliseconds(0));
  CHECK(pause("99999999999999999999999") == milliseconds(3'600'000));
  for (const char* header : {"", "-1", "1.5", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"}) {
    CHECK_FALSE(pause(header));
  }
  const auto wish = [](const std::string& number) {
    const SendReport report =
        read(sent({"a"}), document(entry("a", R"(,"outcome":"nack","retryafterms":)" + number), "a"));
    REQUIRE((report.outcome == RequestOutcome::answered));
    return report.results[0].retryAfter;
  };
  CHECK(wish("250") == milliseconds(250));
  CHECK(wish("99999999999999999999999") == milliseconds(3'600'000));
  CHECK_FALSE(wish("-1"));
  CHECK_FALSE(wish("1e999"));
  CHECK_FALSE(wish("\"7\""));
}

TEST_CASE("Credit is read leniently and within bounds") {
  const auto credit = [](const std::string& text) {
    const std::string body = document(entry("a"), "a");
    const SendReport report = read(sent({"a"}), body.substr(0, body.size() - 1) + ",\"credit\":" + text + "}");
    REQUIRE((report.outcome == RequestOutcome::answered));
    return std::pair(report.creditFrames, report.creditBytes);
  };
  CHECK(credit(R"({"frames":7,"bytes":9})") == std::pair(7U, std::uint64_t{9}));
  CHECK(credit(R"({"frames":99999999999999999999999,"bytes":1e999})") == std::pair(256U, std::uint64_t{0}));
  CHECK(credit(R"({"frames":-1})") == std::pair(0U, std::uint64_t{0}));
  CHECK(credit("7") == std::pair(0U, std::uint64_t{0}));
}

TEST_CASE("A problem document's words and limit are passed on") {
  const InboundResponse response = problem(403, "Not you", "ask \xFF Bob");
  const SendReport refused = read(sent({"a"}), response.body, response.status, response.contentType);
  CHECK((refused.outcome == RequestOutcome::peerRefused));
  CHECK(refused.error == "HTTP 403: Not you: ask \xEF\xBF\xBD Bob");
  CHECK(read(sent({"a"}), R"({"maxbytes":1000})", 413, kMediaTypeProblem).creditBytes == 1'000);
}

TEST_CASE("P13: what a peer without keys, or one that did not sign, says of its refusal is told as what it is") {
  const SendRequest request = sent({"a"});
  const char* const said = R"({"detail":"not in this region"})";
  CHECK(read(request, said, 403).error == "HTTP 403: not in this region");
  CHECK(read(request, "try\x1b[31m later", 503, "text/plain").error == "HTTP 503: try\\x1b[31m later");
  CHECK(read(request, "<html>", 403, "text/html").error == "HTTP 403");
  CHECK(read(request, said, 200).error == "HTTP 200 without an ACK document for this request");
  CHECK(readUnverifiedAnswer(request, 403, "", kMediaTypeAck, said)
            .error.ends_with("check `secrets` on both sides; it says, unsigned: not in this region"));
  const SendReport charged = readUnverifiedAnswer(request, 422, "", kMediaTypeAck, said);
  CHECK(charged.results.at(0).detail.ends_with("; it says, unsigned: not in this region"));
  CHECK(readUnverifiedAnswer(request, 200, "", kMediaTypeAck, said).error.find("it says") == std::string::npos);
}

TEST_CASE("A Retry-After that is a date is heard of a peer, too") {
  const SendRequest request = sent({"a"});
  const WallTime now{std::chrono::seconds(784'111'777)};
  const char* const inNine = "Sun, 06 Nov 1994 08:49:46 GMT";
  CHECK((readAnswer(request, "d", 503, "", inNine, "", now).retryAfter == std::chrono::seconds(9)));
  CHECK((readSignedAnswer(request, "d", 429, "", inNine, "", now).retryAfter == std::chrono::seconds(9)));
  CHECK((readUnverifiedAnswer(request, 503, inNine, "", "", now).retryAfter == std::chrono::seconds(9)));
}

TEST_CASE("A store that cannot write answers for the whole request and asks for a pause") {
  CHECK(unavailable(false, "busy").status == 503);
  CHECK(unavailable(true, "full").status == 507);
  CHECK(unavailable(false, "busy").retryAfterSeconds == 1);
  // No longer at first: the sender's own pauses grow while the disk stays full.
  CHECK(unavailable(true, "full").retryAfterSeconds == 1);
  CHECK((read(sent({"a"}), unavailable(false, "busy").body, 503, kMediaTypeProblem, "1").outcome ==
         RequestOutcome::peerUnavailable));
}

TEST_CASE(
    "A sender takes from an answer which store it is of and where its sessions stand, and nothing that it cannot "
    "read") {
  SendRequest request = sent({"a", "b", "c", "d"});
  request.origin = "here";
  const std::vector<std::pair<std::string, std::uint64_t>> places = {{"s", 4}, {"s", 5}, {"", 1}, {"s", 0}};
  for (std::size_t index = 0; index < places.size(); ++index) {
    std::tie(request.frames[index].session, request.frames[index].sequence) = places[index];
  }
  const std::vector<std::string_view> ids = {"a", "b", "c", "d"};
  const std::vector<FrameResult> results(4, result(Outcome::ack));
  const std::vector<SessionProgress> sessions = {{"s", 5, 5, "", "b"}, {"", 1, 1, "", "x"}, {"other", 1, 1, "", ""}};
  const InboundResponse whole =
      encodeAck({"", "", "d"}, true, "store-b", ids, results, sessions, InboundOptions(), 9007199254740993U);
  const SendReport report = read(request, whole.body);
  REQUIRE(report.outcome == RequestOutcome::answered);
  CHECK(report.store == "store-b");
  CHECK(report.storeEpoch == 9007199254740993U);
  REQUIRE(report.sessions.size() == 2);
  CHECK(report.sessions[0].firstFrame == 0);
  CHECK(report.sessions[0].accepted == 5);
  CHECK(report.sessions[0].acceptedId == "b");
  CHECK_FALSE(report.sessions[0].isOther);
  CHECK(report.sessions[1].firstFrame == 2);
  CHECK(report.sessions[1].isOther);

  const auto withSessions = [](const std::string& list) {
    std::string body = document(entry("a") + "," + entry("b") + "," + entry("c") + "," + entry("d"));
    return body.insert(body.size() - 1, R"(,"sessions":)" + list);
  };
  // An unreadable list costs no result and reports no session.
  for (const char* list :
       {"null", "7", "{}", "[]", "[7]", R"([{"id":"s"}])", R"([{"id":"s","accepted":5}])",
        R"([{"id":"s","accepted":"-1"}])", R"([{"id":"s","accepted":"9223372036854775808"}])",
        R"([{"id":"s","accepted":"5","acceptedid":7}])", R"([{"id":7,"accepted":"5"}])",
        R"([{"id":"s","origin":"there","accepted":"5"}])", R"([{"id":"s","id":"s","accepted":"5"}])"}) {
    CAPTURE(list);
    const SendReport poor = read(request, withSessions(list));
    CHECK(poor.outcome == RequestOutcome::answered);
    CHECK(poor.sessions.empty());
  }
  // The first of two reports on a session counts, and this one names this store.
  const SendReport twice =
      read(request,
           withSessions(R"([{"id":"s","origin":"here","accepted":"4","acceptedid":"b"},{"id":"s","accepted":"9"}])"));
  REQUIRE(twice.sessions.size() == 1);
  CHECK(twice.sessions[0].accepted == 4);
  CHECK(twice.sessions[0].isOther);
  CHECK(twice.store == "x");
  CHECK(twice.storeEpoch == 0);
}

TEST_CASE("Words on sessions are taken in any order, the first that can be read of each") {
  SendRequest request = sent({"a", "b", "c", "d", "e", "f"});
  const std::vector<std::pair<std::string, std::uint64_t>> places = {{"loose", 0}, {"s", 4}, {"s", 5},
                                                                     {"", 7},      {"u", 0}, {"u", 2}};
  std::string results;
  for (std::size_t index = 0; index < places.size(); ++index) {
    std::tie(request.frames[index].session, request.frames[index].sequence) = places[index];
    results += (index == 0 ? "" : ",") + entry(request.frames[index].messageId);
  }
  const auto words = [&](const std::string& list) {
    std::string body = document(results);
    std::vector<std::pair<std::size_t, std::uint64_t>> taken;
    for (const SessionReport& report : read(request, body.insert(body.size() - 1, R"(,"sessions":)" + list)).sessions) {
      taken.emplace_back(report.firstFrame, report.accepted);
    }
    return taken;
  };
  const std::string s = R"({"id":"s","accepted":"1"})";
  const std::string unnamed = R"({"id":"","accepted":"2"})";
  const std::string u = R"({"id":"\u0075","accepted":"\u0033"})";
  const std::string bad = R"({"id":"s","accepted":"x"})";
  const std::string other = R"({"id":"x","accepted":"9"})";
  const std::string loose = R"({"id":"loose","accepted":"9"})";
  using Words = std::vector<std::pair<std::size_t, std::uint64_t>>;
  CHECK(words("[" + s + "," + unnamed + "," + u + "]") == Words{{1, 1}, {3, 2}, {5, 3}});
  CHECK(words("[" + u + "," + unnamed + "," + s + "]") == Words{{5, 3}, {3, 2}, {1, 1}});
  CHECK(words("[" + s + "," + u + "," + unnamed + "]") == Words{{1, 1}, {5, 3}, {3, 2}});
  CHECK(words("[" + s + "," + s + "," + unnamed + "," + s + "," + u + "," + u + "]") == Words{{1, 1}, {3, 2}, {5, 3}});
  CHECK(words("[" + bad + "," + s + "," + other + "," + unnamed + ",7," + loose + "," + u + "]") ==
        Words{{1, 1}, {3, 2}, {5, 3}});
  CHECK(words("[" + unnamed + "," + bad + "," + unnamed + "," + s + "]") == Words{{3, 2}, {1, 1}});
  CHECK(words("[" + u + "]") == Words{{5, 3}});
}

}  // namespace answer_test
