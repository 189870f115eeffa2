#pragma once

#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/events.hpp"
#include "ackbox/health.hpp"
#include "base/exception_report.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"

namespace ackbox::manager {

/// The callbacks subscribed to one kind of event.
///
/// Thread-safety: all members may be called from any thread, also from inside a callback.
template <typename Event>
class Subscribers {
public:
  using Callback = std::function<void(const Event&)>;

  /// `onThrown` is called with the exception of a callback, which goes no further.
  explicit Subscribers(OnException onThrown = [](const std::string&) {})
      : onThrown_(std::make_shared<const OnException>(std::move(onThrown))) {}

  [[nodiscard]] Subscription add(Callback callback) {
    auto slot = std::make_shared<Slot>(std::move(callback), onThrown_);
    const MutexLock lock(mutex_);
    std::erase_if(slots_, [](const std::weak_ptr<Slot>& known) { return known.expired(); });
    slots_.push_back(slot);
    return Subscription(std::make_shared<Handle>(std::move(slot)));
  }

  /// Calls each live callback. Exceptions go only to `onThrown`, so that one subscriber cannot harm another.
  void emit(const Event& event) {
    std::vector<std::weak_ptr<Slot>> slots;
    {
      const MutexLock lock(mutex_);
      if (slots_.empty()) {
        return;
      }
      slots = slots_;
    }
    for (const std::weak_ptr<Slot>& weak : slots) {
      if (const std::shared_ptr<Slot> slot = weak.lock()) {
        slot->call(event);
      }
    }
  }

private:
  // Calls its callback in one thread at a time and never waits for it: the callback may itself wait for the thread with
  // the next event, such as the store's. That event is left to the thread inside the callback. Events that this thread
  // reports within the callback are delivered at once.
  class Slot {
  public:
    Slot(Callback callback, std::shared_ptr<const OnException> onThrown)
        : callback_(std::move(callback)), onThrown_(std::move(onThrown)) {}

    void call(const Event& event) {
      const MutexLock lock(mutex_);
      if (!live_) {
        return;
      }
      if (depth_ > 0 && inside_ != std::this_thread::get_id()) {
        waiting_.push_back(event);
        return;
      }
      inside_ = std::this_thread::get_id();
      ++depth_;
      deliverWaiting();
      deliver(event);
      deliverWaiting();
      if (--depth_ == 0) {
        left_.notifyAll();
      }
    }

    // If a callback ends its own subscription, its callers hold the slot, and with it the callback.
    void end() {
      // Destroyed without the lock: objects in a callback may end other subscriptions.
      Callback ended;
      const MutexLock lock(mutex_);
      live_ = false;
      waiting_.clear();
      if (depth_ > 0 && inside_ == std::this_thread::get_id()) {
        return;
      }
      while (depth_ > 0) {
        left_.wait(mutex_);
      }
      ended.swap(callback_);
    }

  private:
    void deliverWaiting() ACKBOX_REQUIRES(mutex_) {
      while (!waiting_.empty()) {
        const Event next = std::move(waiting_.front());
        waiting_.pop_front();
        deliver(next);
      }
    }

    void deliver(const Event& event) ACKBOX_REQUIRES(mutex_) {
      if (!live_) {
        return;
      }
      const MutexUnlock unlocked(mutex_);
      reportingThrown(*onThrown_, [&] { callback_(event); });
    }

    // Constant until the end, which waits for the calls.
    Callback callback_;
    const std::shared_ptr<const OnException> onThrown_;
    Mutex mutex_;
    ConditionVariable left_;
    bool live_ ACKBOX_GUARDED_BY(mutex_) = true;
    // The number of nested calls under way, all in the thread `inside_`.
    int depth_ ACKBOX_GUARDED_BY(mutex_) = 0;
    std::thread::id inside_ ACKBOX_GUARDED_BY(mutex_);
    std::list<Event> waiting_ ACKBOX_GUARDED_BY(mutex_);
  };

  struct Handle {
    explicit Handle(std::shared_ptr<Slot> subscribed) : slot(std::move(subscribed)) {}
    // In a child process, a thread of the parent may have held the lock at the fork.
    ~Handle() {
      if (home.isHere()) {
        slot->end();
      }
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    const HomeProcess home;
    std::shared_ptr<Slot> slot;
  };

  const std::shared_ptr<const OnException> onThrown_;
  Mutex mutex_;
  std::vector<std::weak_ptr<Slot>> slots_ ACKBOX_GUARDED_BY(mutex_);
};

/// The kinds of event of an outbox.
struct EventHub {
  /// See `Subscribers`.
  explicit EventHub(const OnException& onThrown)
      : sent(onThrown),
        acked(onThrown),
        failed(onThrown),
        retry(onThrown),
        superseded(onThrown),
        health(onThrown),
        peerReset(onThrown),
        peer(onThrown) {}

  Subscribers<SentEvent> sent;
  Subscribers<AckedEvent> acked;
  Subscribers<FailedEvent> failed;
  Subscribers<RetryEvent> retry;
  Subscribers<SupersededEvent> superseded;
  Subscribers<HealthEvent> health;
  Subscribers<PeerResetEvent> peerReset;
  Subscribers<PeerEvent> peer;
};

}  // namespace ackbox::manager
