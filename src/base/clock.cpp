#include "ackbox/clock.hpp"

#include <ctime>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "base/processor_time.hpp"

namespace ackbox {
namespace {

class SystemAlarm final : public Alarm {
public:
  explicit SystemAlarm(const boost::asio::any_io_executor& executor) : state_(std::make_shared<State>(executor)) {}
  ~SystemAlarm() override { cancel(); }
  SystemAlarm(const SystemAlarm&) = delete;
  SystemAlarm& operator=(const SystemAlarm&) = delete;

  // A later deadline, the usual case, leaves the timer unchanged: the timer checks the deadline when it expires.
  void set(SteadyTime deadline, std::function<void()> wake) override {
    const std::shared_ptr<Wait> pending = state_->pending.lock();
    if (pending && state_->timer.expiry() <= deadline) {
      pending->deadline = deadline;
      pending->wake = std::move(wake);
    } else {
      await(state_, std::make_shared<Wait>(Wait{deadline, std::move(wake)}));
    }
  }

  void cancel() override {
    state_->pending.reset();
    state_->timer.cancel();
  }

private:
  /// Owned by the timer, so that nothing outlives an executor that is destroyed.
  struct Wait {
    SteadyTime deadline;
    std::function<void()> wake;
  };

  struct State {
    explicit State(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    std::weak_ptr<Wait> pending;
  };

  static void await(const std::shared_ptr<State>& state, const std::shared_ptr<Wait>& wait) {
    state->pending = wait;
    state->timer.expires_at(wait->deadline);
    state->timer.async_wait([state, wait](const boost::system::error_code& error) {
      // A wait that was replaced may have expired already and be queued.
      if (error || state->pending.lock() != wait) {
        return;
      }
      if (std::chrono::steady_clock::now() < wait->deadline) {
        await(state, wait);
        return;
      }
      state->pending.reset();
      const std::function<void()> call = std::move(wait->wake);
      call();
    });
  }

  std::shared_ptr<State> state_;
};

class SystemClock final : public Clock {
public:
  [[nodiscard]] SteadyTime steadyNow() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime wallNow() const override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override {
    return std::make_unique<SystemAlarm>(executor);
  }
};

}  // namespace

std::chrono::nanoseconds processorTime() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::shared_ptr<Clock> systemClock() {
  static const std::shared_ptr<Clock> clock = std::make_shared<SystemClock>();
  return clock;
}

}  // namespace ackbox
