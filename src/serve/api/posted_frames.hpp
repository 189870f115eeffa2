#pragma once

#include <string>
#include <vector>

#include "ackbox/frame.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {

/// A frame of a request's body, or what is wrong with it.
struct PostedFrame {
  Frame frame = {};
  /// Empty: none.
  std::string problem = {};
};

/// The frames of a request's body.
struct PostedFrames {
  /// An array was posted, and an array is answered.
  bool isBatch = false;
  std::vector<PostedFrame> frames = {};
};

/// Reads a body by its media type: `application/json`, one object in the form of `ackbox enqueue` or an array of them;
/// `application/cloudevents+json` or `application/cloudevents-batch+json`, with the extension attributes of the wire
/// and `peer`, `session`, `priority`, `supersedekey`, `idempotencykey` and `notbefore`. The parameters `peer`,
/// `session` and `type` stand for what a frame does not say. Data is kept byte for byte.
/// Throws `InvalidRequest` where the body has no frames at all.
[[nodiscard]] PostedFrames readPostedFrames(Request& request);

}  // namespace ackbox::serve
