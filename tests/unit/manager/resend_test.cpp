// Goal: what an operator sends again as a new message stands at its session's end, is told to its receiver for what it
// is, and is sent again once, whatever is asked twice.
// Method: real files, a sender that notes what it is given, a receiver that notes what its handler gets.

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "support/inbound_request.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::resend_test {
namespace {

using testing::ScriptedSender;

struct Stage : testing::OutboxStage {
  explicit Stage(OutboxOptions options = {}) : manager(open(kept(std::move(options)))) {}

  static OutboxOptions kept(OutboxOptions options) {
    options.ackedRetention = std::chrono::hours(24);
    options.peers = {{.name = "default", .url = "default"}, {.name = "carol", .url = "carol"}};
    return options;
  }
  void drain() {
    while (manager.drainOnce().acked != 0) {
    }
  }
  [[nodiscard]] OutboundFrame lastSent() const { return sender->frames().back(); }
  [[nodiscard]] std::size_t countSent() const { return sender->frames().size(); }
  [[nodiscard]] std::string enqueue(const Frame& frame) {
    const EnqueueReceipt receipt = manager.enqueue(frame);
    CHECK(receipt.isNew());
    return receipt.messageId;
  }

  OutboxManager manager;
};

/// Calls the test back when it is looked at.
struct WatchedClock final : Clock {
  [[nodiscard]] SteadyTime steadyNow() const override { return clock.steadyNow(); }
  [[nodiscard]] WallTime wallNow() const override {
    if (looked) {
      looked();
    }
    return clock.wallNow();
  }
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override {
    return clock.makeAlarm(executor);
  }

  std::function<void()> looked;
  testing::ManualClock clock;
};

}  // namespace

TEST_CASE("P4: what is sent again as a new message stands at its session's end, and says which one it repeats") {
  Stage stage;
  Frame frame = Stage::frame("s", "m1");
  frame.data = R"({"n":1})";
  frame.correlationId = "question";
  frame.expiresAt = stage.clock->wallNow() + std::chrono::hours(1);
  frame.idempotencyKey = "key";
  CHECK(stage.enqueue(frame) == "m1");
  CHECK(stage.enqueue(Stage::frame("s", "m2")) == "m2");
  stage.drain();
  CHECK(stage.lastSent().resentOf.empty());
  OutboxOperator changes(stage.manager);
  const ResendReceipt receipt = changes.resendAsNew("m1");
  REQUIRE(receipt.done());
  CHECK(receipt.state == MessageState::acked);
  CHECK(receipt.copy.sequence == 3);
  CHECK(receipt.copy.messageId != "m1");
  stage.drain();
  const OutboundFrame sent = stage.lastSent();
  CHECK(sent.messageId == receipt.copy.messageId);
  CHECK(sent.resentOf == "m1");
  CHECK(sent.sequence == 3);
  CHECK(sent.data == frame.data);
  CHECK(sent.correlationId == "question");
  CHECK(sent.expiresAt == frame.expiresAt);
  CHECK(OutboxReader(stage.manager).frame(sent.messageId)->resentOf == "m1");
  // The first stays as it is, with its key.
  CHECK(stage.manager.find("m1")->state == MessageState::acked);
  CHECK(stage.manager.find("m1")->sequence == 1);
  frame.id = "other";
  CHECK(stage.manager.enqueue(frame).messageId == "m1");
  CHECK(OutboxReader(stage.manager).verify().clean());
}

TEST_CASE("P5: a message is repeated once as a new one, whoever asks again; by its id, the repetition is") {
  Stage stage;
  for (const char* id : {"m1", "m2"}) {
    CHECK(stage.enqueue(Stage::frame("s", id)) == id);
  }
  stage.drain();
  OutboxOperator changes(stage.manager);
  const ResendReport first = changes.resendAsNew({.session = "s"});
  CHECK(first.stored == 2);
  CHECK(first.repeated == 0);
  stage.drain();
  // The two repetitions are acknowledged messages of the session as well.
  const std::size_t before = stage.countSent();
  const ResendReport second = changes.resendAsNew({.session = "s"});
  CHECK(second.stored == 0);
  CHECK(second.repeated == 4);
  stage.drain();
  CHECK(stage.countSent() == before);
  const ResendReceipt again = changes.resendAsNew("m1");
  CHECK_FALSE(again.done());
  CHECK(again.copy.status == EnqueueStatus::duplicate);
  const ResendReceipt next = changes.resendAsNew(again.copy.messageId);
  CHECK(next.done());
  stage.drain();
  CHECK(stage.lastSent().resentOf == "m1");
  CHECK(stage.countSent() == before + 1);
}

