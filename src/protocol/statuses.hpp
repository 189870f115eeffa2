#pragma once

#include <string_view>

#include "ackbox/inbound_request.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

/// Sets the status of a request of one frame from its result, and its Retry-After.
void setStatus(const FrameResult& result, InboundResponse& response);

/// Whether a result with this code comes from the receiver itself, and so carries more information for a sender than
/// the refusal of a frame.
[[nodiscard]] bool isReceiversOwn(std::string_view code) noexcept;

}  // namespace ackbox::protocol
