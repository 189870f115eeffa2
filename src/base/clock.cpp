#include "ackbox/clock.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace ackbox {
namespace {

class SystemAlarm final : public Alarm {
public:
  explicit SystemAlarm(const boost::asio::any_io_executor& executor) : state_(std::make_shared<State>(executor)) {}
  ~SystemAlarm() override { cancel(); }
  SystemAlarm(const SystemAlarm&) = delete;
  SystemAlarm& operator=(const SystemAlarm&) = delete;

  void set(SteadyTime deadline, std::function<void()> wake) override {
    // A cancelled wait may have expired already and be queued; its generation tells it to keep still.
    const std::uint64_t generation = ++state_->generation;
    state_->timer.expires_at(deadline);
    state_->timer.async_wait(
        [state = state_, generation, call = std::move(wake)](const boost::system::error_code& error) {
          if (!error && state->generation == generation) {
            call();
          }
        });
  }

  void cancel() override {
    ++state_->generation;
    state_->timer.cancel();
  }

private:
  struct State {
    explicit State(const boost::asio::any_io_executor& executor) : timer(executor) {}
    boost::asio::steady_timer timer;
    std::uint64_t generation = 0;
  };
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

std::shared_ptr<Clock> systemClock() {
  static const std::shared_ptr<Clock> clock = std::make_shared<SystemClock>();
  return clock;
}

}  // namespace ackbox
