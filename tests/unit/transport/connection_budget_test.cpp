// Goal: connections are shared so that answering peers never wait for silent ones, and no peer waits for ever. Method:
// the budget on an executor that the test runs, with a clock that stands still; places that keep the connections that
// they are granted.

#include "transport/connection_budget.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <vector>

#include "support/manual_clock.hpp"
#include "transport/connection_pool.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport::connection_budget_test {
namespace {

using namespace std::chrono_literals;

struct World {
  explicit World(std::size_t connections)
      : budget(std::make_shared<ConnectionBudget>(context.get_executor(), clock, connections, [this] {
          const bool evicts = idle > 0;
          idle -= evicts ? 1 : 0;
          idleClosed += evicts ? 1 : 0;
          if (evicts) {
            idleSlots.pop_back();
          }
          return evicts;
        })) {}

  void turn() {
    context.restart();
    context.poll();
  }
  void ask(const std::string& place) {
    wishes.push_back(budget->ask(
        place,
        [this, place](std::shared_ptr<ConnectionBudget::Slot> slot) {
          granted.push_back(place);
          held.emplace(place, std::move(slot));
          if (opensAtOnce) {
            budget->opened(true);
          }
        },
        [this, place] {
          evicted.push_back(place);
          held.erase(held.find(place));
          ask(place);
        }));
    turn();
  }
  void giveBack(const std::string& place) {
    held.erase(held.find(place));
    turn();
  }
  void answer(const std::string& place) {
    budget->answered(place);
    giveBack(place);
  }
  void advance(std::chrono::milliseconds by) {
    clock->advance(by);
    turn();
  }

