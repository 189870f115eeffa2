#pragma once

#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/message_page.hpp"
#include "cli/arguments.hpp"
#include "cli/table.hpp"
#include "json/line.hpp"

namespace ackbox::cli {

/// What is common to a message wherever `--json` prints one.
[[nodiscard]] json::Line messageLine(const MessageInfo& message);
[[nodiscard]] Table messageTable(const std::vector<MessageInfo>& messages, WallTime now);
/// The member `reasons` of an explanation.
[[nodiscard]] std::string reasonsText(const std::vector<Reason>& reasons);
/// The frame's fields that `enqueue` reads back, added to `line`.
/// For people; empty: no attempt failed.
[[nodiscard]] Table attemptTable(const std::vector<AttemptInfo>& attempts, WallTime now);
[[nodiscard]] std::string attemptsText(const std::vector<AttemptInfo>& attempts);

void addFrame(json::Line& line, const Frame& frame);
/// The state as options spell it: `pending`.
[[nodiscard]] std::string stateName(MessageState state);
/// What `--peer`, `--session` and `--state` choose.
[[nodiscard]] MessageFilter messageFilterOf(const Arguments& arguments);

}  // namespace ackbox::cli
