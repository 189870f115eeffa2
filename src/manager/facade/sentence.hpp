#pragma once

#include <string>
#include <string_view>

#include "ackbox/diagnosis.hpp"

namespace ackbox::manager {

/// An explanation for people at the instant `now`; `notRunning` says what `BlockReason::notRunning` stands for where it
/// was explained.
[[nodiscard]] std::string sentenceOf(const Explanation& explanation, std::string_view notRunning, WallTime now);

}  // namespace ackbox::manager
