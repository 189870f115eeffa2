#pragma once

#include <span>
#include <string_view>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"

namespace ackbox::serve {

/// Passes a record with the current time to `sink`, if there is a sink. Throws what the sink throws.
inline void report(const LogSink& sink, const Clock& clock, LogLevel level, std::string_view event,
                   std::string_view text, std::span<const LogField> fields = {}) {
  if (!sink) {
    return;
  }
  LogRecord record;
  record.level = level;
  record.at = clock.wallNow();
  record.event = event;
  record.text = text;
  record.fields = fields;
  sink(record);
}

}  // namespace ackbox::serve
