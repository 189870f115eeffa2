#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ackbox/events.hpp"
#include "ackbox/health.hpp"
#include "base/mutex.hpp"

namespace ackbox::manager {

/// The callbacks subscribed to one kind of event.
///
/// Thread-safety: all members may be called from any thread, also from inside a callback.
template <typename Event>
class Subscribers {
public:
  using Callback = std::function<void(const Event&)>;

  [[nodiscard]] Subscription add(Callback callback) {
    auto slot = std::make_shared<Slot>(std::move(callback));
    const MutexLock lock(mutex_);
    std::erase_if(slots_, [](const std::weak_ptr<Slot>& known) { return known.expired(); });
    slots_.push_back(slot);
    return Subscription(std::make_shared<Handle>(std::move(slot)));
  }

  /// Calls each live callback; what they throw is dropped, so that one subscriber cannot harm another.
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
  // The lock is held during the call, so that an unsubscribe on another thread returns only when the callback does not
  // run; it is recursive, so that a callback may unsubscribe itself.
  class Slot {
  public:
    explicit Slot(Callback callback) : callback_(std::move(callback)) {}

    void call(const Event& event) {
      const MutexLock lock(mutex_);
      if (!live_) {
        return;
      }
      ++depth_;
      try {
        callback_(event);
      } catch (...) {
        // Documented at OutboxManager: a throwing subscriber harms no other.
      }
      --depth_;
      dropIfDone();
    }

    void end() {
      const MutexLock lock(mutex_);
      live_ = false;
      dropIfDone();
    }

  private:
    // A callback must not be destroyed while it runs.
    void dropIfDone() ACKBOX_REQUIRES(mutex_) {
      if (!live_ && depth_ == 0) {
        callback_ = nullptr;
      }
    }

    RecursiveMutex mutex_;
    Callback callback_ ACKBOX_GUARDED_BY(mutex_);
    bool live_ ACKBOX_GUARDED_BY(mutex_) = true;
    int depth_ ACKBOX_GUARDED_BY(mutex_) = 0;
  };

  struct Handle {
    explicit Handle(std::shared_ptr<Slot> subscribed) : slot(std::move(subscribed)) {}
    ~Handle() { slot->end(); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    std::shared_ptr<Slot> slot;
  };

  Mutex mutex_;
  std::vector<std::weak_ptr<Slot>> slots_ ACKBOX_GUARDED_BY(mutex_);
};

/// The kinds of event of an outbox.
struct EventHub {
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
