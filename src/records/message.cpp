#include "records/message.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ackbox::records {
namespace {

template <auto Get>
constexpr Field<MessageInfo> ofMessage(std::string_view name, std::string_view meaning) {
  return field<MessageInfo, Get>(name, meaning);
}

constexpr std::array kMessage{
    ofMessage<&MessageInfo::messageId>("message_id", "Its id, by which the receiver knows repetitions."),
    ofMessage<&MessageInfo::row>("row", "Its row in the file: a later message has a larger one."),
    ofMessage<[](const MessageInfo& message) { return nameOf(message.state); }>("state", "What has become of it."),
    ofMessage<&MessageInfo::peer>("peer", "The name of its receiver."),
    ofMessage<&MessageInfo::session>("session", "Its session."),
    ofMessage<&MessageInfo::sequence>("sequence", "Its number within the session; 0: it is in no order."),
    ofMessage<&MessageInfo::type>("type", "The type of its data."),
    ofMessage<&MessageInfo::retryCount>("retry_count", "Charged attempts: after `max_attempts` it is a dead letter."),
    ofMessage<&MessageInfo::enqueuedAt>("enqueued_at_ms", "When it was enqueued."),
    ofMessage<&MessageInfo::dueAt>("due_at_ms", "It is not sent before; of a dead letter, when it became one."),
    ofMessage<&MessageInfo::reason>("reason", "Why it is a dead letter."),
    ofMessage<&MessageInfo::lastError>("last_error", "The error of its last failed attempt."),
};

constexpr std::array kReason{
    field<Reason, [](const Reason& reason) { return toString(reason.blockReason); }>("block_reason",
                                                                                     "What it waits for."),
    field<Reason, &Reason::until>("until_at_ms", "How long, where that is known."),
    field<Reason, &Reason::sequence>("sequence", "The sequence of what it waits for; 0: nothing of its session."),
    field<Reason, &Reason::processId>("process_id", "The process that has it; 0: none."),
    field<Reason, &Reason::detail>("detail", "What is known besides."),
};

template <typename Item, typename ToLine>
std::string listed(const std::vector<Item>& items, const ToLine& toLine) {
  std::string text;
  for (const Item& item : items) {
    text += (text.empty() ? "" : ",") + toLine(item).text();
  }
  return "[" + text + "]";
}

}  // namespace

std::span<const Field<MessageInfo>> messageFields() {
  return kMessage;
}

json::Line lineOf(const MessageInfo& message) {
  return lineOf(messageFields(), message);
}

std::span<const Field<Reason>> reasonFields() {
  return kReason;
}

std::string listOf(const std::vector<Reason>& reasons) {
  return listed(reasons, [](const Reason& reason) { return lineOf(reasonFields(), reason); });
}

std::string listOf(const std::vector<AttemptInfo>& attempts) {
  return listed(attempts, [](const AttemptInfo& attempt) {
    json::Line line;
    line.add("first_at_ms", attempt.firstAt).add("at_ms", attempt.lastAt).add("count", attempt.count);
    line.raw("took_ms", attempt.took ? std::to_string(attempt.took->count()) : "null");
    line.add("outcome", attempt.outcome);
    line.raw("status", attempt.status == 0 ? "null" : std::to_string(attempt.status));
    return line.add("error", attempt.error);
  });
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

std::string nameOf(MessageState state) {
  std::string name(toString(state));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

std::optional<MessageState> messageStateOf(std::string_view name) {
  constexpr std::array kStates{MessageState::pending, MessageState::sending, MessageState::sent, MessageState::acked,
                               MessageState::failed};
  const auto* const found = std::ranges::find_if(kStates, [name](MessageState state) { return nameOf(state) == name; });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ackbox::records
