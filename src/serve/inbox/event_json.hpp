#pragma once

#include <string>

#include "ackbox/inbound_frame.hpp"

namespace ackbox::serve {

/// The frame as a CloudEvent in structured mode, with all that it came with, so that the application can recognise a
/// repetition by source, origin, session and sequence. One line where its data is one.
[[nodiscard]] std::string eventJson(const InboundFrame& frame);

}  // namespace ackbox::serve
