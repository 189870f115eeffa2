#include "ackbox/testing/virtual_clock.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace ackbox::testing {

struct VirtualClock::Slot {
  boost::asio::any_io_executor executor;
  SteadyTime deadline{};
  std::function<void()> wake;
  bool posted = false;
};

struct VirtualClock::State {
  SteadyTime steady = SteadyTime(std::chrono::hours(1));
  std::chrono::nanoseconds wall{};
  double rate = 1;
  std::vector<std::weak_ptr<Slot>> slots;

  template <typename Use>
  void eachSet(Use&& use) const {
    for (const std::weak_ptr<Slot>& weak : slots) {
      if (const std::shared_ptr<Slot> slot = weak.lock(); slot && slot->wake) {
        use(slot);
      }
    }
  }
};

class VirtualClock::VirtualAlarm final : public Alarm {
public:
  VirtualAlarm(std::shared_ptr<State> state, std::shared_ptr<Slot> slot)
      : state_(std::move(state)), slot_(std::move(slot)) {}
  ~VirtualAlarm() override { slot_->wake = nullptr; }
  VirtualAlarm(const VirtualAlarm&) = delete;
  VirtualAlarm& operator=(const VirtualAlarm&) = delete;

  void set(SteadyTime deadline, std::function<void()> wake) override {
    slot_->deadline = deadline;
    slot_->wake = std::move(wake);
    fire(state_);
  }
  void cancel() override {
    // Destroyed at the end of the call, because the callback may hold this alarm.
    const std::function<void()> dropped = std::exchange(slot_->wake, nullptr);
  }

private:
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Slot> slot_;
};

VirtualClock::VirtualClock(WallTime start) : state_(std::make_shared<State>()) {
  state_->wall = start.time_since_epoch();
}

VirtualClock::~VirtualClock() = default;

SteadyTime VirtualClock::steadyNow() const {
  return state_->steady;
}

WallTime VirtualClock::wallNow() const {
  return WallTime(std::chrono::floor<std::chrono::milliseconds>(state_->wall));
}

std::unique_ptr<Alarm> VirtualClock::makeAlarm(const boost::asio::any_io_executor& executor) {
  auto slot = std::make_shared<Slot>();
  slot->executor = executor;
  std::erase_if(state_->slots, [](const std::weak_ptr<Slot>& old) { return old.expired(); });
  state_->slots.push_back(slot);
  return std::make_unique<VirtualAlarm>(state_, std::move(slot));
}

void VirtualClock::advance(std::chrono::nanoseconds by) {
  // Rounded up, so that a clock that was asked to reach a deadline reaches it.
  const auto passed =
      std::chrono::ceil<std::chrono::nanoseconds>(std::chrono::duration<double, std::nano>(by) * state_->rate);
  state_->steady += passed;
  state_->wall += passed;
  fire(state_);
}

void VirtualClock::setRate(double rate) {
  state_->rate = std::max(rate, 0.0);
}

void VirtualClock::step(std::chrono::milliseconds by) {
  state_->wall += by;
}

std::optional<std::chrono::nanoseconds> VirtualClock::untilNextAlarm() const {
  std::optional<SteadyTime> next;
  state_->eachSet([&](const std::shared_ptr<Slot>& slot) {
    if (!slot->posted) {
      next = std::min(next.value_or(slot->deadline), slot->deadline);
    }
  });
  if (!next || state_->rate == 0) {
    return std::nullopt;
  }
  const std::chrono::duration<double, std::nano> left(std::max(*next - state_->steady, SteadyTime::duration(0)));
  return std::chrono::ceil<std::chrono::nanoseconds>(left / state_->rate);
}

void VirtualClock::dropAlarms() {
  std::vector<std::function<void()>> dropped;
  state_->eachSet([&](const std::shared_ptr<Slot>& slot) { dropped.push_back(std::exchange(slot->wake, nullptr)); });
}

// The callback runs on the alarm's executor, so a `set` or `cancel` there is never overtaken by an older deadline.
void VirtualClock::fire(const std::shared_ptr<State>& state) {
  state->eachSet([&](const std::shared_ptr<Slot>& slot) {
    if (slot->posted || slot->deadline > state->steady) {
      return;
    }
    slot->posted = true;
    boost::asio::post(slot->executor, [state, weak = std::weak_ptr<Slot>(slot)] {
      const std::shared_ptr<Slot> due = weak.lock();
      if (!due) {
        return;
      }
      due->posted = false;
      if (due->wake && due->deadline <= state->steady) {
        std::exchange(due->wake, nullptr)();
      }
    });
  });
}

}  // namespace ackbox::testing
