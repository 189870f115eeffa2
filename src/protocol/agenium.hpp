#pragma once

#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Reads one frame in the form of AGENIUM's agents. That form does not name the sender: `source` stays empty, and the
/// receiver fills it in. Its event `ACK` becomes an ACK event of this protocol.
[[nodiscard]] DecodedRequest decodeAgenium(const InboundRequest& request, const InboundOptions& limits);

/// The answer in AGENIUM's form: `{"ok":true}` and status 200 if the frame is stored durably, with `"duplicate":true`
/// if it was before; otherwise `{"ok":false}` with the reason, and the status of a single frame.
[[nodiscard]] InboundResponse encodeAgeniumAnswer(const FrameResult& result);

}  // namespace ackbox::protocol
