#pragma once

#include <cstddef>
#include <optional>

#include "protocol/json_reader.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Reads one event, a JSON object by what `Members::read` gave of it. Whatever is wrong with it becomes its refusal.
[[nodiscard]] DecodedFrame decodeFrame(std::optional<Members> members, std::size_t frameBytesMax);

}  // namespace ackbox::protocol
