#pragma once

#include <string_view>

namespace ackbox::cli {

/// A command line with this command, for its help; empty: there is none.
[[nodiscard]] std::string_view exampleOf(std::string_view command) noexcept;

}  // namespace ackbox::cli
