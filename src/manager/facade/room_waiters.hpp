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
/// room, and at the poll interval for what other processes settle.
///
/// Thread-safety: all members may be called from any thread.
class RoomWaiters {
public:
  using Handler = std::function<void(std::error_code, EnqueueReceipt)>;

  /// `writer` may be under construction still.
  /// `onException` is called with what a look for room has thrown; the next look tries again.
  RoomWaiters(store::Writer& writer, const OutboxOptions& options, OnException onException);
  ~RoomWaiters();
  RoomWaiters(const RoomWaiters&) = delete;
  RoomWaiters& operator=(const RoomWaiters&) = delete;

  /// `handler` is called once: on the writer's thread, or here when nobody more may wait, or where `cancel` is called.
  void enqueue(Frame frame, Handler handler);
  /// After a commit, on the writer's thread, between transactions.
  void committed(store::Store& store) noexcept;
  /// Those that wait end with `Errc::stopped`; later ones may wait again.
  void cancel() noexcept;
  /// The same for good; no thread is left.
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
  /// Tries the first that wait; there is one, used again and again.
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
  /// Whether an attempt is to be submitted, which the caller does without the lock.
  [[nodiscard]] bool beginAttempt() ACKBOX_REQUIRES(mutex_);
  /// Moves those at and behind `first` out.
  std::vector<Answer> takeFrom(std::size_t first, const std::error_code& error) ACKBOX_REQUIRES(mutex_);
  static void callHandlers(std::vector<Answer> answers) noexcept;

  // Constant after construction.
  store::Writer& writer_;
  const OutboxOptions& options_;
  const OnException onException_;

  Mutex mutex_;
  // The first `tried_` of those that wait are being tried; they stay where they are meanwhile.
  std::deque<std::unique_ptr<Waiter>> waiting_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t tried_ ACKBOX_GUARDED_BY(mutex_) = 0;
  bool attemptUnderWay_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool cancelTried_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool closed_ ACKBOX_GUARDED_BY(mutex_) = false;
  // How full it was when the first that waits was last refused.
  std::optional<store::Fill> refusedAt_ ACKBOX_GUARDED_BY(mutex_);
  std::unique_ptr<PollThread> poll_ ACKBOX_GUARDED_BY(mutex_);

  // Owned by the writer's thread: the answers of the attempt under way.
  std::vector<EnqueueReceipt> receipts_;
  Attempt attempt_;
};

}  // namespace ackbox::manager
