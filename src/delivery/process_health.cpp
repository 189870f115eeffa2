#include "delivery/process_health.hpp"

#include "ackbox/error.hpp"

namespace ackbox::delivery {

std::optional<ProcessReport> ProcessHealth::onAnswer(const SendReport& report, SteadyTime now) {
  const bool isShort = report.outcome == RequestOutcome::notSent;
  if (isShort) {
    shortAt_ = now;
  }
  const bool isOver = report.outcome == RequestOutcome::answered && now - shortAt_ >= kShortageOver;
  if (isShort == isShort_ || (!isShort && !isOver)) {
    return std::nullopt;
  }
  isShort_ = isShort;
  return ProcessReport{isShort, isShort ? "this process cannot send: " + report.error : "this process can send again"};
}

std::optional<ProcessReport> ProcessHealth::onStep(const std::error_code& error) {
  const bool isRefusing = static_cast<bool>(error);
  // That the file was replaced is reported of the whole process, which may also receive.
  if (error == Errc::databaseReplaced || isRefusing == isStoreRefusing_) {
    return std::nullopt;
  }
  isStoreRefusing_ = isRefusing;
  return ProcessReport{isRefusing, isRefusing ? "the store cannot go on, which is tried again: " + error.message()
                                              : "the store goes on again"};
}

std::optional<ProcessReport> ProcessHealth::onLook(const std::error_code& error) {
  const bool isUnreadable = static_cast<bool>(error);
  if (error == Errc::databaseReplaced || isUnreadable == isBacklogUnreadable_) {
    return std::nullopt;
  }
  isBacklogUnreadable_ = isUnreadable;
  return ProcessReport{isUnreadable, isUnreadable
                                         ? "stored messages cannot be read, so that some may not be sent; it is tried "
                                           "again: " +
                                               error.message()
                                         : "stored messages can be read again"};
}

// Nothing else shows why messages are older by the calendar than by the age that their horizon is compared with.
std::optional<ProcessReport> ProcessHealth::lookAtCalendar(const Now& now) {
  const auto offset =
      now.wall.time_since_epoch() - std::chrono::floor<std::chrono::milliseconds>(now.steady.time_since_epoch());
  const auto moved = offset - calendarOffset_.value_or(offset);
  calendarOffset_ = offset;
  if (moved < kCalendarMoved && moved > -kCalendarMoved) {
    return std::nullopt;
  }
  const std::string seconds =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::abs(moved)).count());
  return ProcessReport{
      true, moved.count() > 0
                ? "the calendar was moved ahead by " + seconds +
                      " s while this run went on; until this file is closed, this process leaves that out of the ages "
                      "that it compares with retry horizons; expiry times go by the calendar"
                : "the calendar was set back by " + seconds +
                      " s while this run went on; messages from before are younger by the calendar than they are"};
}

}  // namespace ackbox::delivery
