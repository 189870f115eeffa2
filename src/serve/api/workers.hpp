#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>

#include "serve/http/request.hpp"

namespace ackbox::serve {

/// Threads on which operations wait for SQLite, so that the connections' thread never does. The queue is limited: a
/// request beyond the limit is answered with 503 at once.
///
/// Thread-safety: all members may be called from any thread.
class Workers {
public:
  /// `waitingMax`: see `Places::work`.
  Workers(std::size_t threads, std::size_t waitingMax);
  /// Finishes the running and the queued work.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls `respond` with what `work` returns, or with its exception as an answer.
  void answer(std::function<Response()> work, Respond respond);

  /// Queues `work`, regardless of the limit. `work` must not throw.
  void run(std::function<void()> work);

  /// Returns when no work is left; discards work that is queued later.
  void join();

private:
  const std::size_t waitingMax_;
  std::atomic<std::size_t> waiting_ = 0;
  boost::asio::thread_pool threads_;
};

}  // namespace ackbox::serve
