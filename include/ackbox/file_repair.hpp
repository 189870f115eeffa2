#pragma once

#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/stats.hpp"

namespace ackbox {

/// What `OutboxOperator::repairFile` found, mended and left.
struct FileRepairReport : RepairReport {
  /// What `OutboxReader::verify` finds afterwards, and why it was left, where that is known.
  std::vector<Finding> left = {};
};

}  // namespace ackbox
