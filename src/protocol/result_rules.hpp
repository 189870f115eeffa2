#pragma once

#include <string_view>

namespace ackbox::protocol {

/// Why a handler's result cannot be sent to the sender, as the end of a sentence; empty: it can, or there is no result.
/// Called wherever a result comes in.
[[nodiscard]] std::string_view resultProblem(std::string_view result);

}  // namespace ackbox::protocol
