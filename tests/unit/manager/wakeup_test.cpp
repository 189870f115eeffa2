// Goal: a bell wakes a sleeping context, loses no ring, and lets the context end.
// Method: one context, run here or by another thread.

#include "manager/run/wakeup.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>

namespace wakeup_test {

using ackbox::manager::Wakeup;

TEST_CASE("a ring is heard, several before that may be heard as one, and none is heard twice") {
  boost::asio::io_context context;
  int heard = 0;
  const auto bell = std::make_shared<Wakeup>(context.get_executor(), [&heard] { ++heard; });
  REQUIRE(bell->open());
  context.poll();
  CHECK(heard == 0);
  bell->ring();
  bell->ring();
  context.run_one();
  CHECK(heard == 1);
  context.poll();
  CHECK(heard == 1);
  bell->ring();
  context.run_one();
  CHECK(heard == 2);
}

TEST_CASE("who is rung for while hearing is told again") {
  boost::asio::io_context context;
  int heard = 0;
  std::shared_ptr<Wakeup> bell;
  bell = std::make_shared<Wakeup>(context.get_executor(), [&] {
    if (++heard == 1) {
      bell->ring();
    }
  });
  REQUIRE(bell->open());
  bell->ring();
  context.run_one();
  context.run_one();
  CHECK(heard == 2);
  bell->stop();
}

TEST_CASE("every ring of another thread is followed by a hearing, and a stopped bell keeps no context busy") {
  constexpr int kRings = 10'000;
  boost::asio::io_context context;
  std::atomic<int> rung{0};
  int seen = 0;
  std::shared_ptr<Wakeup> bell;
  bell = std::make_shared<Wakeup>(context.get_executor(), [&] {
    seen = rung.load();
    if (seen == kRings) {
      bell->stop();
    }
  });
  REQUIRE(bell->open());
  std::thread ringing([&] {
    for (int ring = 0; ring < kRings; ++ring) {
      ++rung;
      bell->ring();
    }
  });
  // Without the last ring it would never end.
  context.run();
  ringing.join();
  CHECK(seen == kRings);
}

TEST_CASE("before it hangs, and after its stop, a ring makes no difference") {
  boost::asio::io_context context;
  int heard = 0;
  const auto bell = std::make_shared<Wakeup>(context.get_executor(), [&heard] { ++heard; });
  bell->ring();
  REQUIRE(bell->open());
  context.poll();
  CHECK(heard == 0);
  bell->ring();
  bell->stop();
  bell->ring();
  context.restart();
  context.run();
  CHECK(heard == 0);
}

}  // namespace wakeup_test
