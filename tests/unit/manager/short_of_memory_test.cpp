// Goal: a run that lacks the memory for anything loses nothing and never waits for ever: it goes on, or it ends, which
// is reported, and the next run delivers what it left (P3, P11). Method: a global operator new that fails once, at the
// n-th allocation of the run's thread after the peer's answer, for each n in turn.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"
#include "support/test_frame.hpp"

namespace {

// Allocations of this thread before the one that fails; negative: none fails.
thread_local int allocationsLeft = -1;

void* allocate(std::size_t size) {
  if (allocationsLeft >= 0 && allocationsLeft-- == 0) {
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace ackbox {
namespace {

using testing::ScriptedSender;
using testing::testFrame;

/// Answers, and lets an allocation of the run's thread fail afterwards.
struct ShortSender final : Sender {
  void asyncSend(SendRequest request, SendHandler handler) override {
    SendReport report = ScriptedSender::all(request, Outcome::ack);
    handler(std::move(report));
    allocationsLeft = failsAfter.exchange(-1);
  }
  std::atomic<int> failsAfter{-1};
};

/// True if the run ended for want of memory.
bool deliverShortOf(int allocation, int messages) {
  const testing::TempDir dir;
  OutboxOptions options;
  options.pollInterval = std::chrono::hours(1);
  options.batchFrames = 1;
  OutboxManager manager = OutboxManager::open(dir.file("agent.db"), options);
  std::atomic<bool> isBroken = false;
  const Subscription subscription = manager.onHealth([&isBroken](const HealthEvent& event) {
    isBroken = isBroken || event.sentence.find("a delivery run ends") != std::string::npos;
  });
  const auto sender = std::make_shared<ShortSender>();
  sender->failsAfter = allocation;
  manager.setSender(sender);
  for (int number = 0; number < messages; ++number) {
    manager.enqueue(testFrame(std::to_string(number)));
  }
  manager.start();
  const auto wanted = static_cast<std::uint64_t>(messages);
  while (!isBroken && manager.getStats().acked < wanted) {
    std::this_thread::yield();
  }
  const bool wasBroken = isBroken;
  // Returns also if the run has ended by itself.
  manager.stop();
  manager.start();
  while (manager.getStats().acked < wanted) {
    std::this_thread::yield();
  }
  manager.stop();
  CHECK(manager.verify().clean());
  return wasBroken;
}

}  // namespace

TEST_CASE("P3 P11: a run that lacks memory once delivers everything, itself or by the next run, and a stop returns") {
  int broken = 0;
  for (int allocation = 0; allocation < 60; ++allocation) {
    CAPTURE(allocation);
    broken += deliverShortOf(allocation, 1) ? 1 : 0;
    broken += deliverShortOf(allocation, 3) ? 1 : 0;
  }
  CHECK(broken > 0);
}

}  // namespace ackbox
