// Goal: the system clock's alarms keep the contract of `Alarm`: once, not early, the last `set` counts, and nothing
// after `cancel` or destruction, even when the wake-up had already been queued.
// Method: an io_context run by the test. Deadlines lie in the past wherever the order alone matters; two alarms that
// are due together let the first callback act on a second one that is queued behind it.

#include "ackbox/clock.hpp"

#include <doctest/doctest.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace ackbox::clock_test {
namespace {

struct World {
  boost::asio::io_context context;
  std::shared_ptr<Clock> clock = systemClock();
  std::string calls;

  std::unique_ptr<Alarm> makeAlarm() { return clock->makeAlarm(context.get_executor()); }
  std::function<void()> note(char name) {
    return [this, name] { calls += name; };
  }
  SteadyTime past() const { return clock->steadyNow() - 1s; }
  SteadyTime never() const { return clock->steadyNow() + 1h; }
};

}  // namespace

TEST_CASE("an alarm wakes once, not before its deadline") {
  World world;
  const auto alarm = world.makeAlarm();
  const SteadyTime deadline = world.clock->steadyNow() + 10ms;
  SteadyTime wokenAt{};
  alarm->set(deadline, [&] { wokenAt = world.clock->steadyNow(); });
  CHECK(world.context.run() == 1);
  CHECK(wokenAt >= deadline);
}

TEST_CASE("an alarm whose deadline has passed wakes at once, but not inside set") {
  World world;
  const auto alarm = world.makeAlarm();
  alarm->set(world.past(), world.note('a'));
  CHECK(world.calls == "");
  world.context.run();
  CHECK(world.calls == "a");
}

TEST_CASE("a second set replaces the first, earlier or later") {
  World world;
  const auto alarm = world.makeAlarm();
  SUBCASE("later by earlier") {
    alarm->set(world.never(), world.note('a'));
    alarm->set(world.past(), world.note('b'));
  }
  SUBCASE("earlier by later") {
    alarm->set(world.past(), world.note('a'));
    alarm->set(world.clock->steadyNow() + 5ms, world.note('b'));
  }
  SUBCASE("put off, then drawn near") {
    alarm->set(world.never(), world.note('a'));
    alarm->set(world.never(), world.note('a'));
    alarm->set(world.past(), world.note('b'));
  }
  world.context.run();
  CHECK(world.calls == "b");
}

TEST_CASE("an alarm that was put off wakes once, not before the deadline that it has now") {
  World world;
  const auto alarm = world.makeAlarm();
  const SteadyTime now = world.clock->steadyNow();
  SteadyTime wokenAt{};
  alarm->set(now + 2ms, world.note('a'));
  alarm->set(now + 6ms, world.note('a'));
  alarm->set(now + 10ms, [&] {
    wokenAt = world.clock->steadyNow();
    world.calls += 'b';
  });
  world.context.run();
  CHECK(world.calls == "b");
  CHECK(wokenAt >= now + 10ms);
}

TEST_CASE("an alarm that was put off can be cancelled") {
  World world;
  const auto alarm = world.makeAlarm();
  alarm->set(world.past(), world.note('a'));
  alarm->set(world.never(), world.note('b'));
  alarm->cancel();
  world.context.run();
  CHECK(world.calls == "");
}

TEST_CASE("what a wake-up holds goes with the executor, put off or not") {
  struct Owner {
    std::unique_ptr<Alarm> alarm;
  };
  std::weak_ptr<Owner> seen;
  {
    World world;
    const auto owner = std::make_shared<Owner>();
    seen = owner;
    owner->alarm = world.makeAlarm();
    owner->alarm->set(world.never(), [owner] {});
    owner->alarm->set(world.never(), [owner] {});
  }
  CHECK(seen.expired());
}

TEST_CASE("an alarm can be set again from its own callback") {
  World world;
  const auto alarm = world.makeAlarm();
  alarm->set(world.past(), [&] {
    world.calls += 'a';
    alarm->set(world.past(), world.note('b'));
  });
  world.context.run();
  CHECK(world.calls == "ab");
}

TEST_CASE("a cancelled alarm does not wake, and can be set again") {
  World world;
  const auto alarm = world.makeAlarm();
  alarm->set(world.past(), world.note('a'));
  alarm->cancel();
  world.context.run();
  CHECK(world.calls == "");

  alarm->set(world.past(), world.note('b'));
  world.context.restart();
  world.context.run();
  CHECK(world.calls == "b");
}

TEST_CASE("cancelling an alarm that was never set does nothing") {
  World world;
  world.makeAlarm()->cancel();
  CHECK(world.context.run() == 0);
}

TEST_CASE("an alarm whose wake-up is queued keeps still when it is cancelled, replaced or destroyed") {
  World world;
  const auto first = world.makeAlarm();
  auto second = world.makeAlarm();
  const SteadyTime due = world.past();
  std::function<void()> act;
  std::string expected;
  SUBCASE("cancelled") {
    act = [&] { second->cancel(); };
  }
  SUBCASE("replaced") {
    act = [&] { second->set(due, world.note('c')); };
    expected = "c";
  }
  SUBCASE("destroyed") {
    act = [&] { second.reset(); };
  }
  first->set(due, [&] { act(); });
  second->set(due + 1ns, world.note('b'));
  world.context.run();
  CHECK(world.calls == expected);
}

TEST_CASE("the calendar clock carries whole milliseconds of this century") {
  using namespace std::chrono;
  const WallTime now = systemClock()->wallNow();
  CHECK(now > WallTime(sys_days(2024y / January / 1)));
  CHECK(now < WallTime(sys_days(2100y / January / 1)));
}

TEST_CASE("the monotonic clock does not run backwards") {
  const auto clock = systemClock();
  SteadyTime before = clock->steadyNow();
  for (int reading = 0; reading < 1'000; ++reading) {
    const SteadyTime now = clock->steadyNow();
    REQUIRE(now >= before);
    before = now;
  }
}

}  // namespace ackbox::clock_test
