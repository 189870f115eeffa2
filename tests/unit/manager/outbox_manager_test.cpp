// Goal: the manager's promises as its user sees them, whatever carries the frames.
// Method: a real file, a peer that answers as scripted, time that moves when told; one pass at a time.

#include "ackbox/outbox_manager.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::outbox_manager_test {
namespace {

using testing::ScriptedSender;

struct Outbox : testing::OutboxStage {
  Outbox() : Outbox(OutboxOptions{}) {}
  explicit Outbox(OutboxOptions given) : options(std::move(given)) { reopen(); }
  void reopen() {
    manager.reset();
    manager.emplace(open(options));
  }
  static Frame frame(const std::string& session, const std::string& data = "{}") {
    Frame made = OutboxStage::frame(session);
    made.data = data;
    return made;
  }

  OutboxOptions options;
  std::optional<OutboxManager> manager;
};

std::vector<std::uint64_t> sequences(const std::vector<OutboundFrame>& frames, const std::string& session) {
  std::vector<std::uint64_t> found;
  for (const OutboundFrame& frame : frames) {
    if (frame.session == session) {
      found.push_back(frame.sequence);
    }
  }
  return found;
}

TEST_CASE("an enqueued frame is pending, is sent with its exact bytes, and its ACK retires it") {
  Outbox box;
  const EnqueueReceipt receipt = box.manager->enqueue(Outbox::frame("s", R"({ "a" : 1.50 })"));
  CHECK(receipt.status == EnqueueStatus::stored);
  CHECK(receipt.sequence == 1);
  CHECK(receipt.isNew());
  REQUIRE(box.manager->find(receipt.messageId));
  CHECK(box.manager->find(receipt.messageId)->state == MessageState::pending);
  CHECK(box.manager->getStats().pending == 1);

  const DrainReport report = box.manager->drainOnce();
  CHECK(report.claimed == 1);
  CHECK(report.acked == 1);
  REQUIRE(box.sender->frames().size() == 1);
  CHECK(box.sender->frames()[0].data == R"({ "a" : 1.50 })");
  CHECK(box.sender->frames()[0].previousSequence == 0);
  CHECK_FALSE(box.manager->find(receipt.messageId));
  const Stats stats = box.manager->getStats();
  CHECK(stats.pending == 0);
  CHECK(stats.sending == 0);
  CHECK(stats.acked == 1);
  CHECK(stats.enqueued == 1);
}

TEST_CASE("refusals are values, name their reason and store nothing") {
  OutboxOptions options;
  options.frameBytesMax = 64;
  options.maxPending = 2;
  Outbox box(options);
  Frame frame = Outbox::frame("s", std::string(100, ' ') + "1");
  CHECK(box.manager->enqueue(frame).status == EnqueueStatus::frameTooLarge);
  frame = Outbox::frame("s", "{not json");
  CHECK(box.manager->enqueue(frame).status == EnqueueStatus::invalidFrame);
  frame = Outbox::frame("s");
  frame.type = "";
  const EnqueueReceipt untyped = box.manager->enqueue(frame);
  CHECK(untyped.status == EnqueueStatus::invalidFrame);
  CHECK(untyped.detail.find("type") != std::string::npos);
  frame = Outbox::frame("s");
  frame.peer = "nobody";
  CHECK(box.manager->enqueue(frame).status == EnqueueStatus::unknownPeer);
  frame = Outbox::frame("s");
  frame.id = "mine";
  CHECK(box.manager->enqueue(frame).status == EnqueueStatus::stored);
  const EnqueueReceipt again = box.manager->enqueue(frame);
  CHECK(again.status == EnqueueStatus::duplicate);
  CHECK(again.accepted());
  CHECK_FALSE(again.isNew());
  CHECK(box.manager->enqueue(Outbox::frame("s")).status == EnqueueStatus::stored);
  CHECK(box.manager->enqueue(Outbox::frame("s")).status == EnqueueStatus::queueFull);
  CHECK(box.manager->getStats().pending == 2);
}

TEST_CASE("a batch stores what it can, in one commit, with a receipt for each frame") {
  Outbox box;
  std::vector<Frame> frames = {Outbox::frame("a"), Outbox::frame("a", "{"), Outbox::frame("b"), Outbox::frame("a")};
  const std::vector<EnqueueReceipt> receipts = box.manager->enqueueBatch(frames);
  REQUIRE(receipts.size() == 4);
  CHECK(receipts[0].sequence == 1);
  CHECK(receipts[1].status == EnqueueStatus::invalidFrame);
  CHECK(receipts[2].sequence == 1);
  CHECK(receipts[3].sequence == 2);
  CHECK(box.manager->enqueueBatch({}).empty());
}

TEST_CASE("P4: a session's frames go in order, and its next frame waits while one is in backoff") {
  Outbox box;
  for (int index = 0; index < 3; ++index) {
    box.manager->enqueue(Outbox::frame("s"));
  }
  box.manager->enqueue(Outbox::frame("t"));
  box.sender->setScript([](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      if (request.frames[index].session == "s") {
        report.results[index].outcome = Outcome::nack;
        report.results[index].held = request.frames[index].sequence > 1;
      }
    }
    return report;
  });
  const DrainReport first = box.manager->drainOnce();
  CHECK(first.acked == 1);
  CHECK(first.retried == 1);
  CHECK(first.released == 2);
  CHECK(box.manager->drainOnce().claimed == 0);

