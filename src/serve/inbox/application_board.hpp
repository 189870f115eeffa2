#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/inbox.hpp"
#include "base/mutex.hpp"

namespace ackbox::serve {

/// A copy of what the executor knows about the applications, for threads that may not wait for the executor. Refreshed
/// every second.
///
/// Thread-safety: all members may be called from any thread.
class ApplicationBoard : public std::enable_shared_from_this<ApplicationBoard> {
public:
  using Applications = std::vector<Application>;

  /// `executor` must be serial; `read` is called on it.
  ApplicationBoard(boost::asio::any_io_executor executor, const std::shared_ptr<Clock>& clock,
                   std::function<Applications()> read);

  void start();
  /// Idempotent. `read` is not called any more after the executor has processed this call.
  void stop();
  /// Null before the first refresh.
  [[nodiscard]] std::shared_ptr<const Applications> current() const;

private:
  void refresh();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::function<Applications()> read_;
  mutable Mutex mutex_;
  std::shared_ptr<const Applications> current_ ACKBOX_GUARDED_BY(mutex_);
  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  bool stopped_ = false;
};

}  // namespace ackbox::serve
