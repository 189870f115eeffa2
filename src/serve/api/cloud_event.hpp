#pragma once

#include <string_view>

#include "serve/api/posted_frames.hpp"

namespace ackbox::serve {

/// Reads one event in CloudEvents' JSON format into `defaults`. Its `id` becomes the message's id. Ignores `source` and
/// `time`: an outbox has one agent, and sets the time of the enqueue itself. Reports data in base64 as a problem,
/// because a frame carries JSON.
[[nodiscard]] PostedFrame readCloudEvent(std::string_view json, const Frame& defaults);

}  // namespace ackbox::serve
