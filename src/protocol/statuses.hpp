#pragma once

#include <string_view>

#include "ackbox/inbound_request.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::protocol {

/// The status of a request of one frame by what became of it, and its Retry-After.
void setStatus(const FrameResult& result, InboundResponse& response);

/// Whether a sender takes a result with this code for a word of the receiver itself, which says more than that a frame
/// was refused.
[[nodiscard]] bool isReceiversOwn(std::string_view code) noexcept;

}  // namespace ackbox::protocol
