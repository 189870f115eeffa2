#pragma once

#include <cstdint>
#include <string_view>

#include "ackbox/inbound_request.hpp"

namespace ackbox::protocol {

/// A problem document that also names the limit that was passed, such as `maxbytes`.
[[nodiscard]] InboundResponse limitProblem(int status, std::string_view title, std::string_view detail,
                                           std::string_view limitName, std::uint64_t limit);

/// 413, before anything of a body is looked at.
[[nodiscard]] InboundResponse bodyTooLarge(std::uint64_t bodyBytesMax);

}  // namespace ackbox::protocol
