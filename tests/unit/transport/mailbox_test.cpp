// Goal: a mailbox's frames reach the handler as they came, their outcomes reach the hub once they are final, and no
// trouble of the line, the hub or the handler loses or refuses a frame. Method: a hub that speaks and breaks off byte
// for byte on loopback, a handler that answers as the test says, and a clock that the test moves; each test reads as
// the conversation.

#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "unit/transport/mailbox_stage.hpp"

namespace ackbox::transport::mailbox_test {
namespace {

using testing::answerOf;
using testing::eventOf;
using testing::lineOf;
using testing::MailboxStage;
using testing::RawConnection;
using testing::ScriptedHandler;
using testing::settled;
using namespace std::chrono_literals;

FrameResult resultOf(Outcome outcome, const std::string& code, const std::string& detail = {}) {
  FrameResult result;
  result.outcome = outcome;
  result.code = code;
  result.detail = detail;
  return result;
}

TEST_CASE("P5: a fetched frame reaches the handler as it came, and its outcome reaches the hub") {
  MailboxStage stage;
  stage.options.token = SecretSource::fixed({Secret("carol-token")});
  stage.start();
  std::string request;
  RawConnection stream = stage.hub.stream(&request);
  CHECK(request.starts_with("GET /v1/inbox/stream?mailbox=urn%3Aagent%3Acarol&window=64 HTTP/1.1\r\n"));
  CHECK(request.find("\r\nAuthorization: Bearer carol-token\r\n") != std::string::npos);
  // Split in the middle, and behind an empty line.
  const std::string line = lineOf("m-1", "r-1");
  stream.send("\n" + line.substr(0, 20));
  stream.awaitDelivery();
  stream.send(line.substr(20));
  const ScriptedHandler::Call call = stage.handler->take();
  CHECK(call.request.body == eventOf("m-1"));
  CHECK(call.request.contentType == "application/cloudevents+json");
  CHECK(call.request.fetchedFrom == "urn:agent:alice");
  FrameResult done;
  done.outcome = Outcome::ack;
  done.result = R"({"total": 42})";
  call.answer(done);
  RawConnection settling = stage.hub.accept();
  const std::string head = settling.receiveUntil("\r\n\r\n");
  CHECK(head.starts_with("POST /v1/inbox/settle HTTP/1.1\r\n"));
  CHECK(head.find("\r\nAuthorization: Bearer carol-token\r\n") != std::string::npos);
  const std::string body = R"({"settlements":[{"receipt":"r-1","outcome":"ack","result":{"total": 42}}]})";
  CHECK(settling.receiveExactly(body.size()) == body);
  settling.send(answerOf(200, R"({"results":[{"receipt":"r-1","status":"settled"}]})"));
  CHECK(testing::comesTo([&] { return stage.board->status().settled == 1; }));
  CHECK(stage.board->status().inHand == 0);
  CHECK(stage.lastState() == "fetching");
}

TEST_CASE("P5: a deferred frame is not reported before it took effect; it is handed in again until then") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1"));
  SteadyTime before{};
  for (const auto pause : {0ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }));
    const ScriptedHandler::Call call = stage.handler->take();
    CHECK(call.request.body == eventOf("m-1"));
    CHECK((pause == 0ms || call.at - before >= pause));
    before = call.at;
    call.answer(Outcome::defer);
    stream.send("\n");
  }
  CHECK_FALSE(stage.hub.isCalledWithin(0ms));
  REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }));
  stage.handler->take().answer(Outcome::ack);
  RawConnection settling = stage.hub.accept();
  CHECK(settled(settling, {"r-1"}) == R"({"settlements":[{"receipt":"r-1","outcome":"ack"}]})");
}

TEST_CASE("P3: only a term of the handler is a reject; a charged nack is a retry, and any other is handed in again") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1"));
  stage.handler->take().answer(resultOf(Outcome::term, "no-order", "no such order"));
  RawConnection settling = stage.hub.accept();
  CHECK(settled(settling, {"r-1"}) ==
        R"({"settlements":[{"receipt":"r-1","outcome":"reject","reason":"no such order","code":"no-order"}]})");
  stream.send(lineOf("m-2", "r-2"));
  FrameResult later = resultOf(Outcome::nack, "", "locked");
  later.retryAfter = 1500ms;
  stage.handler->take().answer(later);
  CHECK(settled(settling, {"r-2"}) ==
        R"({"settlements":[{"receipt":"r-2","outcome":"retry","reason":"locked","after":"1500ms"}]})");
  stream.send(lineOf("m-3", "r-3"));
  for (const char* const code : {"limit-sessions", "inbox-full"}) {
    REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }));
    stage.handler->take().answer(resultOf(Outcome::nack, code));
  }
  REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }));
  stage.handler->take().answer(Outcome::ack);
  CHECK(settled(settling, {"r-3"}) == R"({"settlements":[{"receipt":"r-3","outcome":"ack"}]})");
}