  box.clock->advance(std::chrono::seconds(2));
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  CHECK(box.manager->drainOnce().acked == 3);
  CHECK(sequences(box.sender->frames(), "s") == std::vector<std::uint64_t>{1, 2, 3, 1, 2, 3});
  CHECK(box.manager->getStats().totalRetries == 1);
}

TEST_CASE("P3: a rejected frame becomes a dead letter with its reason, and the session passes its numbered gap") {
  Outbox box;
  std::vector<FailedEvent> failures;
  const Subscription subscription = box.manager->onFailed([&](const FailedEvent& event) { failures.push_back(event); });
  const std::string id = box.manager->enqueue(Outbox::frame("s")).messageId;
  box.sender->setScript(
      [](const SendRequest& request) { return ScriptedSender::all(request, Outcome::term, "bad-data"); });
  box.manager->drainOnce();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].messageId == id);
  CHECK(failures[0].reason == "bad-data");
  REQUIRE(box.manager->find(id));
  CHECK(box.manager->find(id)->state == MessageState::failed);
  CHECK(box.manager->find(id)->reason == "bad-data");

  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  box.manager->enqueue(Outbox::frame("s"));
  CHECK(box.manager->drainOnce().acked == 1);
  CHECK(box.sender->frames().back().sequence == 2);
  CHECK(box.sender->frames().back().previousSequence == 0);
  CHECK(box.manager->getStats().failed == 1);
}

TEST_CASE("P8: an outage charges no message, however long, and everything goes in order on return") {
  Outbox box;
  for (int index = 0; index < 20; ++index) {
    box.manager->enqueue(Outbox::frame("s" + std::to_string(index % 4)));
  }
  box.sender->setScript(
      [](const SendRequest&) { return ScriptedSender::failed(RequestOutcome::peerUnavailable, "connection refused"); });
  for (int probe = 0; probe < 300; ++probe) {
    box.manager->drainOnce();
    box.clock->advance(std::chrono::seconds(36));
  }
  CHECK(box.manager->getStats().totalRetries == 0);
  CHECK(box.manager->getStats().failed == 0);
  const std::size_t before = box.sender->frames().size();
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  for (int pass = 0; pass < 30; ++pass) {
    box.manager->drainOnce();
    box.clock->advance(std::chrono::seconds(36));
  }
  CHECK(box.manager->getStats().acked == 20);
  std::vector<OutboundFrame> after = box.sender->frames();
  after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(before));
  CHECK(sequences(after, "s0") == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
}

TEST_CASE("the retry budget ends in a dead letter") {
  OutboxOptions options;
  options.retry.maxRetries = 2;
  Outbox box(options);
  const std::string id = box.manager->enqueue(Outbox::frame("s")).messageId;
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::nack); });
  std::vector<std::uint32_t> retries;
  const Subscription subscription =
      box.manager->onRetry([&](const RetryEvent& event) { retries.push_back(event.retryCount); });
  for (int pass = 0; pass < 5; ++pass) {
    box.manager->drainOnce();
    box.clock->advance(std::chrono::minutes(2));
  }
  CHECK(retries == std::vector<std::uint32_t>{1, 2});
  CHECK(box.sender->requests() == 3);
  CHECK(box.manager->find(id)->reason == "retry-budget");
}

TEST_CASE("P3: what the receiver's limits refuse is kept for longer than a budget lasts, and says why it waits") {
  Outbox box;
  Frame frame = Outbox::frame("");
  const std::string alone = box.manager->enqueue(frame).messageId;
  const std::string id = box.manager->enqueue(Outbox::frame("s")).messageId;
  box.sender->setScript([](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::nack, "limit-marks");
    for (FrameResult& result : report.results) {
      result.detail = "no more is kept of this sender";
      result.retryAfter = std::chrono::minutes(1);
    }
    return report;
  });
  std::vector<RetryEvent> retries;
  const Subscription subscription = box.manager->onRetry([&](const RetryEvent& event) { retries.push_back(event); });
  for (int pass = 0; pass < 24 * 12; ++pass) {
    box.manager->drainOnce();
    box.clock->advance(std::chrono::minutes(5));
  }
  box.manager->drainOnce();
  CHECK(box.manager->getStats().failed == 0);
  CHECK(box.manager->getStats().totalRetries == 0);
  REQUIRE(retries.size() > 100);
  for (const RetryEvent& event : retries) {
    CHECK(event.retryCount == 0);
    CHECK(event.error == "limit-marks: no more is kept of this sender");
    CHECK(event.nextAttemptAt > WallTime());
  }
  for (const std::string& each : {alone, id}) {
    CHECK(box.manager->find(each)->lastError == "limit-marks: no more is kept of this sender");
    const auto explanation = box.manager->explain(each);
    REQUIRE(explanation);
    CHECK(explanation->sentence.find("not charged to the message: limit-marks: no more is kept of this sender") !=
          std::string::npos);
  }
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  box.clock->advance(std::chrono::minutes(5));
  CHECK(box.manager->drainOnce().acked == 2);
}

