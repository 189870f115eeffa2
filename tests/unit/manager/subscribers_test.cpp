// Goal: one subscriber can neither harm another nor be called after it left.
// Method: the list alone, called from one or two threads.

#include "manager/run/subscribers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ackbox::manager::subscribers_test {
namespace {

constexpr std::chrono::seconds kDeadlock{10};

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

SentEvent named(const std::string& id) {
  SentEvent event;
  event.messageId = id;
  return event;
}

TEST_CASE("an event waits for no callback: the thread that is inside delivers it behind, in order and alone") {
  Subscribers<SentEvent> list;
  const std::thread::id outer = std::this_thread::get_id();
  std::vector<std::string> calls;
  bool inTime = false;
  bool sameThread = true;
  // Outlives the callback, so that the end of the wait fails the test and does not hang it.
  std::future<void> others;
  const Subscription handle = list.add([&](const SentEvent& event) {
    calls.push_back(event.messageId);
    sameThread = sameThread && std::this_thread::get_id() == outer;
    if (event.messageId == "first") {
      others = std::async(std::launch::async, [&] {
        list.emit(named("second"));
        list.emit(named("third"));
      });
      inTime = others.wait_for(kDeadlock) == std::future_status::ready;
      // What this thread reports itself comes after what was reported before.
      list.emit(named("fourth"));
      calls.emplace_back("end of first");
    }
  });
  list.emit(named("first"));
  CHECK(inTime);
  CHECK(sameThread);
  CHECK(calls == std::vector<std::string>{"first", "second", "third", "fourth", "end of first"});
}

TEST_CASE("what waits behind a callback that unsubscribes itself is not delivered") {
  Subscribers<SentEvent> list;
  int calls = 0;
  std::future<void> other;
  std::optional<Subscription> own;
  own = list.add([&](const SentEvent&) {
    ++calls;
    other = std::async(std::launch::async, [&] { list.emit({}); });
    CHECK(other.wait_for(kDeadlock) == std::future_status::ready);
    own.reset();
  });
  list.emit({});
  list.emit({});
  CHECK(calls == 1);
}

TEST_CASE("what a callback holds is gone when the unsubscribe has returned") {
  Subscribers<SentEvent> list;
  const auto held = std::make_shared<int>(1);
  std::optional<Subscription> handle = list.add([held](const SentEvent&) {});
  list.emit({});
  handle.reset();
  CHECK(held.use_count() == 1);
  // Also where it unsubscribes itself, and what it holds is the subscription.
  const auto own = std::make_shared<Subscription>();
  *own = list.add([held, own](const SentEvent&) { own->reset(); });
  list.emit({});
  CHECK(held.use_count() == 1);
  CHECK(own.use_count() == 1);
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
}  // namespace ackbox::manager::subscribers_test
