// Goal: P6, what is known of a sender's stores is given up only where none of their frames can take effect again.
// Method: stores of one sender that fall silent, or are forgotten, and speak again.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "store_conformance/marks.hpp"
#include "store_conformance/world.hpp"

namespace closed_stores_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::Admission;
using store::InboundIdentity;

TEST_CASE("P6: a store that was silent for long after another began is closed, and nothing of it takes effect again") {
  World world;
  const auto store = world.open();
  CHECK(speak(*store, "old", 1) == Admission::take);
  CHECK(speak(*store, "old", 1, "t") == Admission::take);
  world.clock->advance(2 * kDay);
  CHECK(speak(*store, "new", 1) == Admission::take);
  world.clock->advance(179 * kDay);
  CHECK(speak(*store, "new", 2) == Admission::take);
  CHECK(speak(*store, "old", 1) == Admission::duplicate);
  world.clock->advance(3 * kDay);
  CHECK(speak(*store, "new", 3) == Admission::take);
  const std::vector<InboundOriginStats> origins = world.reader()->inboundOrigins("urn:peer", 10);
  CHECK(std::ranges::count_if(origins, [](const InboundOriginStats& each) {
          return each.origin == "old" && each.isClosed && each.sessions == 0;
        }) == 1);
  // Neither a repetition nor a next one: what was accepted is not known any more.
  CHECK(speak(*store, "old", 1) == Admission::closedOrigin);
  CHECK(speak(*store, "old", 2) == Admission::closedOrigin);
  CHECK(world.problems() == "");
}

TEST_CASE("P6: a store that nobody took the place of is never closed, however long it is silent") {
  World world;
  const auto store = world.open();
  CHECK(speak(*store, "first", 1) == Admission::take);
  world.clock->advance(4'000 * kDay);
  // It began just now: whether it takes the place of the other is not known yet.
  CHECK(speak(*store, "second", 1) == Admission::take);
  CHECK(speak(*store, "first", 1) == Admission::duplicate);
  CHECK(speak(*store, "first", 2) == Admission::take);
}

TEST_CASE("P6: two stores of one sender that speak in turns stay open when the clock leaps ahead") {
  World world;
  const auto store = world.open();
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    CHECK(speak(*store, "a", sequence) == Admission::take);
    CHECK(speak(*store, "b", sequence) == Admission::take);
    world.clock->advance(2 * kDay);
  }
  world.clock->advance(1'000 * kDay);
  CHECK(speak(*store, "c", 1) == Admission::take);
  CHECK(speak(*store, "a", 4) == Admission::take);
  CHECK(speak(*store, "b", 4) == Admission::take);
}

TEST_CASE("P6: a sender is forgotten in the transaction that takes a frame of it") {
  World world;
  const auto store = world.open();
  CHECK(speak(*store, "store", 1) == Admission::take);
  const auto report = inTransaction(*store, [&] {
    InboundIdentity next = numbered(2, 1);
    next.origin = "store";
    CHECK(store->inboundMarks().admit(next).admission == Admission::take);
    store->inboundMarks().markProcessed(next, 0, kClosingLife);
    store::ForgetPlace place;
    return store->inboundMarks().forgetSender("urn:peer", std::nullopt, place, 100);
  });
  CHECK(report.sessions == 1);
  CHECK(speak(*store, "store", 1) == Admission::take);
  CHECK(world.problems() == "");
}

}  // namespace closed_stores_test
