#pragma once

#include <string_view>

#include "serve/api/posted_frames.hpp"

namespace ackbox::serve {

/// Reads one event in CloudEvents' JSON format into `defaults`. Its `id` becomes the message's id. Its `source` and
/// `time` are passed over: an outbox has one agent, and says itself when a frame was enqueued. Data in
/// base64 is a problem, because a frame carries JSON.
[[nodiscard]] PostedFrame readCloudEvent(std::string_view json, const Frame& defaults);

}  // namespace ackbox::serve
