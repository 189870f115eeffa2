#pragma once

#include <string_view>
#include <vector>

#include "store/sqlite/open.hpp"

namespace ackbox::store::sqlite {

/// One of the invariants that `verify` checks: what a finding of it says.
struct InvariantName {
  std::string_view table;
  std::string_view problem;
};

/// All of them, in the order of the checks; tables without their prefix.
[[nodiscard]] std::vector<InvariantName> invariantNames();

/// See `VerifyReport::hasCheckpointDefect`.
[[nodiscard]] bool hasCheckpointDefect() noexcept;

}  // namespace ackbox::store::sqlite
