#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "ackbox/clock.hpp"
#include "base/exception_report.hpp"
#include "base/own_thread.hpp"

namespace ackbox::manager {

/// Calls `work` at an interval, on a thread of its own, as long as `work` returns true, and again whenever it is armed.
/// An exception is passed to `onException`, and the next turn tries again.
///
/// Thread-safety: `arm` may be called from any thread.
class PollThread {
public:
  /// `onException` is called on the thread.
  PollThread(Clock& clock, std::chrono::milliseconds interval, std::function<bool()> work, OnException onException);
  /// Not on its own thread.
  ~PollThread();
  PollThread(const PollThread&) = delete;
  PollThread& operator=(const PollThread&) = delete;

  void arm();

private:
  void wait();

  // Constant after construction.
  Clock& clock_;
  const std::chrono::milliseconds interval_;
  const std::function<bool()> work_;
  const OnException onException_;

  OwnThread thread_;
  // Owned by the thread.
  const std::unique_ptr<Alarm> alarm_;
  bool armed_ = false;
};

}  // namespace ackbox::manager
