// Goal: who looks sees the figures at once and as they change, and each log record once, over a lost connection, too; a
// client that does not read is cut, and costs the others nothing.
// Method: a daemon over loopback; and the streams alone, with connections and a clock in the test's hands.

#include "serve/events/event_streams.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <limits>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "support/manual_clock.hpp"
#include "unit/serve/serve_stage.hpp"
#include "unit/serve/stream_client.hpp"

namespace ackbox::serve::events_test {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::Client;
using testing::ServeStage;
using testing::Settings;
using testing::StreamReader;

const std::string kEvents = "/v1/events";

struct Event {
  std::string id = {};
  std::string kind = {};
  json data = {};
};

/// The next event: an event is there when its data are.
Event next(StreamReader& reader) {
  Event event;
  while (true) {
    const std::string line = reader.line();
    const auto value = [&] { return line.substr(line.find(": ") + 2); };
    if (line.starts_with("id: ")) {
      event.id = value();
    } else if (line.starts_with("event: ")) {
      event.kind = value();
    } else if (line.starts_with("data: ")) {
      event.data = json::parse(value());
      return event;
    }
  }
}

template <typename Fits>
Event nextOf(StreamReader& reader, const std::string& kind, const Fits& fits) {
  while (true) {
    Event event = next(reader);
    if (event.kind == kind && fits(event.data)) {
      return event;
    }
  }
}

/// The streams alone.
class World {
public:
  World() : streams(std::make_shared<EventStreams>(context.get_executor(), clock, 32)) {
    streams->setFigures([this](const std::function<void(std::string)>& done) {
      ++reads;
      done(figures);
    });
  }

  std::shared_ptr<Client> open(EventsWish wish = {}) {
    auto client = std::make_shared<Client>();
    REQUIRE(streams->open(std::move(wish), client, {}));
    run();
    return client;
  }
  void log(const std::string& text, LogLevel level = LogLevel::info) {
    LogRecord record;
    record.level = level;
    record.event = "event";
    record.text = text;
    streams->log(record);
  }
  void run() {
    context.restart();
    context.poll();
  }
  void pass(std::chrono::milliseconds time) {
    clock->advance(time);
    run();
  }

  boost::asio::io_context context;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::shared_ptr<EventStreams> streams;
  std::string figures = "{\"pending\":0}";
  int reads = 0;
};

}  // namespace

TEST_CASE("The figures come at once, with the peers, and again when they have changed") {
  ServeStage stage;
  StreamReader events(stage.server().port(), kEvents);
  CHECK(events.status() == 200);
  CHECK(events.head().find("Content-Type: text/event-stream\r\n") != std::string::npos);
  CHECK(events.head().find("Cache-Control: no-store\r\n") != std::string::npos);
  const Event first = next(events);
  CHECK(first.kind == "figures");
  CHECK(first.data.at("peers").size() == 2);
  CHECK(first.data.at("pending") == 0);
  stage.asker().ask("POST", "/v1/messages", R"({"peer":"away","type":"t"})", testing::kJson);
  nextOf(events, "figures", [](const json& data) { return data.at("pending") == 1; });
}

TEST_CASE("A log record comes once, and what was missed comes by Last-Event-ID") {
  ServeStage stage;
  const auto pauses = [](const std::string& verb) {
    return [verb](const json& data) { return data.at("event") == "operated" && data.at("operation") == verb; };
  };
  StreamReader events(stage.server().port(), kEvents);
  stage.asker().ask("POST", "/v1/peers/bob:pause");
  const Event seen = nextOf(events, "log", pauses("peers:pause"));
  CHECK(seen.data.at("target") == "bob");
  events.close();
  stage.asker().ask("POST", "/v1/peers/bob:resume");
  stage.asker().ask("POST", "/v1/peers/away:pause");
  StreamReader again(stage.server().port(), kEvents, "Last-Event-ID: " + seen.id + "\r\n");
  const Event missed = nextOf(again, "log", [](const json& data) { return data.at("event") == "operated"; });
  CHECK(missed.data.at("operation") == "peers:resume");
  const Event other = nextOf(again, "log", [](const json& data) { return data.at("event") == "operated"; });
  CHECK(other.data.at("target") == "away");
  CHECK(std::stoull(missed.id) > std::stoull(seen.id));
  CHECK(std::stoull(other.id) > std::stoull(missed.id));
}

