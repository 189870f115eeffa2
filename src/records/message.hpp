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
[[nodiscard]] std::span<const Field<MessageInfo>> messageFields();
[[nodiscard]] json::Line lineOf(const MessageInfo& message);
/// Of one reason why a message or a frame waits.
[[nodiscard]] std::span<const Field<Reason>> reasonFields();
/// The member `reasons` of an explanation.
[[nodiscard]] std::string listOf(const std::vector<Reason>& reasons);
/// The member `attempts` of a message.
[[nodiscard]] std::string listOf(const std::vector<AttemptInfo>& attempts);
/// Adds the frame's fields that `enqueue` reads back.
void addFrame(json::Line& line, const Frame& frame);
/// The state as options spell it: `pending`.
[[nodiscard]] std::string nameOf(MessageState state);
/// The state of that name; nothing: no state has it.
[[nodiscard]] std::optional<MessageState> messageStateOf(std::string_view name);

}  // namespace ackbox::records
