// Goal: frames go to open streams at once, and what waits for one is reported. Method: streams on a clock that the test
// owns, and clients that keep what they are sent.

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/random.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/stream_client.hpp"

namespace ackbox::serve::frame_streams_test {

TEST_CASE("The frames of a stream that ends go to one that is open at once, and not at its next line") {
  const testing::TempDir dir;
  boost::asio::io_context context;
  int reports = 0;
  // No time passes until the end.
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto streams = std::make_shared<FrameStreams>(
      context.get_executor(), clock, systemRandom(), 256, std::vector<std::string>{"*"}, std::vector<std::string>(),
      [&reports](const LogRecord& record) { reports += record.event == "no-stream" ? 1 : 0; });
  OutboxManager manager = OutboxManager::open(dir.file("inbox.db"));
  InboundOptions options;
  options.allowAnonymous = true;
  options.deferred.handler = [streams](DeferredFrame frame) { streams->add(std::move(frame)); };
  options.deferred.pools = {{{"*"}, 4, streams->demand()}};
  streams->watchUnwanted();
  std::optional<InboundHandler> handler(
      std::in_place, manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
  const auto first = std::make_shared<testing::Client>();
  const auto second = std::make_shared<testing::Client>();
  CHECK(streams->open({}, first, {}));
  handler->asyncHandle({.contentType = "application/cloudevents+json",
                        .body = R"({"specversion":"1.0","id":"f-1","source":"urn:x","type":"t","data":1})",
                        .webhookId = "f-1"},
                       [](const InboundResponse& response) { CHECK(response.status == 202); });
  const auto runUntil = [&](const auto& condition) {
    const SteadyTime patience = systemClock()->steadyNow() + std::chrono::minutes(1);
    while (!condition() && systemClock()->steadyNow() < patience) {
      context.restart();
      context.run_for(std::chrono::milliseconds(1));
    }
    CHECK(condition());
  };
  runUntil([&] { return first->count("\"f-1\"") == 1; });
  CHECK(streams->open({}, second, {}));
  CHECK(second->text.empty());
  first->watcher.ended(transport::AnswerEnd::lost);
  runUntil([&] { return second->count("\"f-1\"") == 1; });
  CHECK(reports == 0);
  second->watcher.ended(transport::AnswerEnd::finished);
  runUntil([&] { return reports == 1; });
  // Another one comes and goes while it is too soon to say it again.
  const auto third = std::make_shared<testing::Client>();
  CHECK(streams->open({}, third, {}));
  third->watcher.ended(transport::AnswerEnd::finished);
  CHECK(reports == 1);
  runUntil([&] {
    clock->advance(std::chrono::seconds(1));
    return reports == 2;
  });
  handler.reset();
  streams->close();
}

TEST_CASE("P13: an application that has frames and settles none is named once, until it settles one") {
  const testing::TempDir dir;
  boost::asio::io_context context;
  std::vector<std::string> reports;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto streams =
      std::make_shared<FrameStreams>(context.get_executor(), clock, systemRandom(), 256, std::vector<std::string>{"*"},
                                     std::vector<std::string>(), [&reports](const LogRecord& record) {
                                       if (record.event == "application-silent") {
                                         reports.push_back(toKeyValue(record));
                                       }
                                     });
  OutboxManager manager = OutboxManager::open(dir.file("inbox.db"));
  InboundOptions options;
  options.allowAnonymous = true;
  options.deferred.handler = [streams](DeferredFrame frame) { streams->add(std::move(frame)); };
  options.deferred.pools = {{{"*"}, 4, streams->demand()}};
  streams->watchUnwanted();
  std::optional<InboundHandler> handler(
      std::in_place, manager, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
  const auto client = std::make_shared<testing::Client>();
  StreamWish wish;
  wish.types = "t*";
  wish.sharer = "billing";
  CHECK(streams->open(wish, client, {}));
  for (const char* id : {"f-1", "f-2"}) {
    handler->asyncHandle(
        {.contentType = "application/cloudevents+json",
         .body = std::string(R"({"specversion":"1.0","id":")") + id + R"(","source":"urn:x","type":"t","data":1})",
         .webhookId = id},
        [](const InboundResponse& response) { CHECK(response.status == 202); });
    const SteadyTime patience = systemClock()->steadyNow() + std::chrono::minutes(1);
    while (client->count(id) == 0 && systemClock()->steadyNow() < patience) {
      context.restart();
      context.run_for(std::chrono::milliseconds(1));
    }
  }
  const auto pass = [&](int minutes) {
    for (int minute = 0; minute < minutes; ++minute) {
      clock->advance(std::chrono::minutes(1));
      context.restart();
      context.poll();
    }
  };
  const auto silent = [&] {
    FrameWaits waits;
    streams->addWaits(waits);
    return waits.silent;
  };
  pass(4);
  CHECK(reports.empty());
  CHECK(silent().empty());
  pass(3);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].find(" warning application-silent application=\"the stream of billing for types t*\" frames=2 ") !=
        std::string::npos);
  REQUIRE(silent().size() == 1);
  CHECK(silent()[0].frames == 2);
  CHECK(silent()[0].since == clock->wallNow() - std::chrono::minutes(7));
  // Who reads the file gets to know it, too.
  std::vector<Application> applications;
  streams->addApplications(applications);
  REQUIRE(applications.size() == 1);
  REQUIRE(applications[0].silent);
  CHECK(applications[0].silent->name == "the stream of billing for types t*");
  CHECK(applications[0].silent->frames == 2);
  CHECK(applications[0].silent->since == silent()[0].since);
  const std::string receipt = client->text.substr(client->text.find("\"receipt\":\"") + 11);
  streams->settle({{.receipt = receipt.substr(0, receipt.find('"')), .result = HandlerResult::ack()}},
                  [](const std::vector<bool>&) {});
  CHECK(silent().empty());
  applications.clear();
  streams->addApplications(applications);
  CHECK_FALSE(applications.at(0).silent);
  pass(6);
  CHECK(reports.size() == 2);
  client->watcher.ended(transport::AnswerEnd::lost);
  CHECK(silent().empty());
  handler.reset();
  streams->close();
}

TEST_CASE("P13: what no open stream fits is away since the last one for it ended, and what one fits is there") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto streams =
      std::make_shared<FrameStreams>(context.get_executor(), clock, systemRandom(), 256,
                                     std::vector<std::string>{"order.*", "job"}, std::vector<std::string>(), LogSink());
  const WallTime begin = clock->wallNow();
  const auto known = [&] {
    std::vector<Application> applications;
    streams->addApplications(applications);
    return applications;
  };
  REQUIRE(known().size() == 2);
  CHECK(known()[0].types == "order.*");
  CHECK(known()[0].awaySince == begin);
  CHECK(known()[0].cause == "a stream for its type to be opened");
  CHECK(known()[1].awaySince == begin);
  clock->advance(std::chrono::minutes(1));
  const auto client = std::make_shared<testing::Client>();
  StreamWish wish;
  wish.types = "order.placed";
  CHECK(streams->open(wish, client, {}));
  CHECK_FALSE(known()[0].awaySince);
  CHECK(known()[1].awaySince == begin);
  clock->advance(std::chrono::minutes(1));
  client->watcher.ended(transport::AnswerEnd::lost);
  CHECK(known()[0].awaySince == begin + std::chrono::minutes(2));
  CHECK(known()[1].awaySince == begin);
  streams->close();
  context.restart();
  context.poll();
}

TEST_CASE("A stream is never silent for 10 s, and a line that was not taken is not followed by another") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto streams =
      std::make_shared<FrameStreams>(context.get_executor(), clock, systemRandom(), 256, std::vector<std::string>{"*"},
                                     std::vector<std::string>(), LogSink());
  const auto client = std::make_shared<testing::Client>();
  CHECK(streams->open({}, client, {}));
  const auto pass = [&](std::chrono::milliseconds time) {
    clock->advance(time);
    context.restart();
    context.poll();
  };
  for (int second = 0; second < 10; ++second) {
    pass(std::chrono::seconds(1));
  }
  CHECK(client->text == "\n\n");
  client->waiting = 1;
  pass(std::chrono::minutes(1));
  CHECK(client->text == "\n\n");
  client->watcher.ended(transport::AnswerEnd::lost);
  streams->close();
  pass(std::chrono::minutes(1));
}

}  // namespace ackbox::serve::frame_streams_test
