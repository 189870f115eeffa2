#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ackbox/stats.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// The fields for the whole file. Fields that end in `_total` never decrease.
template <>
std::span<const Field<Stats>> fields();
/// The record with `process_ids`, the processes that have the file open.
[[nodiscard]] json::Line lineOf(const Stats& stats, const std::vector<std::int64_t>& processes);

}  // namespace ackbox::records