TEST_CASE("a deferred message is SENT until its ACK event, which retires it once") {
  Outbox box;
  std::vector<std::string> told;
  const Subscription sent =
      box.manager->onSent([&](const SentEvent& event) { told.push_back("sent " + event.messageId); });
  const Subscription acked =
      box.manager->onAcked([&](const AckedEvent& event) { told.push_back("acked " + event.messageId); });
  Frame frame = Outbox::frame("s");
  frame.id = "m1";
  box.manager->enqueue(frame);
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::defer); });
  CHECK(box.manager->drainOnce().deferred == 1);
  CHECK(box.manager->find("m1")->state == MessageState::sent);
  CHECK(box.manager->getStats().sent == 1);
  CHECK(box.manager->ack("m1"));
  CHECK_FALSE(box.manager->ack("m1"));
  CHECK_FALSE(box.manager->ack("never heard of"));
  CHECK(told == std::vector<std::string>{"sent m1", "acked m1"});
  CHECK(box.manager->getStats().acked == 1);
  CHECK(box.manager->getStats().sent == 0);
}

TEST_CASE("acknowledged rows are kept for their retention, and then go by themselves") {
  OutboxOptions options;
  options.ackedRetention = std::chrono::hours(1);
  Outbox box(options);
  const std::string kept = box.manager->enqueue(Outbox::frame("s")).messageId;
  box.manager->drainOnce();
  REQUIRE(box.manager->find(kept));
  CHECK(box.manager->find(kept)->state == MessageState::acked);
  CHECK(box.manager->getStats().pending == 0);
  box.clock->advance(std::chrono::hours(1));
  box.manager->enqueue(Outbox::frame("s"));
  box.manager->drainOnce();
  CHECK_FALSE(box.manager->find(kept));
}

TEST_CASE("an ACK event that comes before the request was answered is kept") {
  Outbox box;
  Frame frame = Outbox::frame("s");
  frame.id = "early";
  box.manager->enqueue(frame);
  CHECK(box.manager->ack("early"));
  CHECK(box.manager->getStats().acked == 1);
  CHECK(box.manager->drainOnce().claimed == 0);
}

TEST_CASE("P13: a deferred message whose deadline passes is sent again, which is a question and no retry") {
  Outbox box;
  std::vector<RetryEvent> events;
  const Subscription subscription =
      box.manager->onRetry([&events](const RetryEvent& event) { events.push_back(event); });
  box.manager->enqueue(Outbox::frame("s"));
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::defer); });
  box.manager->drainOnce();
  box.clock->advance(std::chrono::seconds(61));
  box.sender->setScript([](const SendRequest& request) { return ScriptedSender::all(request, Outcome::ack); });
  box.manager->drainOnce();
  box.manager->drainOnce();
  CHECK(box.manager->getStats().acked == 1);
  CHECK(box.manager->getStats().totalRetries == 0);
  REQUIRE(events.size() == 1);
  CHECK(events[0].asksAgain);
  CHECK(events[0].retryCount == 0);
  CHECK(events[0].error == "ack deadline");
}

TEST_CASE("an expired message fails with reason expired and is not sent") {
  Outbox box;
  Frame frame = Outbox::frame("s");
  frame.expiresAt = box.clock->wallNow() + std::chrono::seconds(10);
  const std::string id = box.manager->enqueue(frame).messageId;
  box.clock->advance(std::chrono::seconds(11));
  box.manager->drainOnce();
  CHECK(box.sender->frames().empty());
  CHECK(box.manager->find(id)->reason == "expired");
}

