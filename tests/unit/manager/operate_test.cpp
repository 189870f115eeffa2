// Goal: what an operator does by hand, as its user sees it, with and without a run under way.
// Method: a real file, a peer that answers as scripted, time that moves when told.

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::operate_test {
namespace {

using testing::ScriptedSender;

struct Outbox : testing::OutboxStage {
  explicit Outbox(OutboxOptions options = {}) : manager(open(std::move(options))) {}

  std::string enqueue(const std::string& session, const std::string& id) {
    return manager.enqueue(frame(session, id)).messageId;
  }
  /// Frames whose type of answer is not told are acked.
  void answer(const std::string& id, Outcome outcome) {
    sender->setScript([id, outcome](const SendRequest& request) {
      SendReport report = ScriptedSender::all(request, Outcome::ack);
      for (std::size_t index = 0; index < request.frames.size(); ++index) {
        if (request.frames[index].messageId == id) {
          report.results[index].outcome = outcome;
          report.results[index].code = "rejected";
        }
      }
      return report;
    });
  }
  void ackAll() { answerAll(Outcome::ack); }
  void termAll() { answerAll(Outcome::term, "no"); }

  OutboxManager manager;
};

TEST_CASE("row 8: a redriven dead letter leaves its old number as a gap and goes at its session's tail, same id") {
  Outbox box;
  for (const char* id : {"a", "b", "c"}) {
    box.enqueue("s", id);
  }
  box.answer("b", Outcome::term);
  box.manager.drainOnce();
  REQUIRE(box.manager.find("b")->state == MessageState::failed);
  box.ackAll();
  const ChangeReceipt receipt = OutboxOperator(box.manager).retry("b");
  CHECK(receipt.done());
  CHECK(receipt.state == MessageState::failed);
  CHECK(receipt.sequence == 4);
  CHECK(box.manager.getStats().failed == 0);
  CHECK(box.manager.getStats().pending == 1);
  CHECK(box.manager.drainOnce().acked == 1);
  const auto frames = box.sender->frames();
  REQUIRE(frames.size() == 4);
  CHECK(frames[3].messageId == "b");
  CHECK(frames[3].sequence == 4);
  // The receiver stands at 3 and never saw 2 taken: a gap with a number, then the new number.
  CHECK(frames[3].previousSequence == 3);
  CHECK(frames[3].retryCount == 0);
  const Stats stats = box.manager.getStats();
  CHECK(stats.enqueued == 3);
  CHECK(stats.acked == 3);
  CHECK(stats.failedTotal == 1);
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("row 23: retry and discard of a live message and of an unknown one are refused as values") {
  Outbox box;
  box.enqueue("s", "live");
  for (const ChangeReceipt& receipt :
       {OutboxOperator(box.manager).retry("live"), OutboxOperator(box.manager).discard("live")}) {
    CHECK(receipt.refusal == Errc::invalidTransition);
    CHECK(receipt.state == MessageState::pending);
  }
  CHECK(OutboxOperator(box.manager).retry("nobody").refusal == Errc::unknownMessage);
  CHECK(OutboxOperator(box.manager).discard("nobody").refusal == Errc::unknownMessage);
  CHECK(OutboxOperator(box.manager).markFailed("nobody").refusal == Errc::unknownMessage);
  CHECK(box.manager.drainOnce().acked == 1);
}

TEST_CASE("row 22: reconcileFailed redrives what failed with few retries, retryFailed the rest, in their order") {
  OutboxOptions options;
  options.retry.maxRetries = 1;
  options.retry.delays = {std::chrono::milliseconds(0)};
  Outbox box(options);
  box.enqueue("s", "tried");
  box.answer("tried", Outcome::nack);
  box.manager.drainOnce();
  box.clock->advance(std::chrono::hours(2));
  box.manager.drainOnce();
  REQUIRE(box.manager.find("tried")->state == MessageState::failed);
  REQUIRE(box.manager.find("tried")->retryCount == 1);
  box.enqueue("s", "rejected");
  box.termAll();
  box.manager.drainOnce();

  CHECK(OutboxOperator(box.manager).reconcileFailed(0) == 0);
  CHECK(OutboxOperator(box.manager).reconcileFailed(1) == 1);
  CHECK(box.manager.find("rejected")->state == MessageState::pending);
  CHECK(box.manager.find("tried")->state == MessageState::failed);
  CHECK(OutboxOperator(box.manager).retryFailed({}) == 1);
  CHECK(box.manager.find("tried")->sequence == 4);
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("P9: more dead letters than one slice holds are all redriven once, and a run under way delivers them") {
  Outbox box;
  constexpr std::size_t kCount = 1'201;
  std::vector<Frame> frames(kCount);
  for (Frame& frame : frames) {
    frame.type = "test.event";
  }
  box.manager.enqueueBatch(frames);
  box.termAll();
  box.manager.drainOnce();
  while (box.manager.getStats().failed < kCount) {
    box.manager.drainOnce();
  }
  box.ackAll();
  box.manager.start();
  CHECK(OutboxOperator(box.manager).retryFailed({}) == kCount);
  box.sender->waitForFrames(2 * kCount);
  box.manager.stop();
  CHECK(box.manager.getStats().acked == kCount);
  const auto sent = box.sender->frames();
  for (std::size_t index = 0; index < kCount; ++index) {
    REQUIRE(sent[kCount + index].messageId == sent[index].messageId);
    REQUIRE(sent[kCount + index].sequence == kCount + index + 1);
  }
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("P9: of more dead letters than one slice holds those that a filter chooses are changed, and no others") {
  Outbox box;
  constexpr std::size_t kCount = 1'201;
  std::vector<Frame> frames(kCount);
  for (std::size_t index = 0; index < kCount; ++index) {
    frames[index].type = index % 2 == 0 ? "kept" : "chosen";
  }
  box.manager.enqueueBatch(frames);
  box.termAll();
  while (box.manager.getStats().failed < kCount) {
    box.manager.drainOnce();
  }
  DeadLetterFilter filter;
  filter.type = "chosen";
  CHECK(OutboxOperator(box.manager).discardFailed(filter) == kCount / 2);
  CHECK(box.manager.getStats().failed == kCount - kCount / 2);
  CHECK(OutboxOperator(box.manager).retryFailed(filter) == 0);
  filter.type = "kept";
  CHECK(OutboxOperator(box.manager).retryFailed(filter) == kCount - kCount / 2);
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("row 8: markFailed makes a pending message a dead letter, tells onFailed, and its session goes on") {
  Outbox box;
  box.enqueue("s", "a");
  box.enqueue("s", "b");
  std::vector<FailedEvent> events;
  const Subscription subscription = box.manager.onFailed([&](const FailedEvent& event) { events.push_back(event); });
  CHECK(OutboxOperator(box.manager).markFailed("a", "not-wanted").done());
  REQUIRE(events.size() == 1);
  CHECK(events[0].messageId == "a");
  CHECK(events[0].peer == "default");
  CHECK(events[0].session == "s");
  CHECK(events[0].sequence == 1);
  CHECK(events[0].reason == "not-wanted");
  CHECK(box.manager.find("a")->reason == "not-wanted");
  CHECK(box.manager.getStats().failedTotal == 1);
  CHECK(OutboxOperator(box.manager).markFailed("a").refusal == Errc::invalidTransition);
  CHECK(box.manager.drainOnce().acked == 1);
  CHECK(box.sender->frames()[0].messageId == "b");
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("row 8: the messages of a filter that wait become dead letters, each is told, and all others stay") {
  Outbox box;
  box.answer("deferred", Outcome::defer);
  box.enqueue("s", "deferred");
  box.manager.drainOnce();
  for (int count = 0; count < 1'200; ++count) {
    box.enqueue("s", "a" + std::to_string(count));
  }
  box.enqueue("t", "other");
  std::size_t told = 0;
  const Subscription subscription = box.manager.onFailed([&](const FailedEvent& event) {
    CHECK(event.reason == "not-wanted");
    ++told;
  });
  OutboxOperator changes(box.manager);
  CHECK_THROWS_WITH_AS(changes.markFailed(MessageFilter{.state = MessageState::failed}),
                       doctest::Contains("filter.state"), Error);
  MessageFilter filter{.state = MessageState::pending, .session = "s"};
  CHECK(changes.markFailed(filter, "not-wanted") == 1'200);
  CHECK(box.manager.find("deferred")->state == MessageState::sent);
  filter.state.reset();
  CHECK(changes.markFailed(filter, "not-wanted") == 1);
  CHECK(changes.markFailed(filter, "not-wanted") == 0);
  CHECK(told == 1'201);
  CHECK(box.manager.getStats().failed == 1'201);
  CHECK(box.manager.find("other")->state == MessageState::pending);
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("a run under way forgets a deferred message that is marked failed, and never sends it again") {
  OutboxOptions options;
  Outbox box(options);
  box.answer("a", Outcome::defer);
  box.enqueue("s", "a");
  box.manager.start();
  while (box.manager.getStats().sent == 0) {
    std::this_thread::yield();
  }
  CHECK(OutboxOperator(box.manager).markFailed("a").done());
  CHECK_FALSE(box.manager.ack("a"));
  box.clock->advance(2 * options.ackTimeout);
  box.ackAll();
  box.enqueue("s", "b");
  box.sender->waitForFrames(2);
  box.manager.stop();
  CHECK(box.sender->frames()[1].messageId == "b");
  CHECK(box.manager.getStats().staleSettles == 0);
  CHECK(box.manager.find("a")->state == MessageState::failed);
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("a message in flight cannot be marked failed") {
  OutboxOptions options;
  options.stopTimeout = std::chrono::milliseconds(0);
  Outbox box(options);
  const auto silent = std::make_shared<testing::SilentSender>();
  box.manager.setSender(silent);
  box.enqueue("s", "a");
  box.manager.start();
  silent->waitForFrames(1);
  const ChangeReceipt receipt = OutboxOperator(box.manager).markFailed("a");
  CHECK(receipt.refusal == Errc::invalidTransition);
  CHECK(receipt.state == MessageState::sending);
}

TEST_CASE("row 20: dead letters are listed and discarded by what they have in common") {
  Outbox box;
  box.enqueue("s", "a");
  box.enqueue("t", "b");
  OutboxOperator(box.manager).markFailed("a", "x");
  OutboxOperator(box.manager).markFailed("b", "y");
  DeadLetterFilter filter;
  filter.reason = "x";
  const DeadLetterPage page = OutboxReader(box.manager).deadLetters(filter);
  REQUIRE(page.messages.size() == 1);
  CHECK(page.messages[0].messageId == "a");
  CHECK(OutboxOperator(box.manager).discardFailed(filter) == 1);
  CHECK_FALSE(box.manager.find("a"));
  CHECK(OutboxOperator(box.manager).discard("b").done());
  CHECK(OutboxReader(box.manager).deadLetters({}).messages.empty());
  CHECK(box.manager.getStats().failed == 0);
}

TEST_CASE("P5: what is sent again is sent once more, in its order, and what was acknowledged meanwhile is not") {
  OutboxOptions options;
  options.ackedRetention = std::chrono::hours(24);
  Outbox box(options);
  const auto drain = [&box] {
    while (box.manager.drainOnce().acked != 0) {
    }
  };
  // More than a slice.
  for (int index = 0; index < 1'200; ++index) {
    box.enqueue(index % 2 == 0 ? "s" : "t", "m" + std::to_string(index));
  }
  drain();
  box.clock->advance(std::chrono::hours(2));
  const WallTime later = box.clock->wallNow();
  box.enqueue("s", "late");
  drain();
  OutboxOperator changes(box.manager);
  CHECK_THROWS_WITH_AS(changes.resend(MessageFilter{.state = MessageState::failed}), doctest::Contains("filter.state"),
                       Error);
  CHECK(changes.resend(MessageFilter{.type = "none"}) == 0);
  CHECK(changes.resend(MessageFilter{.session = "s", .since = later}) == 1);
  CHECK(box.manager.find("late")->state == MessageState::pending);
  CHECK(changes.resend(MessageFilter{.session = "s", .before = later}) == 600);
  const std::size_t before = box.sender->frames().size();
  drain();
  const auto frames = box.sender->frames();
  REQUIRE(frames.size() == before + 601);
  CHECK(frames[before].messageId == "late");
  CHECK(frames[before + 1].messageId == "m0");
  CHECK(frames[before + 600].messageId == "m1198");
  CHECK(frames[before + 600].sequence == 1'202);
  CHECK(changes.resend("m1").done());
  CHECK(changes.resend("m1").refusal == Errc::invalidTransition);
  CHECK(OutboxReader(box.manager).verify().clean());
}

TEST_CASE("row 22: cleanupDone deletes acknowledged rows of the age given, and no younger ones") {
  OutboxOptions options;
  options.ackedRetention = std::chrono::hours(24);
  Outbox box(options);
  box.enqueue("s", "old");
  box.manager.drainOnce();
  box.clock->advance(std::chrono::hours(2));
  box.enqueue("s", "young");
  box.manager.drainOnce();
  REQUIRE(box.manager.find("old")->state == MessageState::acked);
  CHECK(OutboxOperator(box.manager).cleanupDone(std::chrono::hours(3)) == 0);
  CHECK(OutboxOperator(box.manager).cleanupDone(std::chrono::hours(1)) == 1);
  CHECK_FALSE(box.manager.find("old"));
  CHECK(box.manager.find("young"));
  CHECK(OutboxReader(box.manager).verify().clean());
}

}  // namespace
}  // namespace ackbox::operate_test
