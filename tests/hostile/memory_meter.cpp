#include "hostile/memory_meter.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace ackbox::testing {
namespace {

std::atomic<std::size_t> inUse = 0;
std::atomic<std::size_t> peak = 0;

void* allocate(std::size_t size) noexcept {
  void* const memory = std::malloc(std::max<std::size_t>(size, 1));
  if (memory == nullptr) {
    return nullptr;
  }
  const std::size_t bytes = malloc_usable_size(memory);
  const std::size_t now = inUse.fetch_add(bytes) + bytes;
  for (std::size_t seen = peak; seen < now && !peak.compare_exchange_weak(seen, now);) {
  }
  return memory;
}

void* allocateOrThrow(std::size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    inUse -= malloc_usable_size(memory);
    std::free(memory);
  }
}

}  // namespace

MemoryMeter::MemoryMeter() : before_(inUse) {
  peak = before_;
}

std::size_t MemoryMeter::peakGrowth() const {
  return peak > before_ ? peak - before_ : 0;
}

}  // namespace ackbox::testing

// All of a kind: sanitizers have some of their own, which would not go together with these.
void* operator new(std::size_t size) {
  return ackbox::testing::allocateOrThrow(size);
}

void* operator new[](std::size_t size) {
  return ackbox::testing::allocateOrThrow(size);
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return ackbox::testing::allocate(size);
}

void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return ackbox::testing::allocate(size);
}

void operator delete(void* memory) noexcept {
  ackbox::testing::release(memory);
}

void operator delete[](void* memory) noexcept {
  ackbox::testing::release(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  ackbox::testing::release(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
  ackbox::testing::release(memory);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
  ackbox::testing::release(memory);
}

void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  ackbox::testing::release(memory);
}
