#include "delivery/process_health.hpp"

#include "ackbox/error.hpp"

namespace ackbox::delivery {
namespace {

// Whether to report the error: it began, is over, or is another one. A lock is not reported after another error.
bool isNew(const std::error_code& before, const std::error_code& error) {
  return static_cast<bool>(before) != static_cast<bool>(error) || (error != before && error != Errc::databaseBusy);
}

std::string withRemedy(const std::string& sentence, const std::error_code& error) {
  return sentence + error.message() +
         (error == Errc::databaseCorrupt ? "; `ackbox verify` names what is damaged, `ackbox repair` mends what can be "
                                           "made of the rest, and docs/restore.md has the way back to a backup"
                                         : "");
}

}  // namespace

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
  return ProcessReport{
      .isRaised = isShort,
      .sentence = isShort ? "this process cannot send: " + report.error : "this process can send again"};
}

std::optional<ProcessReport> ProcessHealth::onStep(const std::error_code& error) {
  // A replaced file is reported for the whole process, which may also receive.
  if (error == Errc::databaseReplaced || !isNew(stepError_, error)) {
    return std::nullopt;
  }
  stepError_ = error;
  return ProcessReport{.isRaised = static_cast<bool>(error),
                       .sentence = error ? withRemedy("the store cannot go on, which is tried again: ", error)
                                         : "the store goes on again",
                       .use = FileUse::change,
                       .error = error};
}

std::optional<ProcessReport> ProcessHealth::onLook(const std::error_code& error) {
  if (error == Errc::databaseReplaced || !isNew(lookError_, error)) {
    return std::nullopt;
  }
  lookError_ = error;
  return ProcessReport{
      .isRaised = static_cast<bool>(error),
      .sentence =
          error ? withRemedy("stored messages cannot be read, so that some may not be sent; it is tried again: ", error)
                : "stored messages can be read again",
      .use = FileUse::read,
      .error = error};
}

// Only this report explains why messages are older by the calendar than by the age that is compared with their horizon.
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
      .isRaised = true,
      .sentence =
          moved.count() > 0
              ? "the calendar was moved ahead by " + seconds +
                    " s while this run went on; until this outbox is closed, this process leaves that out of the ages "
                    "that it compares with retry horizons; expiry times go by the calendar"
              : "the calendar was set back by " + seconds +
                    " s while this run went on; messages from before are younger by the calendar than they are"};
}

}  // namespace ackbox::delivery
