#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// What happened in a simulation, a line for each event; the oldest lines go when there are too many.
///
/// Thread-safety: none. Lifetime: the simulation's.
class Trace {
public:
  /// From now on, the last `linesMax` events.
  void start(std::size_t linesMax) { linesMax_ = linesMax; }
  [[nodiscard]] bool isOn() const noexcept { return linesMax_ > 0; }
  void moveTo(std::chrono::nanoseconds now) noexcept { now_ = now; }

  /// What `process` did, or what happened to it. Nothing when it is off.
  void add(std::string_view process, std::string_view event);
  /// What `from` sent to `to`. Nothing when it is off.
  void add(std::string_view from, std::string_view to, std::string_view event);

  [[nodiscard]] std::string text() const;

private:
  std::size_t linesMax_ = 0;
  std::size_t left_ = 0;
  std::chrono::nanoseconds now_{0};
  std::deque<std::string> lines_;
};

}  // namespace ackbox::testing
