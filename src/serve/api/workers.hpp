#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>

#include "serve/http/request.hpp"

namespace ackbox::serve {

/// Threads on which operations wait for SQLite, so that the connections' thread never does. What they have not begun is
/// limited: beyond it a request is answered with 503 at once.
///
/// Thread-safety: all members may be called from any thread.
class Workers {
public:
  /// `waitingMax`: see `Places::work`.
  Workers(std::size_t threads, std::size_t waitingMax);
  /// Finishes what was begun and what waits.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls `respond` with what `work` returns, or with its exception as an answer.
  void answer(std::function<Response()> work, Respond respond);

  /// Runs `work` later, whatever waits. It must not throw.
  void run(std::function<void()> work);

  /// Returns when nothing is left; what comes later is not run.
  void join();

private:
  const std::size_t waitingMax_;
  std::atomic<std::size_t> waiting_ = 0;
  boost::asio::thread_pool threads_;
};

}  // namespace ackbox::serve
