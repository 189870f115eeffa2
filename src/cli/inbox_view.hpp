#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ackbox/inbox.hpp"
#include "json/line.hpp"

namespace ackbox::cli {

/// The state as options spell it: `waiting`.
[[nodiscard]] std::string inboxStateName(InboxState state);
/// The state of a frame that has not ended, from that; nothing: no such state has this name.
[[nodiscard]] std::optional<InboxState> liveInboxStateOf(std::string_view name);
/// What is common to a deferred frame wherever `--json` prints one.
[[nodiscard]] json::Line inboxLine(const InboxInfo& frame);

}  // namespace ackbox::cli
