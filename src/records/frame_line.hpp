#pragma once

#include <string>
#include <string_view>

#include "ackbox/frame.hpp"

namespace ackbox::records {

/// A parsed frame, or what is wrong with the line.
struct FrameLine {
  Frame frame;
  /// Empty if the line is valid.
  std::string problem;
};

/// Reads one JSON object into `defaults`: `peer`, `session`, `type`, `data` (any JSON, kept byte for byte), `id` or
/// `message_id`, `not_before` and `expires_at` (RFC 3339 in UTC) or `not_before_ms` and `expires_at_ms`, `priority`,
/// `idempotency_key`, `supersede_key`, `traceparent`, `correlation_id`, `resent_of`. Ignores the other keys that
/// `export` and `show --json` write. Reports any further key as a problem, so that a misspelt key is not lost.
[[nodiscard]] FrameLine parseFrameLine(std::string_view line, const Frame& defaults);

}  // namespace ackbox::records
