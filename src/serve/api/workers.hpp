#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <string>

#include "base/mutex.hpp"
#include "serve/api/turns.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {

/// Threads on which operations wait for SQLite, so that the connections' thread never does. The queue is limited: a
/// request beyond the limit, or beyond its caller's share (`mayTakePlace`), is answered with 503 at once. Callers take
/// turns.
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

  /// Calls `respond` with what `work` returns, or with its exception as an answer. `sharer`: see `Request::sharer`.
  void answer(const std::string& sharer, std::function<Response()> work, Respond respond);

  /// Queues `work`, regardless of the limit. `work` must not throw.
  void run(const std::string& sharer, std::function<void()> work);

  /// Returns when no work is left; discards work that is queued later.
  void join();

private:
  struct Task {
    std::function<void()> work;
    bool isCounted = false;
  };

  void post();
  void runNext();

  const std::size_t waitingMax_;
  Mutex mutex_;
  Turns<Task> turns_ ACKBOX_GUARDED_BY(mutex_);
  // Of these, the work that the limit counts.
  std::size_t waiting_ ACKBOX_GUARDED_BY(mutex_) = 0;
  boost::asio::thread_pool threads_;
};

}  // namespace ackbox::serve