  boost::asio::io_context context;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  int idle = 0;
  int idleClosed = 0;
  bool opensAtOnce = true;
  std::vector<std::shared_ptr<ConnectionBudget::Slot>> idleSlots;
  std::shared_ptr<ConnectionBudget> budget;
  std::vector<std::shared_ptr<ConnectionBudget::Wish>> wishes;
  std::vector<std::string> granted;
  std::vector<std::string> evicted;
  std::multimap<std::string, std::shared_ptr<ConnectionBudget::Slot>> held;
};

using Places = std::vector<std::string>;

TEST_CASE("P11: a quarter of the connections is for places that have answered, which go first") {
  World world(8);
  world.ask("live");
  world.answer("live");
  for (int mute = 0; mute < 20; ++mute) {
    world.ask("mute " + std::to_string(mute));
  }
  CHECK(world.held.size() == 6);
  world.ask("live");
  world.ask("live");
  CHECK(world.held.count("live") == 2);
  CHECK(world.budget->used() == 8);
  world.ask("live");
  CHECK(world.held.count("live") == 2);
  world.giveBack("mute 0");
  CHECK(world.held.count("live") == 3);
}

TEST_CASE("P11: a place that has not answered has one connection at a time") {
  World world(8);
  world.ask("new");
  world.ask("new");
  CHECK(world.granted == Places{"new"});
  world.answer("new");
  CHECK(world.granted == Places{"new", "new"});
}

TEST_CASE("P11: whoever is silent gives way when others wait, each time after twice as long, and is asked again last") {
  World world(1);
  world.ask("mute");
  world.advance(10min);
  CHECK(world.evicted.empty());
  world.ask("other");
  world.advance(0ms);
  CHECK(world.evicted == Places{"mute"});
  CHECK(world.granted == Places{"mute", "other"});
  world.answer("other");
  CHECK(world.granted == Places{"mute", "other", "mute"});
  world.ask("third");
  world.advance(1'999ms);
  CHECK(world.evicted.size() == 1);
  world.advance(1ms);
  CHECK(world.evicted == Places{"mute", "mute"});
  CHECK(world.granted.back() == "third");
}

TEST_CASE("P11: of many mute places all are heard in turn, and a place that answers is not kept waiting by them") {
  World world(4);
  for (int mute = 0; mute < 100; ++mute) {
    world.ask("mute " + std::to_string(mute));
  }
  world.ask("live");
  int seconds = 0;
  while (world.held.count("live") == 0) {
    REQUIRE(++seconds < 60);
    world.advance(1s);
  }
  // Three at a time, one second each, before any place's second turn.
  CHECK(seconds <= 34);
  world.answer("live");
  for (int turn = 0; turn < 20; ++turn) {
    world.ask("live");
    REQUIRE(world.held.count("live") == 1);
    world.giveBack("live");
    world.advance(1s);
  }
}

TEST_CASE("P11: an idle connection gives way to whoever wants one") {
  World world(1);
  world.ask("first");
  world.answer("first");
  world.ask("first");
  REQUIRE(world.held.size() == 1);
  world.idleSlots.push_back(world.held.find("first")->second);
  world.held.clear();
  world.idle = 1;
  world.ask("second");
  CHECK(world.idleClosed == 1);
  CHECK(world.granted.back() == "second");
  CHECK(world.budget->used() == 1);
}

TEST_CASE("P11: after a shortage nothing is granted for a moment, then one at a time until one opens") {
  World world(100);
  world.opensAtOnce = false;
  world.budget->shortage();
  for (int place = 0; place < 10; ++place) {
    world.ask(std::to_string(place));
  }
  CHECK(world.granted.empty());
  world.advance(249ms);
  CHECK(world.granted.empty());
  world.advance(1ms);
  CHECK(world.granted.size() == 1);
  world.budget->opened(true);
  world.turn();
  CHECK(world.granted.size() == 3);
  world.budget->shortage();
  world.budget->opened(false);
  world.budget->opened(false);
  world.turn();
  CHECK(world.granted.size() == 3);
  world.advance(250ms);
  CHECK(world.granted.size() == 4);
}

TEST_CASE("P11: a place that has not answered gets one grant of eight, however many live ones wait") {
  World world(4);
  world.ask("live");
  world.answer("live");
  for (int wish = 0; wish < 8; ++wish) {
    world.ask("live");
  }
  REQUIRE(world.held.count("live") == 4);
  for (const char* fresh : {"new 1", "new 2", "new 3"}) {
    world.ask(fresh);
    int rounds = 0;
    while (world.held.count(fresh) == 0) {
      REQUIRE(++rounds <= 8);
      world.ask("live");
      world.giveBack("live");
    }
    CHECK(world.held.count("live") >= 1);
  }
  // All connections for such places are taken: one more waits, and costs the live places nothing.
  world.ask("new 4");
  for (int round = 0; round < 20; ++round) {
    world.ask("live");
    world.giveBack("live");
    REQUIRE(world.held.count("live") == 1);
  }
}

TEST_CASE("P11: no idle connection is closed for a place that may have none anyway") {
  World world(4);
  world.ask("live");
  world.idleSlots.push_back(world.held.find("live")->second);
  world.answer("live");
  world.idle = 1;
  for (int mute = 0; mute < 3; ++mute) {
    world.ask("mute " + std::to_string(mute));
  }
  REQUIRE(world.budget->used() == 4);
  world.ask("mute 3");
  CHECK(world.idleClosed == 0);
  CHECK(world.held.count("mute 3") == 0);
  world.ask("live");
  CHECK(world.idleClosed == 1);
  CHECK(world.held.count("live") == 1);
}

TEST_CASE("P11: places that nobody uses any more are forgotten, the oldest first, and others are not") {
  World world(4);
  world.ask("in use");
  world.ask("waits");
  world.ask("waits");
  for (int generation = 0; generation < 5'000; ++generation) {
    const std::string place = "peer#" + std::to_string(generation);
    world.ask(place);
    world.answer(place);
  }
  CHECK(world.budget->placesKnown() <= 1'100);
  world.giveBack("waits");
  CHECK(world.held.count("waits") == 1);
  // The place is known to be live, so it gets the rest.
  world.ask("peer#4999");
  world.ask("peer#4999");
  CHECK(world.held.count("peer#4999") == 2);
  CHECK(world.budget->used() == 4);
}

TEST_CASE("a wish that is let go of is not granted, and its turn is the next one's") {
  World world(1);
  world.ask("first");
  world.ask("second");
  world.ask("third");
  world.wishes[1] = nullptr;
  world.answer("first");
  CHECK(world.granted == Places{"first", "third"});
}

class QuietStream final : public Stream {
public:
  explicit QuietStream(boost::asio::io_context& context) : context_(context) {}

  executor_type get_executor() override { return context_.get_executor(); }
  void asyncHandshake(std::function<void(std::string)> /*done*/) override {}
  void asyncFinish(std::function<void()> /*done*/) override {}
  void asyncDiscardSome(boost::asio::mutable_buffer /*buffer*/, Transferred /*done*/) override {}
  void asyncAwaitInput(std::function<void()> /*done*/) override {}
  bool isQuiet() override { return true; }
  bool hasEnded() override { return false; }
  void close() override {}

protected:
  void readSome(boost::asio::mutable_buffer /*buffer*/, Transferred /*done*/) override {}
  void writeSome(const ConstBuffers& /*buffers*/, std::size_t /*count*/, Transferred /*done*/) override {}

private:
  boost::asio::io_context& context_;
};

TEST_CASE("An idle connection whose time is over is not used again, though its alarm has not been served yet") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto pool = std::make_shared<ConnectionPool>(context.get_executor(), clock, 10s, 60s);
  const auto early = std::make_shared<QuietStream>(context);
  const auto late = std::make_shared<QuietStream>(context);
  pool->give("a", {.stream = early, .bornAt = clock->steadyNow()});
  pool->give("b", {.stream = late, .bornAt = clock->steadyNow()});
  clock->advance(10s - 1ms);
  CHECK(pool->take("a").stream == early);
  clock->advance(1ms);
  CHECK(pool->take("b").stream == nullptr);
}

TEST_CASE("P11: a connection that is never idle for long ends with its age, idle or behind its request") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto pool = std::make_shared<ConnectionPool>(context.get_executor(), clock, 50s, 60s);
  const auto stream = std::make_shared<QuietStream>(context);
  const SteadyTime bornAt = clock->steadyNow();
  pool->give("a", {.stream = stream, .bornAt = bornAt});
  for (int turn = 0; turn < 3; ++turn) {
    clock->advance(20s - 1ms);
    const ConnectionPool::Connection taken = pool->take("a");
    REQUIRE(taken.stream == stream);
    CHECK((taken.bornAt == bornAt));
    pool->give("a", taken);
  }
  clock->advance(3ms);
  CHECK(pool->take("a").stream == nullptr);
  pool->give("a", {.stream = stream, .bornAt = bornAt});
  CHECK(pool->take("a").stream == nullptr);
}

TEST_CASE("of idle connections the one that was left first is closed first, however soon another's age ends") {
  boost::asio::io_context context;
  const auto clock = std::make_shared<testing::ManualClock>();
  const auto pool = std::make_shared<ConnectionPool>(context.get_executor(), clock, 50s, 60s);
  const auto young = std::make_shared<QuietStream>(context);
  const auto old = std::make_shared<QuietStream>(context);
  const SteadyTime before = clock->steadyNow();
  clock->advance(30s);
  pool->give("young", {.stream = young, .bornAt = clock->steadyNow()});
  clock->advance(1s);
  pool->give("old", {.stream = old, .bornAt = before});
  CHECK(pool->closeOldest());
  CHECK(pool->take("young").stream == nullptr);
  CHECK(pool->take("old").stream == old);
}

}  // namespace
}  // namespace ackbox::transport::connection_budget_test
