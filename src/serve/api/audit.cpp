#include "serve/api/audit.hpp"

#include <array>
#include <string>

namespace ackbox::serve {

void Audit::record(const Caller& caller, std::string_view what, std::string_view target, std::uint64_t changed) const {
  const std::string count = std::to_string(changed);
  const std::array<LogField, 4> fields = {LogField{"caller", caller.name}, LogField{"operation", what},
                                          LogField{"target", target}, LogField{"changed", count}};
  LogRecord record;
  record.event = "operated";
  record.text = "a change was made by hand";
  record.fields = fields;
  write(record);
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
