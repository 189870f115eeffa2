#pragma once

#include <string_view>

namespace ackbox::protocol {

/// Why a handler's result cannot be carried to the sender, as the end of a sentence; empty: it can, or the handler gave
/// no result. Asked at every door that a result comes in by.
[[nodiscard]] std::string_view resultProblem(std::string_view result);

}  // namespace ackbox::protocol
