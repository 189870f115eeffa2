#include "cli/message_view.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/text.hpp"

namespace ackbox::cli {
namespace {

std::string whyText(const MessageInfo& message) {
  if (message.reason.empty() || message.lastError.empty()) {
    return shortened(message.reason + message.lastError, kWhyWidth);
  }
  return shortened(message.reason + ": " + message.lastError, kWhyWidth);
}

MessageState stateOf(const std::string& name) {
  constexpr std::array kStates = {MessageState::pending, MessageState::sending, MessageState::sent, MessageState::acked,
                                  MessageState::failed};
  const auto* const found =
      std::find_if(kStates.begin(), kStates.end(), [&](MessageState state) { return stateName(state) == name; });
  return found == kStates.end() ? MessageState::pending : *found;
}

}  // namespace

MessageFilter messageFilterOf(const Arguments& arguments) {
  MessageFilter filter;
  filter.peer = arguments.peer;
  filter.session = arguments.session;
  filter.type = arguments.typeWanted;
  if (arguments.state) {
    filter.state = stateOf(*arguments.state);
  }
  return filter;
}

std::string stateName(MessageState state) {
  std::string name(toString(state));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

json::Line messageLine(const MessageInfo& message) {
  json::Line line;
  line.add("message_id", message.messageId)
      .add("row", message.row)
      .add("state", stateName(message.state))
      .add("peer", message.peer)
      .add("session", message.session)
      .add("sequence", message.sequence)
      .add("type", message.type)
      .add("retry_count", message.retryCount)
      .add("enqueued_at_ms", message.enqueuedAt)
      .add("due_at_ms", message.dueAt == WallTime{} ? std::nullopt : std::optional(message.dueAt))
      .add("reason", message.reason)
      .add("last_error", message.lastError);
  return line;
}

Table messageTable(const std::vector<MessageInfo>& messages, WallTime now) {
  Table table({{"ID", Align::left},
               {"STATE", Align::left},
               {"PEER", Align::left},
               {"SESSION", Align::left},
               {"SEQ", Align::right},
               {"TYPE", Align::left},
               {"ENQUEUED", Align::left},
               {"DUE", Align::left},
               {"RETRIES", Align::right},
               {"WHY", Align::left}});
  for (const MessageInfo& message : messages) {
    const bool isWaiting = message.state == MessageState::pending || message.state == MessageState::sent;
    table.add({message.messageId, stateName(message.state), message.peer, message.session,
               message.sequence == 0 ? "-" : std::to_string(message.sequence), message.type,
               agoText(now, message.enqueuedAt), isWaiting && message.dueAt > now ? agoText(now, message.dueAt) : "-",
               std::to_string(message.retryCount), whyText(message)});
  }
  return table;
}

std::string reasonsText(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) {
    json::Line line;
    line.add("hindrance", toString(reason.hindrance))
        .add("until_at_ms", reason.until == WallTime{} ? std::nullopt : std::optional(reason.until))
        .add("sequence", reason.sequence)
        .add("process_id", reason.processId)
        .add("detail", reason.detail);
    text += (text.empty() ? "" : ",") + line.text();
  }
  return "[" + text + "]";
}

Table attemptTable(const std::vector<AttemptInfo>& attempts, WallTime now) {
  Table table({{"LAST ATTEMPT", Align::left},
               {"FIRST", Align::left},
               {"TIMES", Align::right},
               {"TOOK", Align::right},
               {"HTTP", Align::right},
               {"OUTCOME", Align::left},
               {"ERROR", Align::left}});
  for (const AttemptInfo& attempt : attempts) {
    table.add({instantText(attempt.lastAt), attempt.count == 1 ? "-" : agoText(now, attempt.firstAt),
               std::to_string(attempt.count), attempt.took ? std::to_string(attempt.took->count()) + " ms" : "-",
               attempt.status == 0 ? "-" : std::to_string(attempt.status), attempt.outcome, attempt.error});
  }
  return table;
}

std::string attemptsText(const std::vector<AttemptInfo>& attempts) {
  std::string text;
  for (const AttemptInfo& attempt : attempts) {
    json::Line line;
    line.add("first_at_ms", attempt.firstAt).add("at_ms", attempt.lastAt).add("count", attempt.count);
    line.raw("took_ms", attempt.took ? std::to_string(attempt.took->count()) : "null");
    line.add("outcome", attempt.outcome);
    line.raw("status", attempt.status == 0 ? "null" : std::to_string(attempt.status));
    line.add("error", attempt.error);
    text += (text.empty() ? "" : ",") + line.text();
  }
  return "[" + text + "]";
}

void addFrame(json::Line& line, const Frame& frame) {
  line.add("traceparent", frame.traceparent)
      .add("correlation_id", frame.correlationId)
      .add("not_before_ms", frame.notBefore)
      .add("expires_at_ms", frame.expiresAt)
      .add("priority", frame.priority)
      .add("supersede_key", frame.supersedeKey)
      .raw("data", frame.data.empty() ? "null" : json::oneLine(frame.data));
}

}  // namespace ackbox::cli
