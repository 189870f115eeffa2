#pragma once

#include <vector>

#include "ackbox/message_page.hpp"
#include "cli/arguments.hpp"
#include "cli/table.hpp"

namespace ackbox::cli {

[[nodiscard]] Table messageTable(const std::vector<MessageInfo>& messages, WallTime now);
/// For people; empty: no attempt failed.
[[nodiscard]] Table attemptTable(const std::vector<AttemptInfo>& attempts, WallTime now);
/// What `--peer`, `--session` and `--state` choose.
[[nodiscard]] MessageFilter messageFilterOf(const Arguments& arguments);

}  // namespace ackbox::cli
