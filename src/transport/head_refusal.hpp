#pragma once

#include <optional>

#include "ackbox/inbound_request.hpp"
#include "transport/http_session.hpp"
#include "transport/message_parser.hpp"

namespace ackbox::transport {

/// The refusal of a request, from its whole head and whatever its body: its path is not served here, it can be read in
/// more than one way, or it asks for a feature that this server lacks. Nothing: its body may be read.
[[nodiscard]] std::optional<InboundResponse> refusalOf(const MessageParser<true>& head,
                                                       const HttpSessionOptions& options);

}  // namespace ackbox::transport
