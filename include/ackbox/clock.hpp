#pragma once

// Nearly every header includes this one, so that it is the first to find out.
#if __cplusplus < 202002L
#error "ackbox needs C++20: compile with -std=c++20, or set CMAKE_CXX_STANDARD to 20"
#endif

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class any_io_executor;
}

namespace ackbox {

/// Monotonic instant: measures durations inside one process, never stored.
using SteadyTime = std::chrono::steady_clock::time_point;

/// Calendar instant in milliseconds since 1970-01-01 UTC: what the store and the wire carry.
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// One pending wake-up, made by `Clock::makeAlarm`.
///
/// Thread-safety: used from one executor only, the one it was made for.
class Alarm {
public:
  virtual ~Alarm() = default;

  /// Calls `wake` once, on the alarm's executor, at `deadline` or as soon as possible after it.
  /// A second call replaces the first.
  virtual void set(SteadyTime deadline, std::function<void()> wake) = 0;

  /// Cancels the pending wake-up; after it returns, the callback is not called.
  virtual void cancel() = 0;
};

/// The source of time. All code in ackbox that reads the time or waits for an instant uses a `Clock`, so that a test or
/// a simulation can control time.
///
/// Thread-safety: all members may be called from any thread.
class Clock {
public:
  virtual ~Clock() = default;

  /// The current monotonic instant.
  [[nodiscard]] virtual SteadyTime steadyNow() const = 0;

  /// The current calendar instant; may step in either direction.
  [[nodiscard]] virtual WallTime wallNow() const = 0;

  /// A new alarm whose callbacks run on `executor`.
  [[nodiscard]] virtual std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) = 0;
};

/// The machine's own clocks (`CLOCK_MONOTONIC`, `CLOCK_REALTIME`), with alarms on Asio timers.
[[nodiscard]] std::shared_ptr<Clock> systemClock();

}  // namespace ackbox
