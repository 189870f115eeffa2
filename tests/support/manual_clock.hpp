#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::testing {

/// Time that stands still until the test moves it. Alarms that become due are posted to their executors by `advance`.
///
/// Thread-safety: all members may be called from any thread.
class ManualClock final : public Clock {
public:
  explicit ManualClock(WallTime start = WallTime(std::chrono::milliseconds(1'700'000'000'000))) : wall_(start) {}

  [[nodiscard]] SteadyTime steadyNow() const override {
    const std::scoped_lock lock(mutex_);
    return steady_;
  }
  [[nodiscard]] WallTime wallNow() const override {
    const std::scoped_lock lock(mutex_);
    return wall_;
  }

  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override {
    auto slot = std::make_shared<Slot>();
    slot->executor = executor;
    const std::scoped_lock lock(mutex_);
    slots_.push_back(slot);
    return std::make_unique<ManualAlarm>(*this, std::move(slot));
  }

  /// Moves both clocks forward.
  void advance(std::chrono::milliseconds by) {
    {
      const std::scoped_lock lock(mutex_);
      steady_ += by;
      wall_ += by;
    }
    fire();
  }
  /// As `advance`, and returns once the executor of each alarm has run what was ready. A test that moves time in a loop
  /// does not outrun a thread that waits for its processor: its time limits would pass before it could act.
  ///
  /// Not from a thread that runs such an executor.
  void advanceInStep(std::chrono::milliseconds by) {
    advance(by);
    // What is ready at the network is seen between the first turn and the second.
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<std::future<void>> turns;
      for (const boost::asio::any_io_executor& executor : executors()) {
        turns.push_back(boost::asio::post(executor, boost::asio::use_future));
      }
      for (const std::future<void>& ran : turns) {
        ran.wait();
      }
    }
  }
  /// Moves the calendar only, in either direction, as an operator or a bad time server does.
  void step(std::chrono::milliseconds by) {
    const std::scoped_lock lock(mutex_);
    wall_ += by;
  }

private:
  struct Slot {
    boost::asio::any_io_executor executor;
    SteadyTime deadline{};
    std::function<void()> wake;
    std::uint64_t generation = 0;
  };

  class ManualAlarm final : public Alarm {
  public:
    ManualAlarm(ManualClock& clock, std::shared_ptr<Slot> slot) : clock_(clock), slot_(std::move(slot)) {}
    ~ManualAlarm() override { cancel(); }
    ManualAlarm(const ManualAlarm&) = delete;
    ManualAlarm& operator=(const ManualAlarm&) = delete;

    void set(SteadyTime deadline, std::function<void()> wake) override {
      {
        const std::scoped_lock lock(clock_.mutex_);
        slot_->deadline = deadline;
        slot_->wake = std::move(wake);
        ++slot_->generation;
      }
      clock_.fire();
    }
    void cancel() override {
      std::function<void()> dropped;
      const std::scoped_lock lock(clock_.mutex_);
      dropped.swap(slot_->wake);
      ++slot_->generation;
    }

  private:
    ManualClock& clock_;
    const std::shared_ptr<Slot> slot_;
  };

  [[nodiscard]] std::vector<boost::asio::any_io_executor> executors() const {
    const std::scoped_lock lock(mutex_);
    std::vector<boost::asio::any_io_executor> found;
    for (const std::weak_ptr<Slot>& weak : slots_) {
      const std::shared_ptr<Slot> slot = weak.lock();
      if (slot && std::ranges::find(found, slot->executor) == found.end()) {
        found.push_back(slot->executor);
      }
    }
    return found;
  }

  void fire() {
    std::vector<std::shared_ptr<Slot>> due;
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(slots_, [](const std::weak_ptr<Slot>& slot) { return slot.expired(); });
      for (const std::weak_ptr<Slot>& weak : slots_) {
        if (std::shared_ptr<Slot> slot = weak.lock(); slot && slot->wake && slot->deadline <= steady_) {
          due.push_back(std::move(slot));
        }
      }
    }
    for (const std::shared_ptr<Slot>& slot : due) {
      boost::asio::post(slot->executor, [this, slot] { call(*slot); });
    }
  }

  // Runs on the alarm's executor, so a `set` or `cancel` there cannot be overtaken.
  void call(Slot& slot) {
    std::function<void()> wake;
    {
      const std::scoped_lock lock(mutex_);
      if (slot.deadline > steady_) {
        return;
      }
      wake.swap(slot.wake);
    }
    if (wake) {
      wake();
    }
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  SteadyTime steady_ = SteadyTime(std::chrono::hours(1));
  WallTime wall_;
  std::vector<std::weak_ptr<Slot>> slots_;
};

}  // namespace ackbox::testing
