#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::serve {

/// A step of a message as an OpenTelemetry span.
struct RecordedSpan {
  /// Numbers as in OTLP: never renumber.
  enum class Kind : std::uint8_t { client = 3, producer = 4, consumer = 5 };

  Kind kind = Kind::producer;
  std::string_view name = {};
  /// 32 and 16 hexadecimal digits, as in a `traceparent`; `parentId` is empty for the first span of a trace.
  std::string traceId = {};
  std::string spanId = {};
  std::string parentId = {};
  WallTime beganAt{};
  WallTime endedAt{};
  std::vector<std::pair<std::string_view, std::string>> attributes = {};
  /// Each is a valid `traceparent`.
  std::vector<std::string> links = {};
  /// Whether it failed, and what happened, for people.
  bool isFailed = false;
  std::string error = {};
};

}  // namespace ackbox::serve
