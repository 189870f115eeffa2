#include "serve/api/audit.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace ackbox::serve {
namespace {

constexpr std::size_t kEntriesMost = 200;
constexpr std::size_t kTargetBytes = 300;

}  // namespace

void Audit::record(const Caller& caller, std::string_view what, std::string_view target, std::uint64_t changed) {
  const std::string count = std::to_string(changed);
  const std::array<LogField, 4> fields = {LogField{"caller", caller.name}, LogField{"operation", what},
                                          LogField{"target", target}, LogField{"changed", count}};
  LogRecord record;
  record.event = "operated";
  record.text = "a change was made by hand";
  record.fields = fields;
  write(record);
  const MutexLock lock(mutex_);
  last_.push_front({record.at, caller.name, std::string(what), std::string(target.substr(0, kTargetBytes)), changed});
  if (last_.size() > kEntriesMost) {
    last_.pop_back();
  }
}

std::vector<AuditEntry> Audit::last() const {
  const MutexLock lock(mutex_);
  return {last_.begin(), last_.end()};
}

void Audit::loginRefused(const Caller& caller, std::string_view cause) const {
  const std::array<LogField, 2> fields = {LogField{"caller", caller.name}, LogField{"cause", cause}};
  LogRecord record;
  record.level = LogLevel::warning;
  record.event = "login-refused";
  record.text = "a browser was not let in";
  record.fields = fields;
  write(record);
}

void Audit::write(LogRecord& record) const {
  record.at = clock_->wallNow();
  try {
    if (sink_) {
      sink_(record);
    }
  } catch (...) {
    // A sink that throws loses the record, like the library's own records.
    return;
  }
}

}  // namespace ackbox::serve
