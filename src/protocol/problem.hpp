#pragma once

#include <cstdint>
#include <string_view>

#include "ackbox/inbound_request.hpp"

namespace ackbox::protocol {

/// A problem document that also names the exceeded limit, such as `maxbytes`.
[[nodiscard]] InboundResponse limitProblem(int status, std::string_view title, std::string_view detail,
                                           std::string_view limitName, std::uint64_t limit);

/// Status 413, before any part of a body is read.
[[nodiscard]] InboundResponse bodyTooLarge(std::uint64_t bodyBytesMax);

}  // namespace ackbox::protocol