TEST_CASE("P3: a handler that is away, or refuses a request as a whole, costs no frame") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1"));
  stage.handler->take().respond(protocol::unavailable(false, "The database is busy."));
  REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }));
  CHECK(stage.refusalCount() == 0);
  SteadyTime before{};
  std::size_t told = 0;
  for (const int status : {401, 403, 400, 413, 415}) {
    REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }));
    const ScriptedHandler::Call call = stage.handler->take();
    CHECK((told == 0 || call.at - before >= 1s));
    before = call.at;
    call.respond(protocol::problem(status, "Refused", "Not this one."));
    stream.send("\n");
    ++told;
    CHECK(testing::comesTo([&] { return stage.refusalCount() == told; }));
  }
  CHECK(stage.refusals.front().starts_with("urn:agent:alice m-1 no peer of the handler has the source"));
  CHECK(stage.refusals.at(1) == "urn:agent:alice m-1 HTTP 403: Refused: Not this one.");
  CHECK_FALSE(stage.hub.isCalledWithin(0ms));
  REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 1; }, 100ms));
  stage.handler->take().answer(Outcome::ack);
  RawConnection settling = stage.hub.accept();
  CHECK(settled(settling, {"r-1"}) == R"({"settlements":[{"receipt":"r-1","outcome":"ack"}]})");
}

TEST_CASE("P11: a hub that sends nothing but empty lines loses its stream; a few of them are none too many") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  for (int look = 0; look < 4; ++look) {
    stage.clock->advance(20s);
    stream.send(std::string(400, '\n') + lineOf("m-" + std::to_string(look), "r"));
    static_cast<void>(stage.handler->take());
  }
  CHECK(stage.lastState() == "fetching");
  stream.send(std::string(2'000, '\n'));
  CHECK(testing::comesTo([&] { return stage.lastState().find("nothing but empty lines") != std::string::npos; }));
}

TEST_CASE("P12: frames that the handler refuses take half of the window at most") {
  MailboxStage stage(4);
  stage.start();
  RawConnection stream = stage.hub.stream();
  for (const char* const number : {"1", "2", "3"}) {
    stream.send(lineOf(std::string("m-") + number, std::string("r-") + number));
    stage.handler->take().respond(protocol::problem(403, "Refused", "Not this one."));
  }
  RawConnection settling = stage.hub.accept();
  CHECK(settled(settling, {"r-3"}) ==
        R"({"settlements":[{"receipt":"r-3","outcome":"retry","reason":"HTTP 403: Refused: Not this one.",)"
        R"("after":"60000ms"}]})");
  CHECK(testing::comesTo([&] { return stage.board->status().inHand == 2; }));
  CHECK(stage.board->status().refusedInHand == 2);
  REQUIRE(stage.passesUntil([&] { return stage.handler->waiting() == 2; }, 100ms));
  stage.handler->take().answer(Outcome::ack);
  CHECK(settling.receiveMessage().find("\"outcome\":\"ack\"") != std::string::npos);
  settling.send(answerOf(200, R"({"results":[{"receipt":"r-1","status":"settled"}]})"));
  CHECK(testing::comesTo([&] { return stage.board->status().refusedInHand == 1; }));
}

TEST_CASE("Outcomes that come while a request is under way go together in the next one, and a failed one is repeated") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1") + lineOf("m-2", "r-2") + lineOf("m-3", "r-3"));
  stage.handler->take().answer(Outcome::ack);
  RawConnection settling = stage.hub.accept();
  const std::string first = settling.receiveMessage();
  CHECK(first.ends_with(R"({"settlements":[{"receipt":"r-1","outcome":"ack"}]})"));
  const ScriptedHandler::Call second = stage.handler->take();
  second.answer(Outcome::ack);
  stage.handler->take().answer(Outcome::ack);
  CHECK(testing::comesTo([&] { return stage.board->status().fetched == 3; }));
  settling.send(answerOf(503, R"({"detail":"The file is busy."})", "application/problem+json"));
  CHECK(stage.becomes("fetching: outcomes cannot be reported: HTTP 503: The file is busy."));
  // The pauses are over at once, or after the first look.
  const std::string all = R"({"settlements":[{"receipt":"r-1","outcome":"ack"},{"receipt":"r-2","outcome":"ack"},)"
                          R"({"receipt":"r-3","outcome":"ack"}]})";
  REQUIRE(stage.passesUntil([&] { return settling.hasNewsWithin(0ms); }));
  CHECK(settled(settling, {"r-1", "r-2", "r-3"}) == all);
  CHECK(testing::comesTo([&] { return stage.board->status().settled == 3; }));
  CHECK(stage.becomes("fetching"));
}

