#pragma once

#include <string>
#include <utility>
#include <vector>

namespace crash {

/// System calls, by their numbers.
using Calls = std::vector<long>;
/// System calls that fail, each with its `errno`.
using Refusals = std::vector<std::pair<long, int>>;

/// Runs `words`, a program and its arguments, without its output, and kills it with SIGKILL before the `count`-th of
/// the calls `fatal` that it and its threads make; those of `refused` fail. Returns its status, as `waitpid` gives it.
/// The kernel stops the program at the fatal calls alone: it runs otherwise as it always does. Throws
/// `std::runtime_error`.
[[nodiscard]] int runUntilCall(const std::vector<std::string>& words, const Calls& fatal, int count,
                               const Refusals& refused);

}  // namespace crash
