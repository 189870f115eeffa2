#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/events.hpp"
#include "base/mutex.hpp"

namespace ackbox {
class OutboxManager;
}

namespace ackbox::serve {

/// How a message ended while a request waited for it.
struct MessageEnd {
  /// False if the message was acknowledged.
  bool isFailed = false;
  /// The JSON result of the peer's handler; empty if there was no result.
  std::string result = {};
  std::string reason = {};
  std::string error = {};
};

/// How a wait ended.
struct WaitEnd {
  /// Nothing if the wait was refused, its time elapsed, or the service ends.
  std::optional<MessageEnd> message = {};
  /// The wait was refused: too many requests wait, or the service has ended.
  bool isRefused = false;
};

/// Requests that wait until a message is acknowledged or becomes a dead letter. An outcome that another process commits
/// is not noticed: requests for such a message wait until their time elapses.
///
/// Thread-safety: all members may be called from any thread.
class MessageWaits : public std::enable_shared_from_this<MessageWaits> {
public:
  using Done = std::function<void(WaitEnd)>;

  /// `executor` must be serial. `waitsMax`: see `Places::waits`.
  MessageWaits(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, std::size_t waitsMax);

  /// Subscribes to the events of `manager`, until `close`.
  void watch(OutboxManager& manager);

  /// Calls `done` once, on the executor. Returns a number for `cancel`. `sharer`: see `mayTakePlace`.
  std::uint64_t add(const std::string& messageId, std::chrono::milliseconds time, const std::string& sharer, Done done);
  /// Cancels a wait: `done` is not called any more.
  void cancel(std::uint64_t number);

  /// The result that the peer returned for a message that ended while this process delivered it. Kept for the last
  /// 4,096 results, up to 4 MiB; nothing if there was no result or it is no longer kept.
  [[nodiscard]] std::optional<std::string> resultOf(const std::string& messageId) const;

  /// Ends all waits at once, and refuses later ones. Returns when the waits have ended. Must not be called on the
  /// executor.
  void close();

private:
  struct Wait {
    std::string messageId;
    std::string sharer;
    Done done;
    std::unique_ptr<Alarm> alarm;
  };

  [[nodiscard]] bool mayWait(const std::string& sharer) const;
  void remember(const std::string& messageId, const std::string& result);
  void ended(const std::string& messageId, const MessageEnd& end);
  void finish(std::uint64_t number, std::optional<MessageEnd> end);

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<Clock> clock_;
  const std::size_t waitsMax_;
  std::vector<Subscription> subscriptions_;
  std::atomic<std::uint64_t> lastNumber_ = 0;
  // Owned by the executor.
  std::map<std::uint64_t, Wait> waits_;
  std::multimap<std::string, std::uint64_t, std::less<>> byMessage_;
  bool closed_ = false;
  mutable Mutex mutex_;
  std::map<std::string, std::string, std::less<>> results_ ACKBOX_GUARDED_BY(mutex_);
  // The oldest first.
  std::deque<std::string> remembered_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t resultBytes_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::serve
