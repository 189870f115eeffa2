#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "ackbox/clock.hpp"

namespace ackbox::testing {

/// One process's clocks in a simulation: they stand still until time is moved, may run fast or slow, may stop, and the
/// calendar may step. `Simulation` moves them; a test may also own one and call `advance`.
///
/// Thread-safety: none; everything of a simulation runs in one thread.
/// Lifetime: alarms may outlive it.
class VirtualClock final : public Clock {
public:
  explicit VirtualClock(WallTime start = WallTime(std::chrono::milliseconds(1'700'000'000'000)));
  ~VirtualClock() override;

  [[nodiscard]] SteadyTime steadyNow() const override;
  [[nodiscard]] WallTime wallNow() const override;
  [[nodiscard]] std::unique_ptr<Alarm> makeAlarm(const boost::asio::any_io_executor& executor) override;

  /// Lets `by` of true time pass: both clocks move on at their rate, and alarms that become due are posted to their
  /// executors.
  void advance(std::chrono::nanoseconds by);

  /// Sets the speed of both clocks relative to true time: 1 runs as true time does, 0 stands still. Not negative.
  void setRate(double rate);

  /// Moves the calendar only, in either direction, as an operator or a bad time server does.
  void step(std::chrono::milliseconds by);

  /// True time until the next alarm; empty if none is set or the clock stands still.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilNextAlarm() const;

  /// Drops every alarm, as the death of its process does.
  void dropAlarms();

private:
  struct Slot;
  class VirtualAlarm;
  struct State;
  static void fire(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace ackbox::testing
