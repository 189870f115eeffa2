// Goal: P12: a consumer of a mailbox that comes and goes costs what it changes, however many queues and other consumers
// the mailbox has. Method: a global operator new that counts, over a large state.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "reception/inbox_machine.hpp"

namespace {

std::size_t allocations = 0;

void* allocateCounted(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return allocateCounted(size);
}
void* operator new[](std::size_t size) {
  return allocateCounted(size);
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

namespace ackbox::reception::inbox_cost_test {

TEST_CASE("P12: a stream of a mailbox that opens and ends does not touch its queues") {
  constexpr int kQueues = 2'000;
  constexpr std::uint64_t kStreams = 100;
  InboxMachine machine({{.places = 1, .isOnDemand = true, .isForMailboxes = true}});
  for (std::uint64_t id = 1; id <= kStreams; ++id) {
    machine.want(0, {.id = id, .count = 0, .mailbox = "m"});
  }
  for (int number = 1; number <= kQueues; ++number) {
    const std::string sender = "sender-" + std::to_string(number);
    machine.arrived({.key = number, .sender = sender, .queue = sender, .mailbox = "m", .type = "t"});
  }
  const std::size_t before = allocations;
  machine.want(0, {.id = kStreams + 1, .count = 0, .mailbox = "m"});
  machine.unwant(0, kStreams + 1);
  CHECK(allocations - before < kQueues / 10);
  machine.want(0, {.id = kStreams + 2, .count = kQueues, .mailbox = "m"});
  CHECK(machine.takeTurns(1).size() == 1);
}

}  // namespace ackbox::reception::inbox_cost_test