TEST_CASE("P3: a hub that refuses the code of a reject gets it in the reason") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1"));
  stage.handler->take().answer(resultOf(Outcome::term, "no-order", "no such \"order\""));
  RawConnection settling = stage.hub.accept();
  CHECK(settling.receiveMessage().ends_with(R"("code":"no-order"}]})"));
  settling.send(answerOf(422, R"({"detail":"there is no member 'code' of a settlement"})"));
  REQUIRE(stage.passesUntil([&] { return settling.hasNewsWithin(0ms); }));
  CHECK(settled(settling, {"r-1"}) ==
        R"({"settlements":[{"receipt":"r-1","outcome":"reject","reason":"no-order: no such \"order\""}]})");
}

TEST_CASE("P12: an outcome that the hub does not accept holds no other back") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1"));
  stage.handler->take().answer(Outcome::ack);
  RawConnection settling = stage.hub.accept();
  CHECK(settling.receiveMessage().ends_with(R"("r-1","outcome":"ack"}]})"));
  stream.send(lineOf("m-2", "r-2"));
  stage.handler->take().answer(Outcome::ack);
  settling.send(answerOf(422, R"({"detail":"no"})"));
  REQUIRE(stage.passesUntil([&] { return settling.hasNewsWithin(0ms); }));
  CHECK(settled(settling, {"r-2"}) == R"({"settlements":[{"receipt":"r-2","outcome":"ack"}]})");
  CHECK(settled(settling, {"r-1"}) == R"({"settlements":[{"receipt":"r-1","outcome":"ack"}]})");
}

TEST_CASE(
    "P5: a stream that is lost is opened again, after pauses that double, and what took effect is still reported") {
  MailboxStage stage;
  stage.start();
  std::string ofHandler;
  {
    RawConnection stream = stage.hub.stream();
    stream.send(lineOf("m-1", "r-1") + lineOf("m-2", "r-2"));
    stage.handler->take().answer(Outcome::defer);
    REQUIRE(testing::comesTo([&] { return stage.handler->waiting() == 1; }));
    stream.reset();
  }
  REQUIRE(testing::comesTo([&] { return stage.board->status().state == MailboxState::away; }));
  // The deferred frame is dropped: the hub gives it out again.
  CHECK(stage.board->status().inHand == 1);
  stage.handler->take().answer(Outcome::ack);
  RawConnection settling = stage.hub.accept();
  CHECK(settled(settling, {"r-2"}) == R"({"settlements":[{"receipt":"r-2","outcome":"ack"}]})");
  for (const auto pause : {500ms, 1000ms, 2000ms}) {
    const SteadyTime before = stage.clock->steadyNow();
    REQUIRE(stage.passesUntil([&] { return stage.hub.isCalledWithin(0ms); }));
    CHECK(stage.clock->steadyNow() - before >= pause - 10ms);
    stage.hub.accept().reset();
    REQUIRE(testing::comesTo([&] { return stage.board->status().state == MailboxState::away; }));
  }
  CHECK(stage.handler->waiting() == 0);
}

TEST_CASE("P13: a stream without a byte for thirty seconds is given up, and one with empty lines is not") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  REQUIRE(stage.becomes("fetching"));
  for (int look = 0; look < 4; ++look) {
    stage.clock->advance(20s);
    stream.send(lineOf("m-" + std::to_string(look), "r"));
    static_cast<void>(stage.handler->take());
  }
  CHECK(stage.lastState() == "fetching");
  stage.clock->advance(30s);
  CHECK(testing::comesTo([&] { return stage.lastState().ends_with(": no byte within 30 s"); }));
  CHECK(stream.receiveAll().empty());
}

TEST_CASE("P13: an answer that is never whole is given up, however often a byte of it comes") {
  MailboxStage stage;
  stage.start();
  RawConnection connection = stage.hub.accept();
  static_cast<void>(connection.receiveUntil("\r\n\r\n"));
  SUBCASE("its head has no end") {
    connection.send("HTTP/1.1 200 OK\r\nX-Long: ");
  }
  SUBCASE("it is a refusal") {
    connection.send("HTTP/1.1 404 Said\r\nContent-Length: 1000\r\n\r\n");
  }
  stage.clock->advance(20s);
  connection.send("x");
  stage.clock->advance(20s);
  CHECK(testing::comesTo([&] { return stage.lastState().ends_with(": no whole answer within 30 s"); }));
  CHECK(connection.receiveAll().empty());
}

