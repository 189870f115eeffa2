#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "cli/symptoms.hpp"
#include "cli/tool.hpp"

namespace ackbox::cli {

/// Looks at the file, what lies beside it, the processes that use it, and the machine.
[[nodiscard]] std::vector<Symptom> examine(const World& world, const Arguments& arguments);

}  // namespace ackbox::cli
