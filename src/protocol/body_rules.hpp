#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "ackbox/inbound_request.hpp"

namespace ackbox::protocol {

/// Why a body of JSON text is refused whatever its content; nothing if it may be parsed.
[[nodiscard]] std::optional<InboundResponse> bodyProblem(std::string_view body, std::size_t bytesMax,
                                                         std::size_t depthMax);

}  // namespace ackbox::protocol