TEST_CASE("row 23: only an acknowledged message that has not expired is sent again as a new one") {
  Stage stage;
  Frame brief = Stage::frame("s", "brief");
  brief.expiresAt = stage.clock->wallNow() + std::chrono::minutes(1);
  CHECK(stage.enqueue(brief) == "brief");
  stage.drain();
  stage.clock->advance(std::chrono::minutes(2));
  CHECK(stage.enqueue(Stage::frame("s", "pending")) == "pending");
  OutboxOperator changes(stage.manager);
  CHECK(changes.resendAsNew("nobody").refusal == Errc::unknownMessage);
  CHECK(changes.resendAsNew("pending").refusal == Errc::invalidTransition);
  CHECK(changes.resendAsNew("pending").state == MessageState::pending);
  CHECK(changes.resendAsNew("brief").refusal == Errc::invalidTransition);
  CHECK(changes.resendAsNew("brief").state == MessageState::acked);
  CHECK(changes.resendAsNew(MessageFilter{}).stored == 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(changes.resendAsNew({.state = MessageState::failed})),
                       doctest::Contains("filter.state"), Error);
  CHECK(stage.manager.getStats().enqueued == 2);
}

TEST_CASE("P3: a full outbox refuses new messages of old ones, and the next call goes on from there") {
  OutboxOptions options;
  options.maxPending = 3;
  Stage stage(options);
  for (int index = 0; index < 5; ++index) {
    CHECK_FALSE(stage.enqueue(Stage::frame("s", "m" + std::to_string(index))).empty());
    stage.drain();
  }
  OutboxOperator changes(stage.manager);
  const ResendReport first = changes.resendAsNew({.peer = "default"});
  CHECK(first.stored == 3);
  CHECK(first.refusal.find("maxPending") != std::string::npos);
  CHECK(first.refusedAs == EnqueueStatus::queueFull);
  CHECK(changes.resendAsNew("m4").copy.status == EnqueueStatus::queueFull);
  stage.drain();
  const ResendReport second = changes.resendAsNew({.peer = "default"});
  CHECK(second.stored == 2);
  CHECK(second.repeated == 6);
  CHECK(second.refusal.empty());
  CHECK(second.refusedAs == EnqueueStatus::stored);
  stage.drain();
  CHECK(stage.lastSent().resentOf == "m4");
}

TEST_CASE("P3: a peer that is removed while it is resent to refuses the rest, and what it got is told") {
  const testing::TempDir dir;
  const auto clock = std::make_shared<WatchedClock>();
  OutboxOptions options = Stage::kept({});
  options.clock = clock;
  options.addedPeer = [](const std::string& name, const std::string&) {
    return PeerOptions{.name = name, .url = name};
  };
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  OutboxOperator changes(manager);
  REQUIRE(changes.addPeer({.name = "dora", .url = "dora"}, "dora"));
  // More than one transaction stores.
  const std::vector<Frame> frames(501, Stage::frame("s"));
  REQUIRE(manager.enqueueBatch(frames).size() == frames.size());
  CHECK_THROWS_WITH_AS(static_cast<void>(changes.resendTo("nobody", {.peer = "default"})), doctest::Contains("nobody"),
                       Error);
  // Between the transactions: within one, the store refuses a call of its own thread.
  const std::uint64_t before = manager.getStats().enqueued;
  const OutboxReader reader(manager);
  clock->looked = [&] {
    const std::function<void()> looked = std::exchange(clock->looked, {});
    if (reader.getStats().enqueued < before + 500) {
      clock->looked = looked;
      return;
    }
    try {
      CHECK(changes.removePeer("dora", WaitingMessages::fail).isRemoved);
    } catch (const Error& error) {
      CHECK(error.code() == Errc::wouldDeadlock);
      clock->looked = looked;
    }
  };
  const ResendReport report = changes.resendTo("dora", {.peer = "default"});
  CHECK(report.stored == 500);
  CHECK(report.refusedAs == EnqueueStatus::unknownPeer);
  CHECK_FALSE(report.refusal.empty());
}

