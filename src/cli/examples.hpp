#pragma once

#include <string_view>

namespace ackbox::cli {

/// An example command line for `command`, used in its help; empty if the command has no example.
[[nodiscard]] std::string_view exampleOf(std::string_view command) noexcept;

}  // namespace ackbox::cli
