#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/options.hpp"

namespace ackbox::store {

/// Checks every invariant of the file in one snapshot, on a connection of its own. The file must have been opened by a
/// `Store` before. Throws `Error`.
[[nodiscard]] VerifyReport verify(const std::filesystem::path& file, const OutboxOptions& options);

/// One of the invariants that `verify` checks: what a finding of it says.
struct InvariantName {
  std::string_view table;
  std::string_view problem;
};

/// All of them, in the order of the checks; tables without their prefix.
[[nodiscard]] std::vector<InvariantName> invariantNames();

}  // namespace ackbox::store
