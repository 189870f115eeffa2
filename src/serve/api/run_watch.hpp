#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"

namespace ackbox {
class OutboxManager;
}

namespace ackbox::serve {

/// Restarts the delivery within a second after it ended without a request, such as for lack of memory.
///
/// Thread-safety: all members may be called from any thread.
class RunWatch : public std::enable_shared_from_this<RunWatch> {
public:
  /// Lifetime: `manager` must outlive all work on `executor`.
  RunWatch(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, OutboxManager& manager,
           LogSink log);

  /// Starts to watch; the delivery must have begun.
  void start();
  /// Stops asynchronously: no run begins after the executor has processed this call.
  void stop();

  /// Whether messages are being delivered, and the delivery has not ended unexpectedly in the last five seconds.
  [[nodiscard]] bool isWell() const;

private:
  void arm();
  void look();
  void report(const std::string& text) const;

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  OutboxManager& manager_;
  const LogSink log_;
  std::atomic<SteadyTime> lastEnd_ = SteadyTime::min();
  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  bool isStopped_ = false;
};

}  // namespace ackbox::serve
