// Goal: what a hub says is taken where it has the agreed form, and nowhere else. Method: lines and answers as tables.
// What an answer of the handler means for the hub is in tests/unit/transport/mailbox_test.cpp, as conversations.

#include "protocol/mailbox.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ackbox::protocol::mailbox_test {

TEST_CASE("P11: a line that is no frame with a receipt, an id and a source is refused") {
  const std::string event = R"({"id":"a\u00e9","source":"urn:a","data": [1, 2]})";
  const std::optional<MailboxFrame> frame = readMailboxLine(R"({"run":1,"event":)" + event + R"(,"receipt":"r"})");
  REQUIRE(frame);
  CHECK(frame->receipt == "r");
  CHECK(frame->event == event);
  CHECK(frame->id == "a\xc3\xa9");
  CHECK(frame->source == "urn:a");
  for (const char* const line :
       {"", "[]", R"({"receipt":"r"})", R"({"receipt":"r","event":1})",
        R"({"receipt":"","event":{"id":"a","source":"b"}})", R"({"receipt":1,"event":{"id":"a","source":"b"}})",
        R"({"event":{"id":"a","source":"b"}})", R"({"receipt":"r","event":{"source":"b"}})",
        R"({"receipt":"r","event":{"id":"a"}})", R"({"receipt":"r","event":{"id":"a","source":"b"}} {})",
        R"({"receipt":"r","receipt":"s","event":{"id":"a","source":"b"}})"}) {
    CHECK_MESSAGE(!readMailboxLine(line), line);
  }
}

TEST_CASE("P4: a frame of a session has an epoch, and follows what its agent has accepted where earlier frames ended") {
  const std::string event =
      R"({"id":"m","source":"urn:a","sessionid":"s","sessionorigin":"o","sessionseq":"7","sessionprev":"6","data":1})";
  std::optional<MailboxFrame> frame = readMailboxLine(R"({"receipt":"r","event":)" + event + "}");
  REQUIRE(frame);
  CHECK(frame->event == R"({"sessionepoch":"0",)" + event.substr(1));
  InboundResponse response;
  response.status = 422;
  response.contentType = "application/json";
  const auto answer = [&](const std::string& code, int accepted) {
    response.body = R"({"outbox":"1","delivery":"m","results":[{"id":"m","outcome":"nack","code":")" + code +
                    R"("}],"sessions":[{"id":"s","accepted":")" + std::to_string(accepted) + R"(","settled":"0"}]})";
    return verdictOf(*frame, response);
  };
  CHECK(answer("not-now", 4).action == MailboxAction::settle);
  const MailboxVerdict verdict = answer("out-of-sequence", 4);
  REQUIRE(verdict.action == MailboxAction::follow);
  follow(*frame, verdict.accepted);
  CHECK(frame->event.find(R"("sessionseq":"7","sessionprev":"4","data":1})") != std::string::npos);
  // Once for each number, so that it cannot go on for ever.
  CHECK(answer("out-of-sequence", 4).action == MailboxAction::settle);
  CHECK_FALSE(readMailboxLine(R"({"receipt":"r","event":{"id":"m","source":"a","sessionseq":"7","sessionprev":"7"}})"));
}

TEST_CASE("P3: an answer to settlements counts only with one status for each of them") {
  const auto answer = [](const std::string& results) { return R"({"results":[)" + results + "]}"; };
  const std::string one = R"({"receipt":"a","status":"settled"})";
  const std::string gone = R"({"receipt":"b","status":"gone"})";
  CHECK(readSettleAnswer(answer(one + "," + gone), 2) == 1);
  CHECK(readSettleAnswer(answer(gone), 1) == 0);
  for (const std::string& other :
       {std::string(), std::string("<html>"), answer(""), answer(one), answer(one + "," + one + "," + one),
        answer(one + R"(,{"status":"fine"})"), answer(one + ",1")}) {
    CHECK_MESSAGE(!readSettleAnswer(other, 2), other);
  }
}

TEST_CASE("A result that a hub would refuse is left out of its ACK, which stays an ACK") {
  MailboxFrame frame;
  frame.id = "m";
  const auto settled = [&](const std::string& result) {
    InboundResponse response;
    response.contentType = "application/json";
    response.body = R"({"outbox":"1","delivery":"m","results":[{"id":"m","outcome":"ack","result":)" + result + "}]}";
    return verdictOf(frame, response).settlement;
  };
  CHECK(settled("[1]") == R"("outcome":"ack","result":[1])");
  CHECK(settled("\"" + std::string(kSettledResultBytesMax, 'x') + "\"") == R"("outcome":"ack")");
}

TEST_CASE("The target of a stream has its agent percent-encoded") {
  CHECK(mailboxTarget("", "", 64) == "/v1/inbox/stream?window=64");
  CHECK(mailboxTarget("/a", "urn:agent:x&window=1#\xc3\xa9", 2) ==
        "/a/v1/inbox/stream?mailbox=urn%3Aagent%3Ax%26window%3D1%23%C3%A9&window=2");
}

}  // namespace ackbox::protocol::mailbox_test
