#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>

#include "bench/measurement.hpp"

namespace ackbox::bench {

/// This process's processor time, user and system, of all its threads.
[[nodiscard]] inline double ownCpuMicroseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto microseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

/// How fast, and for how much processor time each: where the machine is shared or the disk slow, only the second says
/// anything about the code.
struct Pace {
  double perSecond = 0;
  double cpuMicroseconds = 0;
};

/// Takes the time of this process from its making on.
class PaceMeter {
public:
  [[nodiscard]] Pace of(std::uint64_t count) const {
    return {perSecond(count, std::chrono::steady_clock::now() - start_),
            (ownCpuMicroseconds() - cpuBefore_) / static_cast<double>(count)};
  }

private:
  const double cpuBefore_ = ownCpuMicroseconds();
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The pace of work that is done in several turns.
class TurnMeter {
public:
  /// Does a turn: `work()` returns how many it has done.
  template <typename Work>
  void turn(Work&& work) {
    const double cpuBefore = ownCpuMicroseconds();
    const auto start = std::chrono::steady_clock::now();
    count_ += work();
    elapsed_ += std::chrono::steady_clock::now() - start;
    cpuMicroseconds_ += ownCpuMicroseconds() - cpuBefore;
  }

  [[nodiscard]] Pace pace() const {
    return {perSecond(count_, elapsed_), cpuMicroseconds_ / static_cast<double>(count_)};
  }

private:
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::duration elapsed_{0};
  double cpuMicroseconds_ = 0;
};

}  // namespace ackbox::bench