TEST_CASE("The 33rd stream is refused until another ends, and all end with the daemon") {
  ServeStage stage;
  std::list<StreamReader> streams;
  const auto open = [&]() -> StreamReader& { return streams.emplace_back(stage.server().port(), kEvents); };
  for (int number = 0; number < 32; ++number) {
    REQUIRE(open().status() == 200);
  }
  CHECK(open().status() == 503);
  CHECK(streams.back().head().find("Retry-After: ") != std::string::npos);
  streams.pop_back();
  streams.pop_front();
  while (open().status() != 200) {
    streams.pop_back();
  }
  stage.end();
  for (StreamReader& stream : streams) {
    CHECK(stream.hasEnded());
  }
}

TEST_CASE("Figures are read once for all, once a second, while somebody looks, and sent when they have changed") {
  World world;
  const auto first = world.open();
  const auto second = world.open();
  CHECK(first->text == "event: figures\ndata: {\"pending\":0}\n\n");
  CHECK(second->text == first->text);
  CHECK(world.reads == 1);
  world.pass(seconds(1));
  CHECK(world.reads == 2);
  CHECK(first->count("figures") == 1);
  world.figures = "{\"pending\":1}";
  world.pass(seconds(1));
  CHECK(first->count("\"pending\":1") == 1);
  CHECK(second->count("\"pending\":1") == 1);
  // Nothing is said for long: a line that says nothing.
  for (int tick = 0; tick < 10; ++tick) {
    world.pass(seconds(1));
  }
  CHECK(first->count(":\n\n") == 1);
  first->watcher.ended(transport::AnswerEnd::lost);
  second->watcher.ended(transport::AnswerEnd::lost);
  const int reads = world.reads;
  world.pass(seconds(1));
  world.pass(seconds(1));
  CHECK(world.reads == reads);
}

TEST_CASE("hostile: a client of the events that does not read: no figures on top of the last, and cut at a bound") {
  World world;
  const auto slow = world.open();
  const auto quick = world.open();
  slow->reads = false;
  for (int change = 1; change <= 3; ++change) {
    world.figures = "{\"pending\":" + std::to_string(change) + "}";
    world.pass(seconds(1));
  }
  CHECK(slow->count("event: figures") == 2);
  CHECK(quick->count("event: figures") == 4);
  const std::string text(50'000, 'x');
  for (int record = 0; record < 20; ++record) {
    world.log(text);
    world.run();
  }
  CHECK_FALSE(slow->isCut);
  for (int record = 0; record < 20; ++record) {
    world.log(text);
    world.run();
  }
  CHECK(slow->isCut);
  CHECK_FALSE(quick->isCut);
  CHECK(quick->count("event: log") == 40);
}

TEST_CASE("The last 256 records are there for those who come, and debug records are for nobody") {
  World world;
  for (int record = 1; record <= 300; ++record) {
    world.log("record-" + std::to_string(record) + ".");
  }
  world.log("quiet", LogLevel::debug);
  CHECK(world.open()->count("event: log") == 0);
  const auto all = world.open({.lastEventId = 0});
  CHECK(all->count("event: log") == 256);
  CHECK(all->count("record-45.") == 1);
  CHECK(all->count("record-44.") == 0);
  CHECK(all->count("quiet") == 0);
  // Of a process whose calendar was ahead.
  CHECK(world.open({.lastEventId = std::numeric_limits<std::uint64_t>::max()})->count("event: log") == 256);
}

TEST_CASE("Long records are kept up to 512 KiB of them") {
  World world;
  for (int record = 0; record < 10; ++record) {
    world.log(std::string(100'000, 'x'));
  }
  CHECK(world.open({.lastEventId = 0})->count("event: log") == 5);
  world.log(std::string(1'000'000, 'x'));
  CHECK(world.open({.lastEventId = 0})->count("event: log") == 0);
}

TEST_CASE("A stream whose token is revoked ends, and the others go on") {
  World world;
  bool isAllowed = true;
  const auto revoked = world.open({.isStillAllowed = [&] { return isAllowed; }});
  const auto open = world.open();
  world.streams->endRevoked();
  world.run();
  CHECK_FALSE(revoked->isFinished);
  isAllowed = false;
  world.streams->endRevoked();
  world.run();
  CHECK(revoked->isFinished);
  world.log("more");
  world.run();
  CHECK(open->count("more") == 1);
  CHECK(revoked->count("more") == 0);
}

}  // namespace ackbox::serve::events_test
