#pragma once

#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Whether a request is an event in CloudEvents' binary mode: its attributes are headers, its body is the data.
[[nodiscard]] bool isBinaryEvent(const InboundRequest& request) noexcept;

/// Reads one. Headers stand outside the signature, so what must not be forged is not taken from them: the id has to be
/// the `webhook-id`, and neither a place in a session nor an ACK event comes this way.
///
/// Source: CloudEvents HTTP Protocol Binding 1.0.2, section 3.1.
[[nodiscard]] DecodedRequest decodeBinaryEvent(const InboundRequest& request, const InboundOptions& limits);

}  // namespace ackbox::protocol