TEST_CASE("P13: a page that is no stream of frames is not shown as fetching, whatever its status") {
  MailboxStage stage;
  stage.start();
  RawConnection connection = stage.hub.accept();
  static_cast<void>(connection.receiveUntil("\r\n\r\n"));
  connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n\n\n");
  CHECK(testing::comesTo([&] { return stage.board->status().state == MailboxState::away; }));
  CHECK(stage.lastState().find("HTTP 200 with content of type 'text/html'") != std::string::npos);
  CHECK(connection.receiveAll().empty());
}

TEST_CASE("P11: a hub that gives frames and takes no outcomes loses its stream; what waits for it has a bound") {
  MailboxStage stage(1);
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-0", "r-0"));
  stage.handler->take().answer(Outcome::ack);
  // Never answered.
  const RawConnection settling = stage.hub.accept();
  for (const char* const number : {"1", "2", "3", "4"}) {
    stream.send(lineOf("m-" + std::string(number), "r"));
    stage.handler->take().answer(Outcome::ack);
  }
  CHECK(stage.lastState() == "fetching");
  stream.send(lineOf("m-5", "r-5"));
  CHECK(testing::comesTo([&] { return stage.lastState().ends_with(": the hub gives frames and takes no outcomes"); }));
  CHECK(stream.receiveAll().empty());
  CHECK(stage.handler->waiting() == 0);
}

TEST_CASE("P11: a line that is too long, or no frame, or beyond the window, ends the stream") {
  MailboxStage stage(1);
  std::string line;
  std::string what;
  SUBCASE("too long, without an end") {
    line = std::string(5000, 'x');
    what = "a line of the stream has more than 4096 bytes";
  }
  SUBCASE("no JSON") {
    line = "frame\n";
    what = "a line of the stream is no frame";
  }
  SUBCASE("no receipt") {
    line = "{\"event\":" + eventOf("m-1") + "}\n";
    what = "a line of the stream is no frame";
  }
  SUBCASE("one too many") {
    line = lineOf("m-1", "r-1") + lineOf("m-2", "r-2");
    what = "the hub gives more frames than the window allows";
  }
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(line);
  CHECK(testing::comesTo([&] { return stage.lastState().find(what) != std::string::npos; }));
  CHECK(stream.receiveAll().empty());
}

TEST_CASE("P13: a hub that refuses is told of by its text and asked slowly, each time with the token of now") {
  MailboxStage stage;
  std::atomic<int> token = 1;
  stage.options.token =
      SecretSource::callback([&token] { return std::vector<Secret>{Secret("token-" + std::to_string(token.load()))}; });
  stage.start();
  for (const auto pause : {0ms, 5000ms, 10'000ms, 20'000ms, 40'000ms, 60'000ms}) {
    const SteadyTime before = stage.clock->steadyNow();
    REQUIRE(stage.passesUntil([&] { return stage.hub.isCalledWithin(0ms); }, 100ms));
    CHECK(stage.clock->steadyNow() - before >= (pause == 0ms ? 0ms : pause - 200ms));
    RawConnection connection = stage.hub.accept();
    const std::string head = connection.receiveUntil("\r\n\r\n");
    CHECK(head.find("Bearer token-" + std::to_string(token.load()) + "\r\n") != std::string::npos);
    ++token;
    connection.send(
        answerOf(401, R"({"title":"Unauthorized","detail":"The token is unknown."})", "application/problem+json"));
    CHECK(connection.receiveAll().empty());
    REQUIRE(testing::comesTo([&] { return stage.board->status().state == MailboxState::refused; }));
  }
  CHECK(stage.lastState() == "refused: " + stage.hub.url().substr(7) + ": HTTP 401: The token is unknown.");
}

TEST_CASE("P3: after a stop nothing is handed in or reported, and answers that come late are dropped") {
  MailboxStage stage;
  stage.start();
  RawConnection stream = stage.hub.stream();
  stream.send(lineOf("m-1", "r-1"));
  const ScriptedHandler::Call call = stage.handler->take();
  stage.stop();
  CHECK(stream.receiveAll().empty());
  call.answer(Outcome::ack);
  stage.io.finish();
  CHECK_FALSE(stage.hub.isCalledWithin(0ms));
}

}  // namespace
}  // namespace ackbox::transport::mailbox_test
