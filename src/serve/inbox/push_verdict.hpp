#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ackbox/frame_handler.hpp"
#include "transport/http_exchange.hpp"

namespace ackbox::serve {

/// The meaning of an application's answer, or of its absence, for the pushed frame.
struct PushVerdict {
  enum class Kind : std::uint8_t {
    /// The application decided about this frame: it took or rejected it.
    judged,
    /// A failure that is charged to the frame, and says little about the application.
    failed,
    /// A refusal that may concern the frame or the application, see `PushEntry`.
    refused,
    /// The application cannot be reached.
    unreached,
  };
  Kind kind = Kind::unreached;
  /// For `judged` and `failed`: the result that ends the run.
  std::optional<HandlerResult> result = {};
  /// The cause, to follow "the application": "answers 404: no such route".
  std::string cause = {};
};

/// `now` is used for a `Retry-After` that is a date.
[[nodiscard]] PushVerdict judgePush(const transport::HttpAnswer& answer, WallTime now);

}  // namespace ackbox::serve
