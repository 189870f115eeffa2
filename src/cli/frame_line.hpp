#pragma once

#include <string>
#include <string_view>

#include "ackbox/frame.hpp"

namespace ackbox::cli {

/// A frame, or why the line is none.
struct FrameLine {
  Frame frame;
  /// Empty: none.
  std::string problem;
};

/// Reads one JSON object into `defaults`: `peer`, `session`, `type`, `data` (any JSON, kept byte for byte),
/// `message_id` or `id`, `not_before_ms`, `expires_at_ms`, `priority`, `idempotency_key`, `supersede_key`,
/// `traceparent`, `correlation_id`. What `export` writes besides is passed over; any other key is a problem, so that a
/// misspelt one is not lost.
[[nodiscard]] FrameLine parseFrameLine(std::string_view line, const Frame& defaults);

}  // namespace ackbox::cli
