#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/receipt.hpp"
#include "base/mutex.hpp"
#include "manager/run/poll_thread.hpp"
#include "store/store.hpp"
#include "store/writer.hpp"

namespace ackbox::manager {

/// Enqueues that wait for room in a full queue, first come, first served. They are tried again when a commit has made
/// room, and at the poll interval, because other processes settle messages, too.
///
/// Thread-safety: all members may be called from any thread.
class RoomWaiters {
public:
  using Handler = std::function<void(std::error_code, EnqueueReceipt)>;

  /// `writer` may still be under construction. `onException` is called with an exception of a look for room; the next
  /// look tries again.
  RoomWaiters(store::Writer& writer, const OutboxOptions& options, OnException onException);
  ~RoomWaiters();
  RoomWaiters(const RoomWaiters&) = delete;
  RoomWaiters& operator=(const RoomWaiters&) = delete;

  /// `handler` is called once: on the writer's thread, in this call if no more may wait, or in the call of `cancel`.
  void enqueue(Frame frame, Handler handler);
  /// After a commit, on the writer's thread, between transactions.
  void committed(store::Store& store) noexcept;
  /// Waiting enqueues end with `Errc::stopped`; later ones may wait again.
  void cancel() noexcept;
  /// The same, and no later enqueue may wait; ends the thread.
  void close() noexcept;

private:
  struct Waiter {
    Frame frame;
    Handler handler;
  };
  struct Answer {
    Handler handler;
    std::error_code error;
    EnqueueReceipt receipt;
  };
  /// Tries the first waiters; one object, which is reused.
  class Attempt final : public store::Job {
  public:
    explicit Attempt(RoomWaiters& owner) : owner_(owner) { durable = true; }
    void run(store::Store& store) override { owner_.run(store); }
    void done(const std::error_code& error) noexcept override { owner_.done(error); }

  private:
    RoomWaiters& owner_;
  };

  void run(store::Store& store) ACKBOX_EXCLUDES(mutex_);
  void done(const std::error_code& error) noexcept ACKBOX_EXCLUDES(mutex_);
  /// Whether the caller must submit an attempt, after it has released the lock.
  [[nodiscard]] bool beginAttempt() ACKBOX_REQUIRES(mutex_);
  /// Moves the waiters at and behind `first` out.
  std::vector<Answer> takeFrom(std::size_t first, const std::error_code& error) ACKBOX_REQUIRES(mutex_);
  [[nodiscard]] std::unique_ptr<PollThread> makePoll() noexcept;
  static void callHandlers(std::vector<Answer> answers) noexcept;

  // Constant after construction.
  store::Writer& writer_;
  const OutboxOptions& options_;
  const OnException onException_;

  Mutex mutex_;
  // The first `tried_` waiters are being tried, and keep their places meanwhile.
  std::deque<std::unique_ptr<Waiter>> waiting_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t tried_ ACKBOX_GUARDED_BY(mutex_) = 0;
  bool attemptUnderWay_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool cancelTried_ ACKBOX_GUARDED_BY(mutex_) = false;
  // The place of the enqueue that has failed, as behind a lock of its session.
  std::optional<std::size_t> failedAt_ ACKBOX_GUARDED_BY(mutex_);
  bool closed_ ACKBOX_GUARDED_BY(mutex_) = false;
  // The fill of the queue when the first waiter was last refused.
  std::optional<store::Fill> refusedAt_ ACKBOX_GUARDED_BY(mutex_);
  std::unique_ptr<PollThread> poll_ ACKBOX_GUARDED_BY(mutex_);

  // Owned by the writer's thread: the answers of the attempt under way.
  std::vector<EnqueueReceipt> receipts_;
  Attempt attempt_;
};

}  // namespace ackbox::manager