TEST_CASE("P3: an old message that is sent again takes no newer one's place, and none takes its place") {
  Stage stage;
  Frame state = Stage::frame("s", "first");
  state.supersedeKey = "k";
  CHECK(stage.enqueue(state) == "first");
  stage.drain();
  state.id = "second";
  CHECK(stage.enqueue(state) == "second");
  stage.drain();
  state.id = "third";
  CHECK(stage.enqueue(state) == "third");
  OutboxOperator changes(stage.manager);
  CHECK(changes.resendAsNew({.peer = "default"}).stored == 2);
  CHECK(changes.resendTo("carol", {.state = MessageState::acked, .peer = "default"}).stored == 2);
  CHECK(stage.manager.getStats().superseded == 0);
  CHECK(stage.manager.getStats().pending == 5);
}

TEST_CASE("P5: a copy for another peer names the first message, and is stored once from whichever copy it is taken") {
  Stage stage;
  CHECK(stage.enqueue(Stage::frame("s", "m1")) == "m1");
  stage.drain();
  OutboxOperator changes(stage.manager);
  CHECK(changes.resendAsNew("m1").done());
  stage.drain();
  const ResendReport report = changes.resendTo("carol", {.peer = "default"});
  CHECK(report.stored == 1);
  CHECK(report.repeated == 1);
  stage.drain();
  CHECK(stage.lastSent().resentOf == "m1");
  // What was copied to a peer is sent to it again as any other message.
  const ResendReport again = changes.resendAsNew({.peer = "carol"});
  CHECK(again.stored == 1);
  stage.drain();
  CHECK(stage.lastSent().resentOf == "m1");
}

TEST_CASE("P10: a handler is told what is sent again, under its id or as a copy, also if the frame was deferred") {
  Stage stage;
  CHECK(stage.enqueue(Stage::frame("s", "m1")) == "m1");
  stage.drain();
  OutboxOperator changes(stage.manager);
  CHECK(changes.resend("m1").done());
  stage.drain();
  const OutboundFrame repeated = stage.lastSent();
  CHECK(repeated.messageId == "m1");
  CHECK(repeated.resentOf == "m1");
  CHECK(changes.resendAsNew("m1").done());
  stage.drain();
  const OutboundFrame copied = stage.lastSent();
  CHECK(copied.messageId != "m1");
  const OutboundFrame plain = testing::outboundFrame("other", 1, "test.event", "7");

  testing::OutboxStage place;
  OutboxManager receiver = place.open();
  std::vector<std::string> told;
  InboundOptions options;
  options.allowAnonymous = true;
  options.deferred.handler = [](const DeferredFrame&) {};
  // Nobody wants them, so they stay.
  options.deferred.pools = {{.types = {"test.event"}, .demand = std::make_shared<DeferredDemand>()}};
  InboundHandler inbox(
      receiver,
      [&](const InboundFrame& frame, InboundTransaction&) {
        told.push_back(frame.resentOf);
        return frame.resentOf.empty() ? HandlerResult::ack() : HandlerResult::defer();
      },
      options);
  for (OutboundFrame frame : {plain, repeated, copied}) {
    frame.session.clear();
    frame.sequence = 0;
    const InboundResponse response =
        testing::answerTo(inbox, testing::inboundRequest(testing::sendRequest({std::move(frame)})));
    CHECK(response.status < 300);
  }
  CHECK(told == std::vector<std::string>{"", "m1", "m1"});
  const std::string source = testing::sendRequest({plain}).agent;
  const auto kept = OutboxReader(receiver).inboxFrame(source, copied.messageId);
  REQUIRE(kept);
  CHECK(kept->resentOf == "m1");
  CHECK(OutboxReader(receiver).verify().clean());
}

}  // namespace ackbox::resend_test
