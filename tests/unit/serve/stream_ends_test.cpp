// Goal: what becomes of frames, receipts and reports when streams end, fall behind or never come. Method: streams on a
// clock that the test owns, an executor that runs when the test says so, and clients that keep what they are sent.

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/random.hpp"
#include "serve/inbox/application_board.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "unit/serve/stream_client.hpp"

namespace ackbox::serve::stream_ends_test {
namespace {

constexpr std::size_t kUnreadMax = std::size_t{1024} * 1024;

/// A receiver whose frames all go to streams. One that is charged more than `maxRetries` runs comes no more.
class Stage {
public:
  explicit Stage(std::uint32_t maxRetries = 0) {
    InboundOptions options;
    options.allowAnonymous = true;
    options.deferred.retry.maxRetries = maxRetries;
    options.deferred.retry.delays = {std::chrono::milliseconds(1)};
    options.deferred.handler = [this](DeferredFrame frame) {
      streams->add(std::move(frame));
      ++added;
    };
    options.deferred.pools = {{{"*"}, 4, streams->demand()}};
    streams->watchUnwanted();
    handler_.emplace(
        manager_, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
  }
  ~Stage() {
    // First what streams have in hand, or the handler waits for it.
    streams->close();
    run();
    handler_.reset();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Each is of a sender of its own.
  void send(const std::string& id, const std::string& type = "t", const std::string& data = "1") {
    handler_->asyncHandle({.contentType = "application/cloudevents+json",
                           .body = R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:)" + id +
                                   R"(","type":")" + type + R"(","data":)" + data + "}",
                           .webhookId = id},
                          [](const InboundResponse&) {});
  }
  std::shared_ptr<testing::Client> open(const std::string& types = "*") {
    auto client = std::make_shared<testing::Client>();
    StreamWish wish;
    wish.types = types;
    return streams->open(wish, client, {}) ? client : nullptr;
  }
  void run() {
    context.restart();
    context.poll();
  }
  /// Without a turn of the executor.
  template <typename Condition>
  void await(const Condition& condition) {
    const SteadyTime patience = systemClock()->steadyNow() + std::chrono::minutes(1);
    while (!condition() && systemClock()->steadyNow() < patience) {
      std::this_thread::yield();
    }
    REQUIRE(condition());
  }
  template <typename Condition>
  void runUntil(const Condition& condition) {
    await([&] {
      run();
      return condition();
    });
  }
  [[nodiscard]] std::string receiptOf(const testing::Client& client) const {
    const std::string receipt = client.text.substr(client.text.find("\"receipt\":\"") + 11);
    return receipt.substr(0, receipt.find('"'));
  }
  /// Whether the receipt's frame was in hand and has ended.
  bool settle(const std::string& receipt, const HandlerResult& result = HandlerResult::ack()) {
    std::optional<bool> settled;
    streams->settle({{.receipt = receipt, .result = result}},
                    [&settled](const std::vector<bool>& answers) { settled = answers.at(0); });
    await([&] { return settled.has_value(); });
    return *settled;
  }

  std::atomic<int> reports = 0;
  std::atomic<int> added = 0;
  boost::asio::io_context context;
  const std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  const std::shared_ptr<FrameStreams> streams = std::make_shared<FrameStreams>(
      context.get_executor(), clock, systemRandom(), 256, std::vector<std::string>{"*"}, std::vector<std::string>(),
      [this](const LogRecord& record) { reports += record.event == "no-stream" ? 1 : 0; });

private:
  const testing::TempDir dir_;
  OutboxManager manager_ = OutboxManager::open(dir_.file("inbox.db"));
  std::optional<InboundHandler> handler_;
};

}  // namespace

TEST_CASE("A frame that waits for a stream is reported later, if it is too soon when it begins to wait") {
  Stage stage;
  stage.send("f-1");
  stage.runUntil([&] { return stage.reports == 1; });
  const auto client = stage.open();
  stage.runUntil([&] { return client->count("f-1") > 0; });
  CHECK(stage.settle(stage.receiptOf(*client)));
  client->watcher.ended(transport::AnswerEnd::finished);
  // With no stream and no frame, nothing goes on by time.
  stage.clock->advance(std::chrono::seconds(5));
  stage.run();
  stage.send("f-2");
  stage.runUntil([&] { return !stage.streams->demand()->unwantedTypes(1).empty(); });
  CHECK(stage.reports == 1);
  stage.runUntil([&] {
    stage.clock->advance(std::chrono::seconds(1));
    return stage.reports == 2;
  });
}

TEST_CASE("A receipt is taken as it was given, and not with more behind it") {
  Stage stage;
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
  Stage stage;
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
  Stage stage;
  const auto first = stage.open();
  stage.send("f-1");
  stage.await([&] { return stage.added == 1; });
  first->watcher.ended(transport::AnswerEnd::lost);
  const auto second = stage.open();
  stage.runUntil([&] { return second->count("f-1") > 0; });
}

TEST_CASE("Nothing is left of streams that are closed, and their ends find nothing") {
  Stage stage;
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
  Stage stage;
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
  Stage stage;
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
  Stage stage(1);
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
  Stage stage;
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
