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

/// Of an outbound message, and of a dead letter, which is one.
template <>
std::span<const Field<MessageInfo>> fields();
/// Of its failed attempts.
template <>
std::span<const Field<AttemptInfo>> fields();
/// Of the frame that it carries, without its data.
template <>
std::span<const Field<Frame>> fields();
/// Of one reason why a message or a frame waits.
template <>
std::span<const Field<Reason>> fields();

/// Adds what a frame, outbound or inbound, has besides its message's fields.
template <typename AnyFrame>
void addFrame(json::Line& line, const AnyFrame& frame) {
  addFields(line, frame);
  line.raw("data", frame.data.empty() ? "null" : json::oneLine(frame.data));
}

/// The state as options spell it: `pending`.
[[nodiscard]] std::string nameOf(MessageState state);
/// The state of that name; nothing: no state has it.
[[nodiscard]] std::optional<MessageState> messageStateOf(std::string_view name);

}  // namespace ackbox::records
