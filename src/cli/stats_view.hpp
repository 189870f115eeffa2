#pragma once

#include <cstdint>
#include <vector>

#include "ackbox/stats.hpp"
#include "cli/table.hpp"
#include "json/line.hpp"

namespace ackbox::cli {

// The figures in the two forms of output; `top` shows them, too.

[[nodiscard]] json::Line statsLine(const Stats& stats, const std::vector<std::int64_t>& processes);
[[nodiscard]] Table statsTable(const Stats& stats, const std::vector<std::int64_t>& processes, WallTime now);
[[nodiscard]] json::Line sessionLine(const SessionStats& session);
[[nodiscard]] Table sessionTable(const std::vector<SessionStats>& sessions, WallTime now);

}  // namespace ackbox::cli
