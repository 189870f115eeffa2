#pragma once

#include <cstddef>

#include "json/reader.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Reads one event, a JSON object, into a fresh `decoded`; null: its members cannot be read. Whatever is wrong with it
/// becomes its refusal.
void decodeFrame(json::Members* members, std::size_t frameBytesMax, DecodedFrame& decoded);

}  // namespace ackbox::protocol
