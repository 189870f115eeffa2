#include "serve/api/audit.hpp"

#include <array>
#include <string>

namespace ackbox::serve {

void Audit::record(const Caller& caller, std::string_view what, std::string_view target, std::uint64_t changed) const {
  if (!sink_) {
    return;
  }
  const std::string count = std::to_string(changed);
  const std::array<LogField, 4> fields = {LogField{"caller", caller.name}, LogField{"operation", what},
                                          LogField{"target", target}, LogField{"changed", count}};
  LogRecord record;
  record.at = clock_->wallNow();
  record.event = "operated";
  record.text = "a change was made by hand";
  record.fields = fields;
  try {
    sink_(record);
  } catch (...) {
    // As with the library's own records: a sink that throws loses them.
    return;
  }
}

}  // namespace ackbox::serve
