#pragma once

#include <string>

#include "ackbox/inbound_frame.hpp"

namespace ackbox::serve {

/// The frame as a CloudEvent in structured mode, with all its attributes, so that the application can recognise a
/// repetition by source, origin, session and sequence. A single line if its data is a single line.
[[nodiscard]] std::string eventJson(const InboundFrame& frame);

}  // namespace ackbox::serve
