#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ackbox/stats.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// Of the whole file. Those that end in `_total` never go down.
template <>
std::span<const Field<Stats>> fields();
/// With `process_ids`, of the processes that have the file open.
[[nodiscard]] json::Line lineOf(const Stats& stats, const std::vector<std::int64_t>& processes);

}  // namespace ackbox::records
