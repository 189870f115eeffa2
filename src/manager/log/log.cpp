#include "manager/log/log.hpp"

#include <exception>
#include <span>

namespace ackbox::manager {

Log::Log(LogSink sink, LogLevel least, std::shared_ptr<Clock> clock)
    : sink_(std::move(sink)), least_(least), clock_(std::move(clock)) {}

Log::~Log() {
  std::map<std::string, Window, std::less<>> left;
  {
    const MutexLock lock(mutex_);
    left.swap(windows_);
  }
  for (const auto& [event, window] : left) {
    if (window.leftOut == 0) {
      continue;
    }
    try {
      LogRecord record;
      record.level = window.level;
      record.at = clock_->wallNow();
      record.event = event;
      record.text = "more of these were left out, because there were too many";
      record.leftOut = window.leftOut;
      sink_(record);
    } catch (...) {
      // Documented at `LogSink`: exceptions are dropped.
    }
  }
}

bool Log::admit(LogLevel level, std::string_view event, std::uint64_t& leftOut) {
  if (level == LogLevel::debug) {
    return true;
  }
  const SteadyTime now = clock_->steadyNow();
  const MutexLock lock(mutex_);
  auto place = windows_.find(event);
  if (place == windows_.end()) {
    place = windows_.emplace(event, Window{now, 0, 0, level}).first;
  }
  Window& window = place->second;
  if (now - window.since >= kPeriod) {
    window.since = now;
    window.records = 0;
  }
  if (window.records == kRecordsInPeriod) {
    ++window.leftOut;
    return false;
  }
  ++window.records;
  leftOut = std::exchange(window.leftOut, 0);
  return true;
}

// A record for which memory is short is dropped: the log does not disturb its callers.
void Log::write(LogLevel level, std::string_view event, std::string_view text, Fields fields) noexcept {
  if (!takes(level)) {
    return;
  }
  try {
    LogRecord record;
    if (!admit(level, event, record.leftOut)) {
      return;
    }
    record.level = level;
    record.at = clock_->wallNow();
    record.event = event;
    record.text = text;
    record.fields = std::span<const LogField>(fields.begin(), fields.size());
    sink_(record);
  } catch (...) {
    return;
  }
}

void Log::writeUnasked(LogLevel level, std::string_view event, std::string_view subject, std::string_view text,
                       Fields fields) noexcept {
  if (sink_) {
    write(level, event, text, fields);
    return;
  }
  try {
    {
      const MutexLock lock(mutex_);
      if (said_.size() >= kSubjectsMax || !said_.emplace(event, subject).second) {
        return;
      }
    }
    LogRecord record;
    record.level = level;
    record.at = clock_->wallNow();
    record.event = event;
    record.text = text;
    record.fields = std::span<const LogField>(fields.begin(), fields.size());
    logToStandardError()(record);
  } catch (...) {
    return;
  }
}

}  // namespace ackbox::manager
