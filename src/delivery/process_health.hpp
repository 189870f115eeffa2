#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "ackbox/sender.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// The use of the file that a report is about.
enum class FileUse : std::uint8_t {
  /// The report is not about the file.
  none,
  /// To commit decisions and claims.
  change,
  /// To read stored messages.
  read,
};

/// Something about this process that an operator should know; `isRaised` false: it is over.
struct ProcessReport {
  bool isRaised = false;
  std::string sentence;
  FileUse use = FileUse::none;
  /// Why the file cannot be used.
  std::error_code error = {};
};

/// Problems of the run's own process, not of a peer. Each problem is reported once when it begins and once when it is
/// over, however often it occurs.
///
/// Thread-safety: none.
class ProcessHealth {
public:
  /// A request has ended, which shows whether this process has the resources to send.
  [[nodiscard]] std::optional<ProcessReport> onAnswer(const SendReport& report, SteadyTime now);
  /// A step was committed, or not.
  [[nodiscard]] std::optional<ProcessReport> onStep(const std::error_code& error);
  /// The backlog, or the rows that are new since the last look, were read or could not be.
  [[nodiscard]] std::optional<ProcessReport> onLook(const std::error_code& error);
  /// Compares the calendar with the monotonic clock since the last call. A jump is reported once; it has no end.
  [[nodiscard]] std::optional<ProcessReport> lookAtCalendar(const Now& now);

private:
  // How long requests must be answered before a shortage is over.
  static constexpr std::chrono::milliseconds kShortageOver = std::chrono::seconds(10);
  // A smaller move is an ordinary clock correction.
  static constexpr std::chrono::milliseconds kCalendarMoved = std::chrono::minutes(1);

  bool isShort_ = false;
  // When a request last found this process without the resources to send.
  SteadyTime shortAt_{};
  // The results of the last step and of the last look.
  std::error_code stepError_;
  std::error_code lookError_;
  // The calendar minus the monotonic clock, at the last look.
  std::optional<std::chrono::milliseconds> calendarOffset_;
};

}  // namespace ackbox::delivery
