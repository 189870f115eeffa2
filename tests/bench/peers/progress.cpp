#include "bench/peers/progress.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <new>
#include <stdexcept>
#include <string>

namespace ackbox::bench::peers {
namespace {

void* sharedMemory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("no memory to share with the consumer");
  }
  return memory;
}

}  // namespace

Progress::Progress() : shared_(new (sharedMemory(sizeof(Shared))) Shared) {
  sem_init(&shared_->changed, 1, 0);
}

Progress::~Progress() {
  munmap(shared_, sizeof(Shared));
}

void Progress::ready() {
  shared_->isReady = true;
  sem_post(&shared_->changed);
}

void Progress::acknowledged(std::uint64_t count) {
  shared_->acknowledged += count;
  sem_post(&shared_->changed);
}

bool Progress::isStopped() const {
  return shared_->isStopped;
}

void Progress::awaitReady(pid_t pid) {
  while (!shared_->isReady) {
    awaitChange(pid);
  }
}

void Progress::awaitAcknowledged(std::uint64_t total, pid_t pid) {
  while (shared_->acknowledged < total) {
    awaitChange(pid);
  }
}

void Progress::stop() {
  shared_->isStopped = true;
}

void Progress::awaitChange(pid_t pid) {
  constexpr int kPatienceSeconds = 30;
  for (int second = 0; second < kPatienceSeconds; ++second) {
    timespec deadline{};
    clock_gettime(CLOCK_REALTIME, &deadline);
    ++deadline.tv_sec;
    if (sem_timedwait(&shared_->changed, &deadline) == 0) {
      return;
    }
    if (waitpid(pid, nullptr, WNOHANG) == pid) {
      throw std::runtime_error("the consumer ended");
    }
  }
  throw std::runtime_error("delivery stands still at " + std::to_string(shared_->acknowledged) + " messages");
}

}  // namespace ackbox::bench::peers
