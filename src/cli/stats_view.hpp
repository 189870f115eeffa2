#pragma once

#include <cstdint>
#include <vector>

#include "ackbox/stats.hpp"
#include "cli/table.hpp"

namespace ackbox::cli {

// The figures for people, in `stats` and `top`.

[[nodiscard]] Table statsTable(const Stats& stats, const std::vector<std::int64_t>& processes, WallTime now);

}  // namespace ackbox::cli
