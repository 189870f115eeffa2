#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/message_page.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// The fields of an outbound message; a dead letter has the same.
template <>
std::span<const Field<MessageInfo>> fields();
/// The fields of a message's failed attempt.
template <>
std::span<const Field<AttemptInfo>> fields();
/// The fields of the frame that the message carries, without its data.
template <>
std::span<const Field<Frame>> fields();
/// The fields of one reason why a message or a frame waits.
template <>
std::span<const Field<Reason>> fields();

/// Adds the fields that an outbound or inbound frame has in addition to its message's fields.
template <typename AnyFrame>
void addFrame(json::Line& line, const AnyFrame& frame) {
  addFields(line, frame);
  line.raw("data", frame.data.empty() ? "null" : json::oneLine(frame.data));
}

/// The state as options spell it, such as `pending`.
[[nodiscard]] std::string nameOf(MessageState state);
/// The state with this name; nothing if no state has it.
[[nodiscard]] std::optional<MessageState> messageStateOf(std::string_view name);

}  // namespace ackbox::records
