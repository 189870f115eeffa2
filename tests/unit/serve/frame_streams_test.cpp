// Goal: frames go to open streams at once, and what waits for one is reported. Method: streams on a clock that the test
// owns, and clients that keep what they are sent.

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "unit/serve/stream_client.hpp"

namespace ackbox::serve::frame_streams_test {

TEST_CASE("The frames of a stream that ends go to one that is open at once, and not at its next line") {
  // No time passes until the end.
  testing::StreamStage stage;
  const auto first = stage.open();
  stage.send("f-1");
  stage.runUntil([&] { return first->count("\"f-1\"") == 1; });
  const auto second = stage.open();
  CHECK(second->text.empty());
  first->watcher.ended(transport::AnswerEnd::lost);
  stage.runUntil([&] { return second->count("\"f-1\"") == 1; });
  CHECK(stage.reports() == 0);
  second->watcher.ended(transport::AnswerEnd::finished);
  stage.runUntil([&] { return stage.reports() == 1; });
  // Another one comes and goes while it is too soon to say it again.
  stage.open()->watcher.ended(transport::AnswerEnd::finished);
  CHECK(stage.reports() == 1);
  stage.runUntil([&] {
    stage.clock->advance(std::chrono::seconds(1));
    return stage.reports() == 2;
  });
}

TEST_CASE("P13: an application that has frames and settles none is named once, until it settles one") {
  testing::StreamStage stage;
  const auto client = stage.open("t*", "billing");
  for (const char* id : {"f-1", "f-2"}) {
    stage.send(id);
    stage.runUntil([&] { return client->count(id) > 0; });
  }
  const auto reports = [&] { return stage.logged("application-silent"); };
  const auto silent = [&] {
    FrameWaits waits;
    stage.streams->addWaits(waits);
    return waits.silent;
  };
  const auto known = [&] {
    std::vector<Application> applications;
    stage.streams->addApplications(applications);
    REQUIRE(applications.size() == 1);
    return applications.front();
  };
  stage.pass(std::chrono::minutes(4));
  CHECK(reports().empty());
  CHECK(silent().empty());
  stage.pass(std::chrono::minutes(3));
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].find(" warning application-silent application=\"the stream of billing for types t*\" frames=2 ") !=
        std::string::npos);
  REQUIRE(silent().size() == 1);
  CHECK(silent()[0].frames == 2);
  CHECK(silent()[0].since == stage.clock->wallNow() - std::chrono::minutes(7));
  // Readers of the file see it, too.
  REQUIRE(known().silent);
  CHECK(known().silent->name == "the stream of billing for types t*");
  CHECK(known().silent->frames == 2);
  CHECK(known().silent->since == silent()[0].since);
  CHECK(stage.settle(stage.receiptOf(*client)));
  CHECK(silent().empty());
  CHECK_FALSE(known().silent);
  stage.pass(std::chrono::minutes(6));
  CHECK(reports().size() == 2);
  client->watcher.ended(transport::AnswerEnd::lost);
  CHECK(silent().empty());
}

TEST_CASE("P13: what no open stream fits is away since the last one for it ended, and what one fits is there") {
  testing::StreamStage stage(0, {"order.*", "job"});
  const WallTime begin = stage.clock->wallNow();
  const auto known = [&] {
    std::vector<Application> applications;
    stage.streams->addApplications(applications);
    return applications;
  };
  REQUIRE(known().size() == 2);
  CHECK(known()[0].types == "order.*");
  CHECK(known()[0].awaySince == begin);
  CHECK(known()[0].cause == "a stream for its type to be opened");
  CHECK(known()[1].awaySince == begin);
  stage.clock->advance(std::chrono::minutes(1));
  const auto client = stage.open("order.placed");
  CHECK_FALSE(known()[0].awaySince);
  CHECK(known()[1].awaySince == begin);
  stage.clock->advance(std::chrono::minutes(1));
  client->watcher.ended(transport::AnswerEnd::lost);
  CHECK(known()[0].awaySince == begin + std::chrono::minutes(2));
  CHECK(known()[1].awaySince == begin);
}

TEST_CASE(
    "P13: of more mailboxes than are remembered, the oldest ends are forgotten, and are no earlier than the others") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto streams = std::make_shared<FrameStreams>(context.get_executor(), clock, systemRandom(), 256,
                                                      StreamedFrames{.mailboxes = {"urn:*"}}, LogSink());
  const auto comeAndGo = [&](int number) {
    const auto client = std::make_shared<testing::Client>();
    REQUIRE(streams->open({.mailbox = "urn:" + std::to_string(number)}, client, {}));
    clock->advance(std::chrono::seconds(1));
    client->watcher.ended(transport::AnswerEnd::lost);
  };
  const auto awaySince = [&](const std::string& mailbox) {
    std::vector<Application> applications;
    streams->addApplications(applications);
    const auto found = std::ranges::find(applications, mailbox, &Application::mailbox);
    return found == applications.end() ? std::nullopt : found->awaySince;
  };
  const WallTime begin = clock->wallNow();
  for (int number = 1; number <= 1'024; ++number) {
    comeAndGo(number);
  }
  CHECK(awaySince("*") == begin);
  CHECK(awaySince("urn:1") == begin + std::chrono::seconds(1));
  comeAndGo(1'025);
  CHECK(awaySince("urn:1025") == clock->wallNow());
  CHECK_FALSE(awaySince("urn:1"));
  CHECK(awaySince("*") == begin + std::chrono::seconds(1));
}

TEST_CASE("A stream of a mailbox names one agent, and no pattern") {
  boost::asio::io_context context;
  const FrameStreams streams(context.get_executor(), systemClock(), systemRandom(), 256,
                             StreamedFrames{.mailboxes = {"urn:team:*"}}, LogSink());
  CHECK_FALSE(streams.emptyBecause({.mailbox = "urn:team:carol"}));
  CHECK(streams.emptyBecause({.mailbox = "urn:team:*"}) ==
        "'urn:team:*' names no mailbox: a stream takes the frames of one agent, by its URI");
}

TEST_CASE("A stream is never silent for 10 s, and a line that was not taken is not followed by another") {
  testing::StreamStage stage;
  const auto client = stage.open();
  stage.pass(std::chrono::seconds(10));
  CHECK(client->text == "\n\n");
  client->waiting = 1;
  stage.pass(std::chrono::minutes(1));
  CHECK(client->text == "\n\n");
  client->watcher.ended(transport::AnswerEnd::lost);
  stage.streams->close();
  stage.pass(std::chrono::minutes(1));
}

}  // namespace ackbox::serve::frame_streams_test
