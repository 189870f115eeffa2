#pragma once

#include <cstdint>
#include <vector>

#include "ackbox/stats.hpp"
#include "cli/table.hpp"

namespace ackbox::cli {

// The figures for people; `top` shows them, too.

[[nodiscard]] Table statsTable(const Stats& stats, const std::vector<std::int64_t>& processes, WallTime now);

}  // namespace ackbox::cli
