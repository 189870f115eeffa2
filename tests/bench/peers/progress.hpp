#pragma once

#include <semaphore.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace ackbox::bench::peers {

/// What the producer's and the consumer's process know of each other, in memory that they share: a measurement's own
/// wire, so that a queue under measurement carries nothing but messages.
class Progress {
public:
  /// To be made before the consumer's process is.
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The consumer: is connected; has the effects of `count` more on disk and has acknowledged them.
  void ready();
  void acknowledged(std::uint64_t count);
  [[nodiscard]] bool isStopped() const;

  /// The producer: awaits the consumer `pid`. Throw `std::runtime_error` when it ends or stands still for 30 s.
  void awaitReady(pid_t pid);
  void awaitAcknowledged(std::uint64_t total, pid_t pid);
  void stop();

private:
  struct Shared {
    std::atomic<std::uint64_t> acknowledged{0};
    std::atomic<bool> isReady{false};
    std::atomic<bool> isStopped{false};
    sem_t changed{};
  };

  void awaitChange(pid_t pid);

  Shared* const shared_;
};

}  // namespace ackbox::bench::peers
