#pragma once

#include <optional>

#include "ackbox/inbound_request.hpp"
#include "transport/http_session.hpp"
#include "transport/message_parser.hpp"

namespace ackbox::transport {

/// What a request whose head has come in whole is refused with, whatever its body: it is for nothing that is served
/// here, it can be read in more than one way, or it asks for what this server does not do. Nothing: its body may be
/// read.
[[nodiscard]] std::optional<InboundResponse> refusalOf(const MessageParser<true>& head,
                                                       const HttpSessionOptions& options);

}  // namespace ackbox::transport
