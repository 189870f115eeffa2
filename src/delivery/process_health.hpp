#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "ackbox/sender.hpp"
#include "delivery/types.hpp"

namespace ackbox::delivery {

/// What a run needs its file for.
enum class FileUse : std::uint8_t {
  /// It is about something else.
  none,
  /// To commit what it has decided, and claims.
  change,
  /// To read what is stored.
  read,
};

/// Something about this process that an operator should know; `isRaised` false: it is over.
struct ProcessReport {
  bool isRaised = false;
  std::string sentence;
  FileUse use = FileUse::none;
  /// The file or the disk is at fault, which does not go away by itself.
  bool isDamage = false;
};

/// What goes wrong in the process of a run and is no peer's fault. Each trouble is reported once when it begins and
/// once when it is over, however often it is met.
///
/// Thread-safety: none.
class ProcessHealth {
public:
  /// A request has ended: whether this process has the means to send.
  [[nodiscard]] std::optional<ProcessReport> onAnswer(const SendReport& report, SteadyTime now);
  /// A step was committed, or not.
  [[nodiscard]] std::optional<ProcessReport> onStep(const std::error_code& error);
  /// What is stored was read, the backlog or what is new since the last time, or could not be.
  [[nodiscard]] std::optional<ProcessReport> onLook(const std::error_code& error);
  /// Compares the calendar with the monotonic clock, since the last time. A move is reported once and never over.
  [[nodiscard]] std::optional<ProcessReport> lookAtCalendar(const Now& now);

private:
  // Requests must be answered for so long before a shortage is over.
  static constexpr std::chrono::milliseconds kShortageOver = std::chrono::seconds(10);
  // Less is a clock that is being corrected.
  static constexpr std::chrono::milliseconds kCalendarMoved = std::chrono::minutes(1);

  bool isShort_ = false;
  // When a request last found this process without the means to send.
  SteadyTime shortAt_{};
  // How the last step, and the last look, went.
  std::error_code stepError_;
  std::error_code lookError_;
  // The calendar minus the monotonic clock, at the last look.
  std::optional<std::chrono::milliseconds> calendarOffset_;
};

}  // namespace ackbox::delivery
