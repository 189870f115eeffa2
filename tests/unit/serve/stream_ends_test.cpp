// Goal: what becomes of frames, receipts and reports when streams end, fall behind or never come. Method: streams on a
// clock that the test owns, an executor that runs when the test says so, and clients that keep what they are sent.

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "serve/inbox/application_board.hpp"
#include "unit/serve/stream_client.hpp"

namespace ackbox::serve::stream_ends_test {
namespace {

using testing::StreamStage;

constexpr std::size_t kUnreadMax = std::size_t{1024} * 1024;

}  // namespace

TEST_CASE("A frame that waits for a stream is reported later, if it is too soon when it begins to wait") {
  StreamStage stage;
  stage.send("f-1");
  stage.runUntil([&] { return stage.reports() == 1; });
  const auto client = stage.open();
  stage.runUntil([&] { return client->count("f-1") > 0; });
  CHECK(stage.settle(stage.receiptOf(*client)));
  client->watcher.ended(transport::AnswerEnd::finished);
  // With no stream and no frame, nothing goes on by time.
  stage.clock->advance(std::chrono::seconds(5));
  stage.run();
  stage.send("f-2");
  stage.runUntil([&] { return !stage.streams->demand()->unwantedTypes(1).empty(); });
  CHECK(stage.reports() == 1);
  stage.runUntil([&] {
    stage.clock->advance(std::chrono::seconds(1));
    return stage.reports() == 2;
  });
}

TEST_CASE("A receipt is taken as it was given, and not with more behind it") {
  StreamStage stage;
  const auto client = stage.open();
  stage.send("f-1");
  stage.runUntil([&] { return client->count("f-1") > 0; });
  const std::string receipt = stage.receiptOf(*client);
  CHECK_FALSE(stage.settle(receipt + "x"));
  CHECK_FALSE(stage.settle(receipt.substr(0, receipt.find('-'))));
  CHECK_FALSE(stage.settle(receipt.substr(0, receipt.find('-') + 1)));
  CHECK(stage.settle(receipt));
}

TEST_CASE("A drain waits for what streams have in hand, and no longer than they are there") {
  StreamStage stage;
  const auto client = stage.open();
  stage.send("f-1");
  stage.runUntil([&] { return client->count("f-1") > 0; });
  const std::future<void> idle = stage.streams->drain();
  stage.run();
  CHECK(idle.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  client->watcher.ended(transport::AnswerEnd::lost);
  CHECK(idle.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
}

TEST_CASE("A frame whose stream ends before it gets there is charged nothing") {
  StreamStage stage;
  const auto first = stage.open();
  stage.send("f-1");
  stage.await([&] { return stage.added == 1; });
  first->watcher.ended(transport::AnswerEnd::lost);
  const auto second = stage.open();
  stage.runUntil([&] { return second->count("f-1") > 0; });
}

TEST_CASE("Nothing is left of streams that are closed, and their ends find nothing") {
  StreamStage stage;
  const auto client = stage.open();
  stage.send("f-1");
  stage.runUntil([&] { return client->count("f-1") > 0; });
  stage.streams->close();
  stage.run();
  FrameWaits waits;
  stage.streams->addWaits(waits);
  CHECK(waits.streams.empty());
  CHECK(waits.holders.empty());
  client->watcher.ended(transport::AnswerEnd::lost);
  CHECK(stage.open() == nullptr);
}

TEST_CASE("P13: a stream gets frames up to the bound of what it has not read, and again from there on") {
  StreamStage stage;
  const auto client = stage.open();
  client->waiting = kUnreadMax - 1;
  stage.send("f-1");
  stage.runUntil([&] { return client->count("f-1") > 0; });
  client->waiting = kUnreadMax;
  stage.send("f-2");
  stage.await([&] { return stage.added == 2; });
  stage.run();
  CHECK(client->count("f-2") == 0);
  client->waiting = kUnreadMax - 1;
  client->watcher.taken();
  stage.runUntil([&] { return client->count("f-2") > 0; });
}

TEST_CASE("P12: of frames whose streams broke once, 1,024 are remembered; an older one is charged nothing yet") {
  constexpr int kFrames = 1'025;
  StreamStage stage;
  for (int frame = 0; frame < kFrames; ++frame) {
    stage.send("f-" + std::to_string(frame), "t" + std::to_string(frame));
  }
  const auto lose = [&](int frame) {
    const auto client = stage.open("t" + std::to_string(frame));
    stage.runUntil([&] { return client->count("f-" + std::to_string(frame)) > 0; });
    client->watcher.ended(transport::AnswerEnd::lost);
  };
  for (int frame = 0; frame < kFrames; ++frame) {
    lose(frame);
  }
  lose(0);
  const auto client = stage.open("t0");
  stage.runUntil([&] { return client->count("f-0") > 0; });
}

TEST_CASE("P12: a frame that was settled is no suspect of the stream that broke before") {
  StreamStage stage(1);
  stage.send("f-1");
  const auto next = [&] {
    auto client = stage.open();
    stage.runUntil([&] { return client->count("f-1") > 0; });
    return client;
  };
  next()->watcher.ended(transport::AnswerEnd::lost);
  const auto second = next();
  CHECK(stage.settle(stage.receiptOf(*second), HandlerResult::notNow("later")));
  second->watcher.ended(transport::AnswerEnd::finished);
  next()->watcher.ended(transport::AnswerEnd::lost);
  next();
}

TEST_CASE("A frame is one line, whatever ends lines in its data") {
  StreamStage stage;
  const auto client = stage.open();
  stage.send("f-1", "t", "[1,\r\n2]");
  stage.runUntil([&] { return client->count("f-1") > 0; });
  CHECK(client->count("\r") == 0);
  CHECK(client->count("\n") == 1);
}

TEST_CASE("What is known of applications is read once a second, and no more after a stop") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  int reads = 0;
  const auto board = std::make_shared<ApplicationBoard>(context.get_executor(), clock, [&reads] {
    ++reads;
    return ApplicationBoard::Applications();
  });
  const auto run = [&] {
    context.restart();
    context.poll();
  };
  board->start();
  run();
  clock->advance(std::chrono::seconds(1));
  run();
  CHECK(reads == 2);
  board->stop();
  run();
  clock->advance(std::chrono::seconds(1));
  run();
  CHECK(reads == 2);
}

}  // namespace ackbox::serve::stream_ends_test
