#pragma once

#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Whether a request is an event in CloudEvents' binary mode: its attributes are headers, and its body is the data.
[[nodiscard]] bool isBinaryEvent(const InboundRequest& request) noexcept;

/// Reads an event in binary mode. Headers are not covered by the signature, so they are not trusted: the id must equal
/// the `webhook-id`, and sessions and ACK events are refused in this mode.
///
/// Source: CloudEvents HTTP Protocol Binding 1.0.2, section 3.1.
[[nodiscard]] DecodedRequest decodeBinaryEvent(const InboundRequest& request, const InboundOptions& limits);

}  // namespace ackbox::protocol
