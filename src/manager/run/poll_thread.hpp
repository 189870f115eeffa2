#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "ackbox/clock.hpp"

namespace ackbox::manager {

/// Calls `work` at an interval, on a thread of its own, for as long as it returns true and again whenever it is armed.
/// What it throws is passed to `onException`, and the next turn tries again.
///
/// Thread-safety: `arm` may be called from any thread.
class PollThread {
public:
  using OnException = std::function<void(const std::string& what)>;

  /// `onException` must not throw.
  PollThread(Clock& clock, std::chrono::milliseconds interval, std::function<bool()> work, OnException onException);
  /// Not on its own thread.
  ~PollThread();
  PollThread(const PollThread&) = delete;
  PollThread& operator=(const PollThread&) = delete;

  void arm();

private:
  void serve() noexcept;
  // Calls `work`; what it throws is passed on.
  template <typename Work>
  void guarded(Work&& work) noexcept;
  void wait();

  // Constant after construction.
  Clock& clock_;
  const std::chrono::milliseconds interval_;
  const std::function<bool()> work_;
  const OnException onException_;

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  // Owned by the thread.
  std::unique_ptr<Alarm> alarm_;
  bool armed_ = false;

  std::thread thread_;
};

}  // namespace ackbox::manager
