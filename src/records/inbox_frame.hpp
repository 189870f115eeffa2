#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// The fields of a deferred frame.
template <>
std::span<const Field<InboxInfo>> fields();
/// The fields of the frame's content, without its data.
template <>
std::span<const Field<InboundFrame>> fields();
/// The state as options spell it, such as `waiting`.
[[nodiscard]] std::string nameOf(InboxState state);
/// The state from its name; nothing if no state has this name.
[[nodiscard]] std::optional<InboxState> inboxStateOf(std::string_view name);

}  // namespace ackbox::records
