// Goal: one subscriber can neither harm another nor be called after it left.
// Method: the list alone, called from one or two threads.

#include "manager/run/subscribers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>

namespace ackbox::manager {
namespace {

TEST_CASE("each subscriber is called, also after one that throws") {
  Subscribers<SentEvent> list;
  int calls = 0;
  const Subscription first = list.add([](const SentEvent&) { throw std::runtime_error("mine"); });
  const Subscription second = list.add([&](const SentEvent&) { ++calls; });
  list.emit({});
  list.emit({});
  CHECK(calls == 2);
}

TEST_CASE("a subscription ends with its handle") {
  Subscribers<SentEvent> list;
  int calls = 0;
  {
    const Subscription handle = list.add([&](const SentEvent&) { ++calls; });
    list.emit({});
  }
  list.emit({});
  CHECK(calls == 1);
}

TEST_CASE("a callback may unsubscribe itself and subscribe another") {
  Subscribers<SentEvent> list;
  int first = 0;
  int second = 0;
  std::optional<Subscription> own;
  std::optional<Subscription> other;
  own = list.add([&](const SentEvent&) {
    ++first;
    own.reset();
    other = list.add([&](const SentEvent&) { ++second; });
  });
  list.emit({});
  list.emit({});
  CHECK(first == 1);
  CHECK(second == 1);
}

TEST_CASE("an unsubscribe on another thread returns only when the callback does not run") {
  Subscribers<SentEvent> list;
  std::atomic<bool> entered{false};
  std::atomic<bool> leave{false};
  std::atomic<bool> running{false};
  std::optional<Subscription> handle = list.add([&](const SentEvent&) {
    running = true;
    entered = true;
    entered.notify_all();
    leave.wait(false);
    running = false;
  });
  std::thread emitter([&] { list.emit({}); });
  entered.wait(false);
  std::thread releaser([&] {
    leave = true;
    leave.notify_all();
  });
  handle.reset();
  CHECK_FALSE(running.load());
  emitter.join();
  releaser.join();
}

TEST_CASE("a subscription may outlive its list") {
  std::optional<Subscription> handle;
  {
    Subscribers<SentEvent> list;
    handle = list.add([](const SentEvent&) {});
  }
  handle.reset();
  CHECK_FALSE(handle.has_value());
}

}  // namespace
}  // namespace ackbox::manager
