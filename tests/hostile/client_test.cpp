// Goal: whatever a peer answers, or somebody on the way to it, no message is retired but by that peer's own word on it;
// it stays, and the others' traffic goes on. Method: an agent with a message to a scripted server, which has it
// delivered to somebody else before it lies; then the state of the message. The peer has no key, so that it is the
// answer's form alone that is judged. tests/HOSTILE.md is made of the names.

#include <doctest/doctest.h>

#include <string>

#include "hostile/victim.hpp"

namespace ackbox::testing::client_test {
namespace {

/// The answer, whatever the request was, leaves the message with its sender and gives the peer this outcome.
void keeps(RequestOutcome outcome, const std::string& answer) {
  CAPTURE(answer.substr(0, 300));
  Victim alice;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) { connection.send(answer); });
  CAPTURE(ending.report.error);
  CHECK(isKept(ending));
  CHECK(ending.report.outcome == outcome);
}

/// The same for an ACK document that is made from the message's id.
void keepsDocument(const std::function<std::string(const std::string& id)>& document) {
  Victim alice;
  std::string body;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    body = document(alice.messageId());
    connection.send(answerOf(body));
  });
  CAPTURE(body);
  CHECK(isKept(ending));
  CHECK(ending.report.outcome == RequestOutcome::peerUnavailable);
}

TEST_CASE("An honest answer retires the message: those below fail by their lie") {
  Victim alice;
  const Ending ending = alice.face(
      [&](RawConnection& connection, const std::string&) { connection.send(answerOf(ackOf(alice.messageId()))); });
  CHECK(ending.report.outcome == RequestOutcome::answered);
  CHECK(ending.stats.acked == 2);
  CHECK(ending.stats.pending == 0);
}

TEST_CASE(
    "hostile: a captive portal's 200, in HTML or in JSON, or with nothing: retires nothing, the peer counts as away") {
  keeps(RequestOutcome::peerUnavailable, answerOf("<html>Sign in to the hotel's network</html>", "text/html"));
  keeps(RequestOutcome::peerUnavailable, answerOf("{\"ok\":true}"));
  keeps(RequestOutcome::peerUnavailable, answerOf(""));
  keeps(RequestOutcome::peerUnavailable, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_CASE("hostile: an ACK that is announced as HTML: retires nothing") {
  Victim alice;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    connection.send(answerOf(ackOf(alice.messageId()), "text/html"));
  });
  CHECK(isKept(ending));
}

TEST_CASE("hostile: a redirect: not followed, the peer is held, and whom it names hears nothing") {
  bool isHeard = false;
  RawServer elsewhere({[&](RawConnection& connection) { isHeard = !connection.receiveAll().empty(); }});
  for (const char* status : {"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect",
                             "308 Permanent Redirect", "300 Multiple Choices"}) {
    keeps(RequestOutcome::peerRefused,
          "HTTP/1.1 " + std::string(status) + "\r\nLocation: " + elsewhere.url() + "\r\nContent-Length: 0\r\n\r\n");
  }
  RawConnection(elsewhere.port()).close();
  CHECK(elsewhere.finish().empty());
  CHECK_FALSE(isHeard);
}

TEST_CASE(
    "hostile: an answer for other ids, for another delivery, or with its results twice or not at all: retires "
    "nothing") {
  keepsDocument([](const std::string&) { return ackOf("another"); });
  keepsDocument([](const std::string& id) {
    return R"({"outbox":"1","delivery":"another","store":"s","results":[{"id":")" + id + R"(","outcome":"ack"}]})";
  });
  keepsDocument([](const std::string& id) {
    const std::string result = R"({"id":")" + id + R"(","outcome":"ack"})";
    return R"({"outbox":"1","delivery":")" + id + R"(","store":"s","results":[)" + result + "," + result + "]}";
  });
  keepsDocument(
      [](const std::string& id) { return R"({"outbox":"1","delivery":")" + id + R"(","store":"s","results":[]})"; });
}

