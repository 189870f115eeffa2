#pragma once

#include <string>

#include "ackbox/inbox.hpp"
#include "cli/json_line.hpp"

namespace ackbox::cli {

/// The state as options spell it: `waiting`.
[[nodiscard]] std::string inboxStateName(InboxState state);
/// What is common to a deferred frame wherever `--json` prints one.
[[nodiscard]] JsonLine inboxLine(const InboxInfo& frame);

}  // namespace ackbox::cli
