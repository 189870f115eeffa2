#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox {

/// How much a log record matters.
enum class LogLevel : std::uint8_t {
  /// Each step of each message.
  debug,
  /// What an operator may want to know: started, stopped, a message is tried again, a peer answers again.
  info,
  /// A message is delayed, is refused or becomes a dead letter, or will: a peer is down, a request was refused.
  warning,
  /// Something must be repaired before messages move: the file cannot be opened or was replaced, or this store went
  /// back to an earlier state.
  error,
};

/// The level's name, as printed: `"debug"`, `"info"`, …
[[nodiscard]] std::string_view toString(LogLevel level) noexcept;

/// A named value of a record. Lifetime: the sink's call.
struct LogField {
  /// Lower case, words joined by `_`.
  std::string_view name = {};
  std::string_view value = {};
};

/// One event. Contains no data of a message, and no secret. Lifetime: the sink's call.
struct LogRecord {
  LogLevel level = LogLevel::info;
  WallTime at{};
  /// The event's name, stable for programs: `peer-down`, `dead-letter`, …; docs/log.md lists all.
  std::string_view event = {};
  /// The event for people: one sentence, with the cause and, if there is one, the remedy.
  std::string_view text = {};
  std::span<const LogField> fields = {};
  /// Records of this event that were left out before this one, because there were too many.
  std::uint64_t leftOut = 0;
};

/// Called with each record, on the thread where the event happens, possibly on several threads at once. Must neither
/// block nor call the outbox. Its exceptions are dropped.
using LogSink = std::function<void(const LogRecord&)>;

/// `2026-01-31T23:59:59.999Z warning peer-down peer=bob cause="connection refused" text="…"`, without a newline.
/// Values are quoted where they need it, so that a record is one line.
[[nodiscard]] std::string toKeyValue(const LogRecord& record);

/// `{"at":"…","level":"warning","event":"peer-down","text":"…","peer":"bob",…}`, without a newline.
[[nodiscard]] std::string toJson(const LogRecord& record);

/// How `logToStandardError` writes.
enum class LogFormat : std::uint8_t { keyValue, json };

/// A sink that writes each record as a line on standard error, with one system call. Cannot fail: a record that cannot
/// be written is lost.
[[nodiscard]] LogSink logToStandardError(LogFormat format = LogFormat::keyValue);

}  // namespace ackbox
