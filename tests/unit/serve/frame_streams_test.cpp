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
