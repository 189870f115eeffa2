// The formats of log records: key=value, and JSON.

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "ackbox/log.hpp"
#include "ackbox/visible.hpp"
#include "base/timestamp.hpp"
#include "json/writer.hpp"

namespace ackbox {
namespace {

bool isBare(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](char character) {
    return character > ' ' && character < 0x7F && character != '"' && character != '=' && character != '\\';
  });
}

void appendValue(std::string& out, std::string_view value) {
  if (isBare(value)) {
    out += value;
  } else {
    // JSON's quoting keeps line breaks and invalid UTF-8 out of the line.
    std::string quoted;
    json::appendString(quoted, value);
    out += visible(quoted, Escapes::json);
  }
}

void appendPair(std::string& out, std::string_view name, std::string_view value) {
  out += ' ';
  out += name;
  out += '=';
  appendValue(out, value);
}

}  // namespace

std::string toKeyValue(const LogRecord& record) {
  std::string line = formatTimestamp(record.at);
  line += ' ';
  line += toString(record.level);
  line += ' ';
  line += record.event;
  for (const LogField& field : record.fields) {
    appendPair(line, field.name, field.value);
  }
  if (record.leftOut > 0) {
    appendPair(line, "left_out", std::to_string(record.leftOut));
  }
  appendPair(line, "text", record.text);
  return line;
}

std::string toJson(const LogRecord& record) {
  std::string line;
  json::ObjectWriter object(line);
  object.time("at", record.at);
  object.text("level", toString(record.level));
  object.text("event", record.event);
  for (const LogField& field : record.fields) {
    object.text(field.name, field.value);
  }
  if (record.leftOut > 0) {
    object.number("left_out", record.leftOut);
  }
  object.text("text", record.text);
  object.close();
  return visible(line, Escapes::json);
}

LogSink logToStandardError(LogFormat format) {
  return [format](const LogRecord& record) {
    std::string line = format == LogFormat::json ? toJson(record) : toKeyValue(record);
    line += '\n';
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  };
}

}  // namespace ackbox
