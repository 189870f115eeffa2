// Goal: no move of the calendar makes a message older than it is, and none that is undone makes it younger (P3).
// Method: the clock with instants that the test makes up.

#include "delivery/open_clock.hpp"

#include <doctest/doctest.h>

namespace ackbox::delivery::open_clock_test {
namespace {

using namespace std::chrono_literals;

struct Calendar {
  Calendar() { look(); }
  void look() { clock.look(now); }
  void pass(std::chrono::milliseconds time) {
    now.steady += time;
    now.wall += time;
    look();
  }
  void move(std::chrono::milliseconds by) {
    now.wall += by;
    look();
  }
  [[nodiscard]] std::chrono::milliseconds age(WallTime since) const { return clock.age(since, now.wall); }

  OpenClock clock;
  Now now{.steady = SteadyTime(1000h), .wall = WallTime(500'000h)};
};

TEST_CASE("P3: what the calendar skips makes no message older that was there before") {
  Calendar calendar;
  const WallTime before = calendar.now.wall - 1h;
  calendar.pass(1h);
  calendar.move(200h);
  CHECK(calendar.age(before) == 2h);
  const WallTime after = calendar.now.wall;
  calendar.pass(1h);
  CHECK(calendar.age(before) == 3h);
  CHECK(calendar.age(after) == 1h);
}

TEST_CASE("P3: a calendar that is set right again counts as if it had never been wrong") {
  Calendar calendar;
  const WallTime before = calendar.now.wall - 1h;
  calendar.move(200h);
  SUBCASE("at once") {
    calendar.move(-200h);
  }
  SUBCASE("in two steps") {
    calendar.move(-150h);
    CHECK(calendar.age(before) == 1h);
    calendar.move(-50h);
  }
  SUBCASE("after a second move") {
    calendar.move(100h);
    calendar.move(-300h);
  }
  CHECK(calendar.age(before) == 1h);
  calendar.pass(10h);
  CHECK(calendar.age(before) == 11h);
}

TEST_CASE("a calendar that is set back further than it was moved ahead leaves nothing to excuse") {
  Calendar calendar;
  const WallTime before = calendar.now.wall - 100h;
  calendar.move(10h);
  calendar.move(-30h);
  CHECK(calendar.age(before) == 80h);
}

TEST_CASE("a calendar that is being corrected by less than a minute counts as it is") {
  Calendar calendar;
  const WallTime before = calendar.now.wall;
  calendar.move(59s);
  CHECK(calendar.age(before) == 59s);
}

}  // namespace
}  // namespace ackbox::delivery::open_clock_test
