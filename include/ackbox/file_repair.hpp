#pragma once

#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

/// What `OutboxOperator::repairFile` found, repaired and left.
struct FileRepairReport : RepairReport {
  /// The findings of `OutboxReader::verify` after the repair, and why each was left, where that is known.
  std::vector<Finding> left = {};
};

}  // namespace ackbox
