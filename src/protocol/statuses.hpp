#pragma once

#include "ackbox/inbound_request.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

/// The status of a request of one frame by what became of it, and its Retry-After.
void setStatus(const FrameResult& result, InboundResponse& response);

}  // namespace ackbox::protocol
