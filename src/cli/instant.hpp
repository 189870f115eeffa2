#pragma once

#include <optional>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox::cli {

/// `2026-01-31T23:59:59.999Z`, as `export` writes instants; the fraction may be absent. Nothing when it is not of this
/// form, or no such instant exists.
[[nodiscard]] std::optional<WallTime> parseInstant(std::string_view text);

}  // namespace ackbox::cli
