// Goal: what a frame may ask for, as a user of the manager sees it.
// Method: a real file, a peer that answers as scripted, time that moves when told.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::frame_wishes_test {
namespace {

using namespace std::chrono_literals;
using testing::ScriptedSender;

struct Box : testing::OutboxStage {
  static Frame frame(const std::string& id, const std::string& session = "s") {
    return OutboxStage::frame(session, id);
  }

  std::optional<OutboxManager> manager = open();
};

TEST_CASE("row 21: a batch tells of each frame whether it is new, also of two with one key") {
  Box box;
  std::vector<Frame> batch = {Box::frame("a"), Box::frame("b"), Box::frame("c"), Box::frame("a")};
  batch[0].idempotencyKey = "k";
  batch[1].idempotencyKey = "k";
  const std::vector<EnqueueReceipt> receipts = box.manager->enqueueBatch(batch);
  REQUIRE(receipts.size() == 4);
  CHECK(receipts[0].isNew());
  CHECK_FALSE(receipts[1].isNew());
  CHECK(receipts[1].messageId == "a");
  CHECK(receipts[1].sequence == 1);
  CHECK(receipts[2].isNew());
  CHECK(receipts[2].sequence == 2);
  CHECK(receipts[3].status == EnqueueStatus::duplicate);
  CHECK(box.manager->getStats().pending == 2);
}

TEST_CASE("row 17: a second enqueue with the same idempotency key is ignored, also after the ACK") {
  Box box;
  Frame frame = Box::frame("first");
  frame.idempotencyKey = "order-7";
  CHECK(box.manager->enqueue(frame).isNew());
  CHECK(box.manager->drainOnce().acked == 1);
  frame.id = "second";
  const EnqueueReceipt again = box.manager->enqueue(frame);
  CHECK_FALSE(again.isNew());
  CHECK(again.messageId == "first");
  CHECK(box.manager->drainOnce().claimed == 0);
}

TEST_CASE("row 16: unordered frames carry no session, and one that is refused for now holds up no other") {
  Box box;
  box.sender->setScript([](const SendRequest& request) {
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      if (request.frames[index].messageId == "b") {
        report.results[index].outcome = Outcome::nack;
      }
    }
    return report;
  });
  std::vector<std::string> retried;
  const Subscription subscription =
      box.manager->onRetry([&](const RetryEvent& event) { retried.push_back(event.peer + "/" + event.messageId); });
  for (const char* id : {"a", "b", "c"}) {
    const EnqueueReceipt receipt = box.manager->enqueue(Box::frame(id, ""));
    CHECK(receipt.sequence == 0);
  }
  const DrainReport report = box.manager->drainOnce();
  CHECK(report.acked == 2);
  CHECK(report.retried == 1);
  CHECK(retried == std::vector<std::string>{"default/b"});
  for (const OutboundFrame& sent : box.sender->frames()) {
    CHECK(sent.session.empty());
    CHECK(sent.sequence == 0);
  }
  const auto explanation = box.manager->explain("b");
  REQUIRE(explanation);
  CHECK(explanation->sentence.find("unordered, to peer default") != std::string::npos);
  CHECK(OutboxReader(*box.manager).verify().clean());
}

TEST_CASE("row 16: a send function that fails for one unordered frame is called for the next") {
  Box box;
  std::vector<std::string> called;
  box.manager->setSendFunction([&](const std::string& /*session*/, const OutboundFrame& frame) {
    called.push_back(frame.messageId);
    SendFunctionResult result;
    result.success = frame.messageId != "a";
    return result;
  });
  box.manager->enqueue(Box::frame("a", ""));
  box.manager->enqueue(Box::frame("b", ""));
  CHECK(box.manager->drainOnce().acked == 1);
  CHECK(called == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a delayed frame is sent in time, after a restart too, and explained meanwhile") {
  Box box;
  Frame frame = Box::frame("later");
  frame.notBefore = box.clock->wallNow() + 10s;
  box.manager->enqueue(frame);
  box.manager->enqueue(Box::frame("behind"));
  CHECK(box.manager->drainOnce().claimed == 0);
  const auto explanation = box.manager->explain("later");
  REQUIRE(explanation);
  CHECK(explanation->sentence.find("not to be sent before") != std::string::npos);
  box.manager.emplace(box.open());
  CHECK(box.manager->drainOnce().claimed == 0);
  box.clock->advance(10s);
  CHECK(box.manager->drainOnce().acked == 2);
  CHECK(box.sentIds() == std::vector<std::string>{"later", "behind"});
}

TEST_CASE("a superseded message is told to subscribers, while a run is under way and while none is") {
  Box box;
  std::vector<std::string> told;
  const Subscription subscription = box.manager->onSuperseded([&](const SupersededEvent& event) {
    CHECK(event.peer == "default");
    told.push_back(event.messageId + "<" + event.supersededById + "@" + std::to_string(event.supersededBySequence));
  });
  for (const char* id : {"1", "2", "3"}) {
    Frame frame = Box::frame(id);
    frame.supersedeKey = "position";
    box.manager->enqueue(frame);
  }
  CHECK(box.manager->drainOnce().acked == 1);
  CHECK(told == std::vector<std::string>{"1<2@2", "2<3@3"});
  CHECK(box.sentIds() == std::vector<std::string>{"3"});
  CHECK(box.manager->getStats().superseded == 2);
}

TEST_CASE("row 11: sessions of a high priority go first, and each keeps its order") {
  Box box;
  box.manager.emplace(box.open({.batchFrames = 1}, "other.db"));
  for (const char* id : {"low1", "low2"}) {
    box.manager->enqueue(Box::frame(id, "low"));
  }
  for (const char* id : {"high1", "high2"}) {
    Frame frame = Box::frame(id, "high");
    frame.priority = kPriorityMax;
    box.manager->enqueue(frame);
  }
  box.manager->processAll();
  const std::vector<std::string> sent = box.sentIds();
  REQUIRE(sent.size() == 4);
  CHECK(sent[0] == "high1");
  const auto place = [&](const char* id) { return std::find(sent.begin(), sent.end(), id); };
  CHECK(place("high1") < place("high2"));
  CHECK(place("low1") < place("low2"));
}

TEST_CASE("wishes that cannot be granted are refused, and the receipt names the field") {
  Box box;
  Frame frame = Box::frame("");
  frame.priority = 10;
  CHECK(box.manager->enqueue(frame).detail.find("priority") != std::string::npos);
  frame = Box::frame("", "");
  frame.supersedeKey = "k";
  CHECK(box.manager->enqueue(frame).detail.find("supersedeKey") != std::string::npos);
  frame = Box::frame("");
  frame.notBefore = box.clock->wallNow() + 10s;
  frame.expiresAt = frame.notBefore;
  CHECK(box.manager->enqueue(frame).detail.find("notBefore") != std::string::npos);
  frame = Box::frame("");
  frame.idempotencyKey = std::string(257, 'k');
  CHECK(box.manager->enqueue(frame).detail.find("idempotencyKey") != std::string::npos);
}

}  // namespace
}  // namespace ackbox::frame_wishes_test
