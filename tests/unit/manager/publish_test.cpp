// Goal: what is published is a message as any other for each subscriber, with an order, an end and an explanation of
// its own, and is stored for all of them or for none. Method: real files, a sender that answers as scripted, a trigger
// that fails one row.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/outbox_writer.hpp"
#include "support/comes_to.hpp"
#include "support/inbound_request.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::publish_test {
namespace {

using Texts = std::vector<std::string>;
using testing::ScriptedSender;

struct Stage : testing::OutboxStage {
  [[nodiscard]] OutboxManager openTo(const Texts& peers) const {
    OutboxOptions options;
    for (const std::string& name : peers) {
      options.peers.push_back({.name = name, .url = name});
    }
    return open(options);
  }
  static void subscribe(OutboxManager& manager, const Texts& peers) {
    for (const std::string& peer : peers) {
      CHECK(OutboxOperator(manager).subscribe({.name = "of " + peer, .peer = peer}));
    }
  }
  /// Notes the data that each peer gets.
  void note() const {
    sender->setScript([notes = data](const SendRequest& request) {
      for (const OutboundFrame& sent : request.frames) {
        (*notes)[request.peer].push_back(sent.data);
      }
      return ScriptedSender::all(request, Outcome::ack);
    });
  }
  [[nodiscard]] Texts sentTo(const std::string& peer) const { return (*data)[peer]; }

