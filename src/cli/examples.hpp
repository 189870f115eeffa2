#pragma once

#include <string_view>

namespace ackbox::cli {

/// A command line with this command, for its help; empty if it has no example.
[[nodiscard]] std::string_view exampleOf(std::string_view command) noexcept;

}  // namespace ackbox::cli
