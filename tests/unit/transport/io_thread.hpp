#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace ackbox::testing {

/// An `io_context` with a thread that runs it until the destructor.
class IoThread {
public:
  IoThread() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;
  ~IoThread() { finish(); }

  [[nodiscard]] boost::asio::io_context::executor_type executor() { return context_.get_executor(); }

  /// Returns when no work is left to run: an operation that stays pending makes the test hang and fail.
  void finish() {
    work_.reset();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace ackbox::testing
