// Goal: what a handler throws is reported and ends neither its thread nor the handlers behind it (P11). Method: a real
// thread, and handlers that throw.

#include "base/own_thread.hpp"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace ackbox::own_thread_test {
namespace {

TEST_CASE("P11: what a thread's handler throws is reported by its own words, and the next handler runs") {
  std::vector<std::string> reported;
  int runs = 0;
  OwnThread thread([&](const std::string& what) { reported.push_back(what); });
  boost::asio::post(thread.executor(), [] { throw std::runtime_error("no memory"); });
  boost::asio::post(thread.executor(), [] { throw 42; });
  boost::asio::post(thread.executor(), [&runs] { ++runs; });
  thread.end();
  CHECK(reported == std::vector<std::string>{"no memory", "an exception that is no std::exception"});
  CHECK(runs == 1);
}

TEST_CASE("P11: a report that throws, as for want of memory, ends nothing either") {
  int runs = 0;
  OwnThread thread([](const std::string&) { throw std::runtime_error("nor for this"); });
  boost::asio::post(thread.executor(), [] { throw std::runtime_error("no memory"); });
  boost::asio::post(thread.executor(), [&runs] { ++runs; });
  thread.end();
  CHECK(runs == 1);
}

}  // namespace
}  // namespace ackbox::own_thread_test
