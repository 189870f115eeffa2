#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

#include "base/exception_report.hpp"

namespace ackbox {

/// An executor and the one thread that runs it. An exception from a handler is reported and ends that handler alone:
/// its timer, connection or request ends by a timeout if it must, and the others go on.
///
/// Thread-safety: `executor` may be called from any thread; `end` and the destructor not from this thread itself.
class OwnThread {
public:
  /// `onException` is called on the thread.
  explicit OwnThread(OnException onException)
      : onException_(std::move(onException)), guard_(context_.get_executor()), thread_([this] { run(); }) {}
  ~OwnThread() { end(); }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  [[nodiscard]] boost::asio::any_io_executor executor() { return context_.get_executor(); }

  /// Ends the thread after it has run the work that is posted by now. Idempotent.
  void end() noexcept {
    if (!thread_.joinable()) {
      return;
    }
    try {
      boost::asio::post(context_, [this] { context_.stop(); });
    } catch (...) {
      // Without the memory to post the stop, the thread stops at once.
      context_.stop();
    }
    thread_.join();
  }

private:
  void run() noexcept {
    while (!context_.stopped()) {
      reportingThrown(onException_, [this] { context_.run(); });
    }
  }

  const OnException onException_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

}  // namespace ackbox
