#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/stats.hpp"
#include "base/mutex.hpp"

namespace ackbox::serve {

/// The figures of a span of time.
struct HistorySpan {
  WallTime from = {};
  /// What was counted meanwhile.
  std::uint64_t enqueued = 0;
  std::uint64_t acked = 0;
  std::uint64_t failed = 0;
  std::uint64_t received = 0;
  /// At its end.
  std::uint64_t pending = 0;
};

/// The outbox's figures of the last day, by minutes, and of the last week, by hours, since this process began. Reads
/// the file's totals once a minute, so that no message costs anything.
///
/// Thread-safety: all members may be called from any thread.
class History : public std::enable_shared_from_this<History> {
public:
  using Done = std::function<void(const Stats&)>;

  /// `read` gets the figures on another thread and passes them on, or nothing if the file cannot be read.
  History(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, std::function<void(Done)> read);

  /// Begins to read.
  void start();
  /// Stops asynchronously.
  void stop();

  /// Adds what happened since the last call. The first call only says where the counting begins.
  void note(WallTime now, const Stats& stats);

  /// The oldest first. A span in which nothing was noted is missing.
  [[nodiscard]] std::vector<HistorySpan> day() const;
  [[nodiscard]] std::vector<HistorySpan> week() const;

private:
  void look();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::function<void(Done)> read_;
  // Owned by the executor.
  const std::unique_ptr<Alarm> alarm_;
  bool isStopped_ = false;

  mutable Mutex mutex_;
  std::optional<Stats> last_ ACKBOX_GUARDED_BY(mutex_);
  WallTime lastAt_ ACKBOX_GUARDED_BY(mutex_) = {};
  std::deque<HistorySpan> minutes_ ACKBOX_GUARDED_BY(mutex_);
  std::deque<HistorySpan> hours_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::serve