TEST_CASE("hostile: an answer with an outcome that nobody knows, or none, or two: retires nothing") {
  for (const char* outcome :
       {R"("outcome":"ok")", R"("outcome":"ACK")", R"("outcome":1)", R"("outcome":null)", R"("x":1)",
        R"("outcome":"ack","outcome":"ack")", R"("outcome":"nack","\u006futcome":"ack")"}) {
    keepsDocument([&](const std::string& id) {
      return R"({"outbox":"1","delivery":")" + id + R"(","store":"s","results":[{"id":")" + id + "\"," + outcome +
             "}]}";
    });
  }
}

TEST_CASE("hostile: a document of another version, not UTF-8, nested too deep, or cut short: retires nothing") {
  keepsDocument([](const std::string& id) { return "{\"outbox\":\"2\"" + ackOf(id).substr(13); });
  keepsDocument([](const std::string& id) { return ackOf(id) + "\xff"; });
  keepsDocument([](const std::string& id) { return ackOf(id) + "x"; });
  keepsDocument([](const std::string& id) { return ackOf(id).substr(0, ackOf(id).size() - 1); });
  keepsDocument([](const std::string& id) {
    return R"({"x":)" + std::string(100'000, '[') + std::string(100'000, ']') + "," + ackOf(id).substr(1);
  });
}

TEST_CASE("hostile: a compressed answer: retires nothing") {
  Victim alice;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    connection.send(answerOf(std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10) + ackOf(alice.messageId()),
                             "application/json", "Content-Encoding: gzip\r\n"));
  });
  CHECK(isKept(ending));
}

TEST_CASE("hostile: wishes for a pause of centuries, negative, or no numbers: an hour at most") {
  for (const char* wish : {"99999999999999999999", "-1", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT", ""}) {
    CAPTURE(wish);
    Victim alice;
    const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
      connection.send("HTTP/1.1 503 Service Unavailable\r\nRetry-After: " + std::string(wish) +
                      "\r\nContent-Length: 0\r\n\r\n");
    });
    CHECK(isKept(ending));
    CHECK(ending.report.retryAfter.value_or(std::chrono::hours(0)) <= std::chrono::hours(1));
  }
}

TEST_CASE("hostile: every status without a word on the message: retires nothing") {
  for (const int status :
       {202, 206, 226, 299, 304, 401, 403, 404, 405, 407, 418, 429, 451, 500, 501, 502, 503, 504, 511, 599}) {
    CAPTURE(status);
    Victim alice;
    const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
      connection.send("HTTP/1.1 " + std::to_string(status) + " Whatever\r\nContent-Length: 0\r\n\r\n");
    });
    CHECK(isKept(ending));
  }
}

TEST_CASE(
    "hostile: an answer of garbage, with a negative length, or in HTTP/0.9: retires nothing, the peer counts as away") {
  keeps(RequestOutcome::peerUnavailable, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
  keeps(RequestOutcome::peerUnavailable, std::string("\0\x01\x02\xff\r\n\r\n", 8));
  keeps(RequestOutcome::peerUnavailable, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n");
  keeps(RequestOutcome::peerUnavailable, "<html></html>\r\n\r\n");
}

TEST_CASE("hostile: an answer with both Content-Length and Transfer-Encoding: retires nothing") {
  Victim alice;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    const std::string body = ackOf(alice.messageId());
    connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
  });
  CHECK(isKept(ending));
}

TEST_CASE("hostile: an answer cut off in its middle: retires nothing") {
  Victim alice;
  const Ending ending = alice.face([&](RawConnection& connection, const std::string&) {
    const std::string answer = answerOf(ackOf(alice.messageId()));
    connection.send(answer.substr(0, answer.size() - 1));
  });
  CHECK(isKept(ending));
  CHECK(ending.report.outcome == RequestOutcome::connectionLost);
}

}  // namespace
}  // namespace ackbox::testing::client_test
