#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "cli/tool.hpp"
#include "records/symptoms.hpp"

namespace ackbox::cli {

/// Examines the file, the files beside it, the processes that use it, and the machine.
[[nodiscard]] std::vector<records::Symptom> examine(const World& world, const Arguments& arguments);

}  // namespace ackbox::cli
