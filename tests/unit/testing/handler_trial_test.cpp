// Goal: one frame, one call: what the handler returned, enqueued and wrote, as far as it was committed.
// Method: small handlers on a table.

#include "ackbox/testing/handler_trial.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace ackbox::testing::handler_trial_test {
namespace {

using Lines = std::vector<std::string>;

const HandlerTrialOptions kOptions = {.schema =
                                          "CREATE TABLE account(owner, balance); INSERT INTO account VALUES('a', 5)"};

HandlerResult book(const InboundFrame& frame, InboundTransaction& transaction) {
  transaction.database().exec("UPDATE account SET balance = balance + " + frame.data);
  transaction.enqueue({.peer = "alice", .type = "booked", .data = frame.data, .correlationId = frame.id});
  return HandlerResult::ack(R"({"ok":true})");
}

}  // namespace

TEST_CASE("what was written and enqueued is shown") {
  HandlerTrial trial(kOptions);
  const HandlerTrialResult result = trial.run(book, {.data = "7"});
  CHECK(result.wasCalled);
  CHECK(result.thrown.empty());
  CHECK(result.result.outcome == Outcome::ack);
  CHECK(result.answer.outcome == Outcome::ack);
  CHECK(result.answer.result == R"({"ok":true})");
  CHECK(result.written == Lines{"- account: owner=a, balance=5", "+ account: owner=a, balance=12"});
  REQUIRE(result.enqueued.size() == 1);
  CHECK(result.enqueued[0].peer == "alice");
  CHECK(result.enqueued[0].correlationId == "frame-1");
  CHECK_FALSE(result.enqueued[0].id.empty());
}

TEST_CASE("what is not acknowledged leaves nothing behind") {
  HandlerTrial trial(kOptions);
  for (const auto& answer : {HandlerResult::notNow("later"), HandlerResult::reject("never"), HandlerResult::defer()}) {
    const auto handler = [&](const InboundFrame& frame, InboundTransaction& transaction) {
      book(frame, transaction);
      return answer;
    };
    const HandlerTrialResult result = trial.run(handler, {.data = "7"});
    CHECK(result.result.outcome == answer.outcome);
    CHECK(result.answer.outcome == answer.outcome);
    CHECK(result.written.empty());
    CHECK(result.enqueued.empty());
  }
  const auto throws = [](const InboundFrame& frame, InboundTransaction& transaction) -> HandlerResult {
    book(frame, transaction);
    throw std::runtime_error("no such owner");
  };
  const HandlerTrialResult result = trial.run(throws, {.data = "7"});
  CHECK(result.thrown == "no such owner");
  CHECK(result.result.outcome == Outcome::nack);
  CHECK(result.answer.code == "handler-error");
  CHECK(result.written.empty());
  CHECK(result.enqueued.empty());
}

TEST_CASE("frames of a session follow each other, and a duplicate is not handled") {
  HandlerTrial trial(kOptions);
  const HandlerTrialResult first = trial.run(book, {.id = "x", .data = "1", .session = "s"});
  CHECK_MESSAGE(first.answer.outcome == Outcome::ack, first.answer.detail);
  CHECK(trial.run(book, {.id = "y", .data = "2", .session = "s"}).answer.outcome == Outcome::ack);
  const HandlerTrialResult again =
      trial.run(book, {.id = "y", .data = "2", .session = "s", .sequence = 2, .previousSequence = 1});
  CHECK_FALSE(again.wasCalled);
  CHECK(again.answer.outcome == Outcome::ack);
  CHECK(again.answer.duplicate);
  CHECK(again.written.empty());
  CHECK(trial.run(book, {.id = "z", .data = "3", .session = "s"}).wasCalled);
  CHECK(trial.database().execAndGet("SELECT balance FROM account").getInt() == 11);
}

TEST_CASE("an expired frame and a frame for another agent do not reach the handler") {
  HandlerTrial trial(kOptions);
  InboundFrame old = {.data = "1"};
  old.expiresAt = WallTime(std::chrono::milliseconds(1));
  CHECK(trial.run(book, old).answer.code == "expired");
  const HandlerTrialResult other = trial.run(book, {.data = "1", .audience = "urn:agent:other"});
  CHECK_FALSE(other.wasCalled);
  CHECK(other.answer.code == "wrong-audience");
}

TEST_CASE("what was published is shown for all subscribers, of which a trial has none, and what was refused is not") {
  HandlerTrial trial(kOptions);
  const auto handler = [](const InboundFrame&, InboundTransaction& transaction) {
    CHECK(transaction.publish({.type = "t", .data = "7"}).status == PublishStatus::noSubscriber);
    CHECK(transaction.publish({.type = "t", .data = "{"}).status == PublishStatus::invalidFrame);
    return HandlerResult::ack();
  };
  const HandlerTrialResult result = trial.run(handler, {});
  REQUIRE(result.enqueued.size() == 1);
  CHECK(result.enqueued[0].peer == "*");
  CHECK(result.enqueued[0].data == "7");
}

TEST_CASE("an enqueue that is refused is not shown") {
  HandlerTrial trial(kOptions);
  const auto handler = [](const InboundFrame&, InboundTransaction& transaction) {
    CHECK(transaction.enqueue({.peer = "nobody", .type = "t"}).status == EnqueueStatus::unknownPeer);
    return HandlerResult::ack();
  };
  CHECK(trial.run(handler, {}).enqueued.empty());
}

}  // namespace ackbox::testing::handler_trial_test
