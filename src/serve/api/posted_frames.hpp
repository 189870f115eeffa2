#pragma once

#include <string>
#include <vector>

#include "ackbox/frame.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {

/// A frame from a request's body, or what is wrong with it.
struct PostedFrame {
  Frame frame = {};
  /// Empty if the frame is valid.
  std::string problem = {};
};

/// The frames of a request's body.
struct PostedFrames {
  /// The request posted an array, and its answer is an array.
  bool isBatch = false;
  std::vector<PostedFrame> frames = {};
};

/// Reads a body according to its media type: `application/json`, one object in the form of `ackbox enqueue` or an array
/// of them; `application/cloudevents+json` or `application/cloudevents-batch+json`, with the extension attributes of
/// the wire and `peer`, `session`, `priority`, `supersedekey`, `idempotencykey` and `notbefore`. The parameters `peer`,
/// `session` and `type` are defaults for frames that do not set them. Data is kept byte for byte.
/// Throws `InvalidRequest` if the body contains no frames at all.
[[nodiscard]] PostedFrames readPostedFrames(Request& request);

}  // namespace ackbox::serve
