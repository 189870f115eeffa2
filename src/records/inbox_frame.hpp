#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ackbox/inbound_frame.hpp"
#include "ackbox/inbox.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// Of a deferred frame.
template <>
std::span<const Field<InboxInfo>> fields();
/// Of what it brought, without its data.
template <>
std::span<const Field<InboundFrame>> fields();
/// The state as options spell it: `waiting`.
[[nodiscard]] std::string nameOf(InboxState state);
/// The state of a frame that has not ended, from that; nothing: no such state has this name.
[[nodiscard]] std::optional<InboxState> liveInboxStateOf(std::string_view name);

}  // namespace ackbox::records
