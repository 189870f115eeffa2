#pragma once

#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Reads one frame as AGENIUM's agents write them. It does not say whose it is: `source` stays empty, for the receiver
/// to fill in. Its event `ACK` becomes an ACK event of ours.
[[nodiscard]] DecodedRequest decodeAgenium(const InboundRequest& request, const InboundOptions& limits);

/// The answer in their form: `{"ok":true}` and status 200 once it is durably here, `"duplicate":true` if it was before;
/// else `{"ok":false}` with why, and the status of a single frame.
[[nodiscard]] InboundResponse encodeAgeniumAnswer(const FrameResult& result);

}  // namespace ackbox::protocol