TEST_CASE("P7: what was pending survives a close and is delivered by the next open, in order and once") {
  Outbox box;
  for (int index = 0; index < 5; ++index) {
    box.manager->enqueue(Outbox::frame("s"));
  }
  box.reopen();
  CHECK(box.manager->getStats().pending == 5);
  CHECK(box.manager->drainOnce().acked == 5);
  CHECK(box.manager->drainOnce().claimed == 0);
  CHECK(sequences(box.sender->frames(), "s") == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  const EnqueueReceipt next = box.manager->enqueue(Outbox::frame("s"));
  CHECK(next.sequence == 6);
  CHECK(box.manager->drainOnce().acked == 1);
  CHECK(box.sender->frames().back().previousSequence == 5);
}

TEST_CASE("the seed's send function: success, retryable failure and final failure") {
  Outbox box;
  std::vector<std::string> seen;
  box.manager->setSendFunction([&](const std::string& session, const OutboundFrame& frame) -> SendFunctionResult {
    seen.push_back(session + frame.data);
    if (frame.data == "1") {
      return {true, "", false};
    }
    if (frame.data == "2") {
      return {false, "HTTP 500", true};
    }
    if (frame.data == "3") {
      throw std::runtime_error("surprise");
    }
    return {false, "HTTP 400", false};
  });
  box.manager->enqueue("a", "t", "1");
  box.manager->enqueue("b", "t", "2");
  box.manager->enqueue("c", "t", "3");
  const std::string refused = box.manager->enqueue("d", "t", "4").messageId;
  const DrainReport report = box.manager->drainOnce();
  CHECK(report.acked == 1);
  CHECK(report.retried == 2);
  CHECK(report.failed == 1);
  CHECK(box.manager->find(refused)->lastError == "HTTP 400");
  CHECK(seen == std::vector<std::string>{"a1", "b2", "c3", "d4"});
}

TEST_CASE("row 5: start and stop are idempotent; without a sender start says so") {
  Outbox box;
  box.manager->enqueue(Outbox::frame("s"));
  box.manager->start();
  box.manager->start();
  box.sender->waitForFrames(1);
  CHECK_THROWS_AS(box.manager->drainOnce(), Error);
  box.manager->stop();
  box.manager->stop();
  CHECK(box.manager->getStats().acked == 1);
  box.manager->enqueue(Outbox::frame("s"));
  box.manager->start();
  box.sender->waitForFrames(2);
  box.manager->stop();
  CHECK(box.manager->getStats().acked == 2);

  box.manager->setSender(nullptr);
  CHECK_THROWS_WITH_AS(box.manager->start(), doctest::Contains("setSender"), Error);
}

TEST_CASE("row 5: a stop puts back what was in flight, without a charge, after a bounded wait") {
  OutboxOptions options;
  options.stopTimeout = std::chrono::milliseconds(0);
  Outbox box(options);
  const auto silent = std::make_shared<testing::SilentSender>();
  box.manager->setSender(silent);
  const std::string id = box.manager->enqueue(Outbox::frame("s")).messageId;
  box.manager->start();
  silent->waitForFrames(1);
  const StopReport report = box.manager->stop();
  CHECK(report.abandonedRequests == 1);
  CHECK(report.released == 1);
  CHECK(box.manager->find(id)->state == MessageState::pending);
  CHECK(box.manager->find(id)->retryCount == 0);
}

TEST_CASE("a stop from a callback returns at once and takes effect behind it") {
  Outbox box;
  std::optional<StopReport> report;
  const Subscription subscription = box.manager->onAcked([&](const AckedEvent&) { report = box.manager->stop(); });
  box.manager->enqueue(Outbox::frame("s"));
  box.manager->start();
  box.sender->waitForFrames(1);
  while (box.manager->getStats().acked == 0) {
    std::this_thread::yield();
  }
  box.manager->stop();
  CHECK(report.has_value());
}

TEST_CASE("a sender that throws costs no message an attempt") {
  Outbox box;
  box.sender->setScript([](const SendRequest&) -> SendReport { throw std::runtime_error("broken"); });
  const std::string id = box.manager->enqueue(Outbox::frame("s")).messageId;
  CHECK(box.manager->drainOnce().released == 1);
  CHECK(box.manager->find(id)->retryCount == 0);
}

TEST_CASE("P7: a second manager on the file shares the work and never sends what the first has in flight") {
  OutboxOptions options;
  options.stopTimeout = std::chrono::milliseconds(0);
  Outbox box(options);
  const auto silent = std::make_shared<testing::SilentSender>();
  box.manager->setSender(silent);
  box.manager->enqueue(Outbox::frame("s"));
  box.manager->start();
  silent->waitForFrames(1);
  OutboxManager second = box.open(box.options);
  second.setSender(box.sender);
  CHECK(second.drainOnce().claimed == 0);
  const EnqueueReceipt receipt = second.enqueue(Outbox::frame("t"));
  CHECK(receipt.status == EnqueueStatus::stored);
  CHECK(second.drainOnce().acked == 1);
  CHECK(box.sender->frames().size() == 1);
  CHECK(box.sender->frames()[0].session == "t");
}

}  // namespace
}  // namespace ackbox::outbox_manager_test
