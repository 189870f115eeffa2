// Goal: what a poll throws is reported and ends neither the thread nor the polls (P11). Method: time that the test
// moves.

#include "manager/run/poll_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/manual_clock.hpp"

namespace ackbox::manager::poll_thread_test {
namespace {

TEST_CASE("P11: a poll that throws is reported by its own words, and the next one comes") {
  testing::ManualClock clock;
  std::mutex mutex;
  std::vector<std::string> reported;
  std::atomic<int> polls = 0;
  {
    PollThread thread(
        clock, std::chrono::milliseconds(10),
        [&polls] {
          switch (++polls) {
            case 1:
              throw std::runtime_error("no memory");
            case 2:
              throw 42;
            default:
              return false;
          }
        },
        [&](const std::string& what) {
          const std::scoped_lock lock(mutex);
          reported.push_back(what);
        });
    thread.arm();
    while (polls < 3) {
      clock.advance(std::chrono::milliseconds(10));
      std::this_thread::yield();
    }
  }
  CHECK(reported == std::vector<std::string>{"no memory", "an exception that is no std::exception"});
}

}  // namespace
}  // namespace ackbox::manager::poll_thread_test
