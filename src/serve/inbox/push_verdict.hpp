#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ackbox/frame_handler.hpp"
#include "transport/http_exchange.hpp"

namespace ackbox::serve {

/// What an application's answer, or its absence, means for the frame that was pushed to it.
struct PushVerdict {
  enum class Kind : std::uint8_t {
    /// The application decided about this frame: it has taken or rejected it.
    judged,
    /// A failure that is charged to the frame, and says little of the application.
    failed,
    /// A refusal that may be about the frame or about the application, see `PushEntry`.
    refused,
    /// The application is not there.
    unreached,
  };
  Kind kind = Kind::unreached;
  /// Of `judged` and `failed`: the run ends with it.
  std::optional<HandlerResult> result = {};
  /// Why, to be read behind "the application": "answers 404: no such route".
  std::string cause = {};
};

/// `now` is for a `Retry-After` that is a date.
[[nodiscard]] PushVerdict judgePush(const transport::HttpAnswer& answer, WallTime now);

}  // namespace ackbox::serve
