#pragma once

#include <cstddef>

#include "json/reader.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Reads one event, a JSON object, into a fresh `decoded`. `members` is null if they cannot be read. Any fault becomes
/// the refusal in `decoded`.
void decodeFrame(json::Members* members, std::size_t frameBytesMax, DecodedFrame& decoded);

}  // namespace ackbox::protocol
