#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ackbox/frame_handler.hpp"
#include "transport/http_exchange.hpp"

namespace ackbox::serve {

/// What an application's answer, or its absence, means for the frame that was pushed to it.
struct PushVerdict {
  /// Set: the run ends with it.
  std::optional<HandlerResult> result = {};
  /// Otherwise the frame is pushed again after this, and nothing is charged: the application is not there, or is not
  /// what was configured, which no frame is to blame for.
  std::chrono::milliseconds pause{0};
  /// Why, to be read behind "the application": "answers 404: no such route".
  std::string cause = {};
};

/// `failures`: pushes of this frame before this one that were charged nothing; the pause grows with them. `now` is for
/// a `Retry-After` that is a date.
[[nodiscard]] PushVerdict judgePush(const transport::HttpAnswer& answer, unsigned failures, WallTime now);

}  // namespace ackbox::serve