  std::shared_ptr<std::map<std::string, Texts>> data = std::make_shared<std::map<std::string, Texts>>();
};

Texts names(int count) {
  Texts made;
  for (int index = 0; index < count; ++index) {
    made.push_back("peer" + std::to_string(index));
  }
  return made;
}

Frame frameWith(const std::string& data) {
  Frame made = Stage::frame("s");
  made.data = data;
  return made;
}

// Rows are written up to 32 to a statement, so most of 40 are in the file when the last one fails.
void failRowOf(const Stage& stage, const std::string& peer) {
  SQLite::Database(stage.dir.file("agent.db").string(), SQLite::OPEN_READWRITE)
      .exec(
          "CREATE TRIGGER broken BEFORE INSERT ON ackbox_outbox WHEN (SELECT p.name FROM ackbox_sessions AS s JOIN "
          "ackbox_peers AS p ON p.id=s.peer_id WHERE s.id=new.session_id)='" +
          peer + "' BEGIN SELECT raise(ABORT,'no'); END");
}

TEST_CASE("P2: a failure at the last subscriber's row leaves no message, no key and no number") {
  const Stage stage;
  OutboxManager manager = stage.openTo(names(40));
  Stage::subscribe(manager, names(40));
  failRowOf(stage, "peer39");
  Frame frame = frameWith("1");
  frame.idempotencyKey = "once";
  CHECK_THROWS_AS(manager.publish(frame), Error);
  CHECK(manager.getStats().pending == 0);
  SQLite::Database(stage.dir.file("agent.db").string(), SQLite::OPEN_READWRITE).exec("DROP TRIGGER broken");
  const PublishReceipt receipt = manager.publish(frame);
  REQUIRE(receipt.messages.size() == 40);
  CHECK(receipt.messages.back().sequence == 1);
  CHECK(manager.publish(frame).status == PublishStatus::duplicate);
  CHECK(manager.getStats().pending == 40);
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("P2: a publish that fails in the caller's transaction leaves nothing in it") {
  const Stage stage;
  OutboxManager manager = stage.openTo(names(3));
  Stage::subscribe(manager, names(3));
  SQLite::Database database(stage.dir.file("agent.db").string(), SQLite::OPEN_READWRITE);
  OutboxWriter writer(manager, database);
  failRowOf(stage, "peer2");
  database.exec("BEGIN IMMEDIATE");
  CHECK_THROWS_AS(writer.publish(frameWith("1")), Error);
  database.exec("DROP TRIGGER broken");
  CHECK(writer.publish(frameWith("2")).messages.size() == 3);
  database.exec("COMMIT");
  stage.note();
  CHECK(manager.processAll().acked == 3);
  CHECK(stage.sentTo("peer0") == Texts{"2"});
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("P4: each subscriber gets what is published in the order of the publishes, from its subscription on") {
  const Stage stage;
  OutboxManager manager = stage.openTo({"bob", "carol"});
  Stage::subscribe(manager, {"bob"});
  manager.publish(frameWith("1"));
  manager.publish(frameWith("2"));
  Stage::subscribe(manager, {"carol"});
  Frame own = frameWith("3");
  own.peer = "carol";
  CHECK(manager.enqueue(own).sequence == 1);
  const PublishReceipt receipt = manager.publish(frameWith("4"));
  REQUIRE(receipt.messages.size() == 2);
  CHECK(receipt.messages[0].sequence == 3);
  CHECK(receipt.messages[1].sequence == 2);
  stage.note();
  CHECK(manager.processAll().acked == 5);
  CHECK(stage.sentTo("bob") == Texts{"1", "2", "4"});
  CHECK(stage.sentTo("carol") == Texts{"3", "4"});
}

TEST_CASE("P3: what one subscriber refuses is its own dead letter, and explain tells each subscriber's state") {
  const Stage stage;
  OutboxManager manager = stage.openTo({"bob", "carol"});
  Stage::subscribe(manager, {"bob", "carol"});
  stage.sender->setScript([](const SendRequest& request) {
    return ScriptedSender::all(request, request.peer == "carol" ? Outcome::term : Outcome::ack,
                               request.peer == "carol" ? "no" : "");
  });
  const PublishReceipt receipt = manager.publish(frameWith("1"));
  REQUIRE(receipt.messages.size() == 2);
  CHECK(receipt.messages[1].peer == "carol");
  manager.processAll();
  CHECK_FALSE(manager.find(receipt.messages[0].messageId));
  const std::optional<Explanation> explained = manager.explain(receipt.messages[1].messageId);
  REQUIRE(explained);
  CHECK(explained->message.peer == "carol");
  CHECK(explained->message.state == MessageState::failed);
}

TEST_CASE("P13: what is published for a peer of another process waits, is explained, and is sent by that process") {
  const Stage stage;
  OutboxManager theirs = stage.openTo({"bob", "carol"});
  Stage::subscribe(theirs, {"carol"});
  OutboxManager ours = stage.openTo({"bob"});
  const PublishReceipt receipt = ours.publish(frameWith("1"));
  REQUIRE(receipt.messages.size() == 1);
  CHECK(ours.processAll().acked == 0);
  const std::optional<Explanation> explained = ours.explain(receipt.messages[0].messageId);
  REQUIRE(explained);
  CHECK(std::ranges::any_of(explained->reasons,
                            [](const Reason& one) { return one.blockReason == BlockReason::peerNotConfigured; }));
  stage.note();
  CHECK(theirs.processAll().acked == 1);
  CHECK(stage.sentTo("carol") == Texts{"1"});
}

TEST_CASE("P2 P5: what a handler publishes is stored with its effect, is undone with it, and wakes the run") {
  const Stage stage;
  OutboxManager manager = stage.openTo({"bob", "carol"});
  Stage::subscribe(manager, {"bob", "carol"});
  std::vector<PublishReceipt> receipts;
  bool isApplied = false;
  InboundHandler inbox(manager,
                       [&](const InboundFrame& frame, InboundTransaction& transaction) {
                         Frame made = frameWith(frame.data);
                         made.idempotencyKey = frame.id;
                         receipts.push_back(transaction.publish(made));
                         made.data = "{";
                         receipts.push_back(transaction.publish(made));
                         return isApplied ? HandlerResult::ack() : HandlerResult::notNow("not yet");
                       },
                       {.allowAnonymous = true});
  const auto post = [&] {
    const SendRequest request = testing::sendRequest({testing::outboundFrame("in", 1, "test.event", "7")});
    return testing::answerTo(inbox, testing::inboundRequest(request)).body.find("\"outcome\":\"ack\"") !=
           std::string::npos;
  };
  stage.note();
  manager.start();
  CHECK_FALSE(post());
  CHECK(manager.getStats().enqueued == 0);
  isApplied = true;
  CHECK(post());
  CHECK(testing::comesTo([&] { return manager.getStats().acked == 2; }));
  manager.stop();
  // The key of the first call was undone with it.
  REQUIRE(receipts.size() == 4);
  CHECK(receipts[2].status == PublishStatus::stored);
  CHECK(receipts[2].messages.size() == 2);
  CHECK(receipts[3].status == PublishStatus::invalidFrame);
  CHECK(stage.sentTo("bob") == Texts{"7"});
  CHECK(stage.sentTo("carol") == Texts{"7"});
}

TEST_CASE("P3: a late subscriber is given once, in order, what another peer was sent, whatever became of it") {
  const Stage stage;
  OutboxOptions options;
  options.peers = {{.name = "bob", .url = "bob"}, {.name = "carol", .url = "carol"}};
  options.ackedRetention = std::chrono::hours(24);
  options.maxPending = 1'100;
  OutboxManager manager = stage.open(options);
  Stage::subscribe(manager, {"bob"});
  // More than a slice.
  for (int index = 0; index < 600; ++index) {
    manager.publish(frameWith(std::to_string(index)));
  }
  while (manager.drainOnce().acked != 0) {
  }
  Frame soon = frameWith("600");
  soon.expiresAt = stage.clock->wallNow() + std::chrono::minutes(1);
  manager.publish(soon);
  stage.clock->advance(std::chrono::hours(1));
  OutboxOperator operate(manager);
  CHECK(operate.markFailed(manager.publish(frameWith("601")).messages[0].messageId).done());
  Frame other = frameWith("602");
  other.type = "other";
  manager.publish(other);
  Frame waiting = frameWith("603");
  waiting.priority = 7;
  waiting.correlationId = "cause";
  manager.publish(waiting);
  Stage::subscribe(manager, {"carol"});
  const MessageFilter filter{
      .peer = "bob", .type = "test.event", .before = stage.clock->wallNow() + std::chrono::hours(1)};

  CHECK_THROWS_AS(static_cast<void>(operate.resendTo("bob", filter)), OptionError);
  CHECK_THROWS_AS(static_cast<void>(operate.resendTo("carol", {})), OptionError);
  CHECK_THROWS_AS(static_cast<void>(operate.resendTo("nobody", filter)), Error);
  stage.note();
  const ResendReport first = operate.resendTo("carol", filter);
  CHECK(first.stored == 602);
  CHECK(first.repeated == 0);
  CHECK(first.refusal.empty());
  const ResendReport second = operate.resendTo("carol", filter);
  CHECK(second.stored == 0);
  CHECK(second.repeated == 602);
  const std::optional<Frame> last =
      OutboxReader(manager).frame(OutboxReader(manager)
                                      .messages({.state = MessageState::pending, .peer = "carol"}, 1'000)
                                      .messages.back()
                                      .messageId);
  REQUIRE(last);
  CHECK(last->priority == 7);
  CHECK(last->correlationId == "cause");
  manager.publish(frameWith("604"));
  while (manager.drainOnce().acked != 0) {
  }
  Texts wanted;
  for (int index = 0; index < 605; ++index) {
    if (index != 600 && index != 602) {
      wanted.push_back(std::to_string(index));
    }
  }
  CHECK(stage.sentTo("carol") == wanted);
  CHECK(OutboxReader(manager).verify().clean());
}

TEST_CASE("P3: what a full outbox refuses a late subscriber is said, and the next call goes on from there") {
  const Stage stage;
  OutboxOptions options;
  options.peers = {{.name = "bob", .url = "bob"}, {.name = "carol", .url = "carol"}};
  options.ackedRetention = std::chrono::hours(24);
  options.maxPending = 3;
  OutboxManager manager = stage.open(options);
  Stage::subscribe(manager, {"bob"});
  for (int index = 0; index < 5; ++index) {
    manager.publish(frameWith(std::to_string(index)));
    manager.processAll();
  }
  stage.note();
  OutboxOperator operate(manager);
  const ResendReport first = operate.resendTo("carol", {.peer = "bob"});
  CHECK(first.stored == 3);
  CHECK(first.refusal.find("maxPending") != std::string::npos);
  manager.processAll();
  const ResendReport second = operate.resendTo("carol", {.peer = "bob"});
  CHECK(second.stored == 2);
  CHECK(second.repeated == 3);
  CHECK(second.refusal.empty());
  manager.processAll();
  CHECK(stage.sentTo("carol") == Texts{"0", "1", "2", "3", "4"});
}

TEST_CASE("P3: a publish that does not wait answers as one that waits") {
  const Stage stage;
  OutboxManager manager = stage.openTo({"bob"});
  const auto publish = [&](const Frame& frame) {
    std::promise<PublishReceipt> promise;
    manager.publishThen(frame, [&](std::error_code error, PublishReceipt receipt) {
      CHECK_FALSE(error);
      promise.set_value(std::move(receipt));
    });
    return promise.get_future().get();
  };
  CHECK(publish(frameWith("1")).status == PublishStatus::noSubscriber);
  Stage::subscribe(manager, {"bob"});
  CHECK(publish(frameWith("1")).messages.size() == 1);
  CHECK(publish(frameWith("{")).status == PublishStatus::invalidFrame);
  CHECK(publish(Stage::frame("s", "my-id")).status == PublishStatus::invalidFrame);
  CHECK(publish(frameWith('"' + std::string(2U << 20U, 'x') + '"')).status == PublishStatus::frameTooLarge);
  CHECK(manager.enqueue(Stage::frame("s")).status == EnqueueStatus::unknownPeer);
}

TEST_CASE("a subscription of another form is refused, and so is a peer that the file does not know") {
  const Stage stage;
  OutboxManager manager = stage.openTo({"bob"});
  OutboxOperator operate(manager);
  CHECK_THROWS_AS(operate.subscribe({.name = "", .peer = "bob"}), OptionError);
  CHECK_THROWS_AS(operate.subscribe({.name = "a\nb", .peer = "bob"}), OptionError);
  CHECK_THROWS_AS(operate.subscribe({.name = "x", .peer = "bob", .type = ""}), OptionError);
  CHECK_THROWS_AS(operate.subscribe({.name = "x", .peer = "bob", .type = "*.placed"}), OptionError);
  CHECK_THROWS_AS(operate.subscribe({.name = "x", .peer = "bob", .session = "a*b"}), OptionError);
  CHECK_THROWS_AS(operate.subscribe({.name = "x", .peer = "nobody"}), Error);
  CHECK(operate.subscribe({.name = "x", .peer = "bob", .type = "order.*", .session = "s"}));
  CHECK_FALSE(operate.subscribe({.name = "x", .peer = "bob", .type = "*"}));
  const std::vector<PeerSubscription> all = OutboxReader(manager).subscriptions();
  REQUIRE(all.size() == 1);
  CHECK(all[0].type == "*");
  CHECK(all[0].session.empty());
  CHECK(all[0].since == stage.clock->wallNow());
  CHECK(operate.unsubscribe("x"));
  CHECK_FALSE(operate.unsubscribe("x"));
}

TEST_CASE("no peer may have the name that stands for all subscribers") {
  const Stage stage;
  CHECK_THROWS_WITH_AS(static_cast<void>(stage.openTo({"*"})), doctest::Contains("all subscribers"), OptionError);
}

}  // namespace
}  // namespace ackbox::publish_test
