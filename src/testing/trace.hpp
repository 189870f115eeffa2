#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// The events of a simulation, one line each; beyond the limit, the oldest lines are dropped.
///
/// Thread-safety: none. Lifetime: the simulation's.
class Trace {
public:
  /// Starts to keep the last `linesMax` events.
  void start(std::size_t linesMax) { linesMax_ = linesMax; }
  [[nodiscard]] bool isOn() const noexcept { return linesMax_ > 0; }
  void moveTo(std::chrono::nanoseconds now) noexcept { now_ = now; }

  /// Adds an event of `process`. Does nothing if the trace is off.
  void add(std::string_view process, std::string_view event);
  /// Adds a message from `from` to `to`. Does nothing if the trace is off.
  void add(std::string_view from, std::string_view to, std::string_view event);

  [[nodiscard]] std::string text() const;

private:
  std::size_t linesMax_ = 0;
  std::size_t left_ = 0;
  std::chrono::nanoseconds now_{0};
  std::deque<std::string> lines_;
};

}  // namespace ackbox::testing
