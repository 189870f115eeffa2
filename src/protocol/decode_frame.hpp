#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/wire.hpp"

namespace ackbox::protocol {

/// Reads one event, the bytes of a JSON value that was checked. Whatever is wrong with it becomes its refusal.
[[nodiscard]] DecodedFrame decodeFrame(std::string_view event, std::size_t frameBytesMax);

}  // namespace ackbox::protocol
