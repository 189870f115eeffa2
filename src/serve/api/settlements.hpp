#pragma once

#include <string_view>
#include <vector>

#include "serve/inbox/frame_streams.hpp"

namespace ackbox::serve {

/// Reads the body of `POST /v1/inbox/settle`. Throws `InvalidRequest`; the caller must then settle nothing.
[[nodiscard]] std::vector<Settlement> readSettlements(std::string_view body);

}  // namespace ackbox::serve
