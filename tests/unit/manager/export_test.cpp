// Goal: what is exported can be read by anyone line by line, and be enqueued again as it was.
// Method: bring messages into each state, export, parse the lines, feed them to another outbox.

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ackbox/dead_letters.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "unit/manager/outbox_stage.hpp"

namespace ackbox::export_test {
namespace {

using nlohmann::json;
using testing::ScriptedSender;

struct Outbox : testing::OutboxStage {
  explicit Outbox(const char* name = "agent.db")
      : manager(open({.peers = {{.name = "alice"}, {.name = "bob"}}}, name)) {}

  void enqueue(const std::string& peer, const std::string& session, const std::string& id, const std::string& data) {
    Frame made = frame(session, id);
    made.peer = peer;
    made.data = data;
    made.traceparent = id == "full" ? "00-trace" : "";
    made.correlationId = id == "full" ? "corr" : "";
    if (id == "full") {
      made.expiresAt = clock->wallNow() + std::chrono::hours(1);
    }
    REQUIRE(manager.enqueue(made).isNew());
  }
  void fail(const std::string& detail) {
    sender->setScript([detail](const SendRequest& request) {
      SendReport report = ScriptedSender::all(request, Outcome::term, "rejected");
      for (FrameResult& result : report.results) {
        result.detail = detail;
      }
      return report;
    });
    manager.drainOnce();
  }
  std::vector<std::string> exported(const DeadLetterFilter& filter) {
    std::vector<std::string> lines;
    const std::uint64_t count =
        OutboxReader(manager).exportDeadLetters(filter, [&](std::string_view line) { lines.emplace_back(line); });
    CHECK(count == lines.size());
    return lines;
  }

  OutboxManager manager;
};

TEST_CASE("row 20: dead letters are exported one to a line, whole, with their data byte for byte") {
  Outbox box;
  const std::string odd = R"({"b": 1,  "a":[1.50, 1e3,"\n"],"b":2})";
  box.enqueue("bob", "s", "full", odd);
  box.enqueue("bob", "s", "broken", "{\r\n  \"x\": 1\n}");
  box.fail("it said \"no\"");
  const std::vector<std::string> lines = box.exported({});
  REQUIRE(lines.size() == 2);
  CHECK(
      lines[0] ==
      R"({"id":"full","peer":"bob","session":"s","type":"test.event","sequence":"1","state":"FAILED","retry_count":0,)"
      R"("enqueued_at":"2023-11-14T22:13:20.000Z","failed_at":"2023-11-14T22:13:20.000Z",)"
      R"("expires_at":"2023-11-14T23:13:20.000Z","priority":4,"traceparent":"00-trace","correlation_id":"corr",)"
      R"("reason":"rejected","last_error":"it said \"no\"","data":)" +
          odd + "}\n");
  CHECK(lines[1].find('\n') == lines[1].size() - 1);
  CHECK(json::parse(lines[1])["data"] == json{{"x", 1}});
}

TEST_CASE("row 20: dead letters are chosen by session, peer, error and age") {
  Outbox box;
  box.enqueue("alice", "s", "old", "{}");
  box.fail("connection refused");
  box.clock->advance(std::chrono::hours(2));
  box.enqueue("bob", "s", "full", "{}");
  box.fail("503 Service Unavailable");
  box.enqueue("bob", "t", "none", "{}");
  box.fail("");
  const auto ids = [&](const DeadLetterFilter& filter) {
    std::string all;
    for (const std::string& line : box.exported(filter)) {
      all += json::parse(line)["id"].get<std::string>() + " ";
    }
    std::string listed;
    for (const MessageInfo& message : OutboxReader(box.manager).deadLetters(filter).messages) {
      listed += message.messageId + " ";
    }
    CHECK(all == listed);
    return all;
  };
  DeadLetterFilter filter;
  CHECK(ids(filter) == "old full none ");
  filter.session = "s";
  CHECK(ids(filter) == "old full ");
  filter.peer = "bob";
  CHECK(ids(filter) == "full ");
  filter = {};
  filter.error = "503";
  CHECK(ids(filter) == "full ");
  filter.error = "refused";
  CHECK(ids(filter) == "old ");
  filter = {};
  filter.olderThan = std::chrono::hours(1);
  CHECK(ids(filter) == "old ");
  filter.error = "503";
  CHECK(OutboxOperator(box.manager).discardFailed(filter) == 0);
  filter.error = "connection";
  CHECK(OutboxOperator(box.manager).retryFailed(filter) == 1);
  CHECK(box.manager.find("old")->state == MessageState::pending);
}

TEST_CASE("messages in any state are listed and exported in pages") {
  Outbox box;
  box.enqueue("bob", "s", "dead", "{}");
  box.fail("no");
  for (int index = 0; index < 450; ++index) {
    box.enqueue(index % 2 == 0 ? "alice" : "bob", "t", "m" + std::to_string(index), "[" + std::to_string(index) + "]");
  }
  MessageFilter filter;
  std::vector<std::string> ids;
  const auto sink = [&](std::string_view line) { ids.push_back(json::parse(line)["id"].get<std::string>()); };
  CHECK(OutboxReader(box.manager).exportMessages(filter, sink) == 451);
  CHECK(ids.front() == "dead");
  CHECK(ids.back() == "m449");
  filter.state = MessageState::pending;
  filter.peer = "alice";
  CHECK(OutboxReader(box.manager).exportMessages(filter, sink) == 225);
  MessagePage page = OutboxReader(box.manager).messages(filter, 200);
  CHECK(page.messages.size() == 200);
  page = OutboxReader(box.manager).messages(filter, 200, page.next);
  CHECK(page.messages.size() == 25);
  CHECK(page.messages.back().messageId == "m448");
  CHECK(page.next == 0);
  filter.type = "another";
  CHECK(OutboxReader(box.manager).exportMessages(filter, sink) == 0);
  CHECK(OutboxReader(box.manager).messages(filter, 200).messages.empty());
  CHECK_THROWS_AS(static_cast<void>(OutboxReader(box.manager).messages(filter, 0)), Error);
}

TEST_CASE("large messages are exported whole and in order, though a page of them ends early") {
  Outbox box;
  const std::string data = "\"" + std::string(200'000, 'x') + "\"";
  std::string ids;
  for (int index = 0; index < 50; ++index) {
    const std::string id = "m" + std::to_string(index);
    box.enqueue("bob", "s", id, data);
    ids += id + " ";
  }
  std::string exported;
  OutboxReader(box.manager).exportMessages({}, [&](std::string_view line) {
    const json message = json::parse(line);
    CHECK(message["data"].get<std::string>().size() == 200'000);
    exported += message["id"].get<std::string>() + " ";
  });
  CHECK(exported == ids);
}

}  // namespace
}  // namespace ackbox::export_test
