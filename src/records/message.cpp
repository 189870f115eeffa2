#include "records/message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

#include "records/text.hpp"

namespace ackbox::records {
namespace {

/// The instant `dueAt`, which means something different in each of these states.
template <MessageState... States>
constexpr Field<MessageInfo> dueIn(Shown shown) {
  return forPeople<[](const MessageInfo& message, WallTime now) {
    const bool isMeant = ((message.state == States) || ...);
    return valueOf(isMeant && (message.state == MessageState::failed || message.dueAt > now) ? message.dueAt
                                                                                             : WallTime{});
  }>(shown);
}

/// Of a message that was retried, or sent again under its id: the instant of its enqueue, if its id is of ackbox's
/// making. Such an id begins with that instant and ends in the row that the message had then (docs/message_ids.md).
WallTime firstEnqueuedAt(const MessageInfo& message) {
  constexpr std::size_t kIdLength = 36;
  constexpr std::size_t kRowDigits = 10;
  const std::string_view id = message.messageId;
  if (id.size() != kIdLength || id.substr(13, 2) != "-7") {
    return {};
  }
  const auto number = [](std::string_view digits, int base) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
  };
  const std::int64_t row = number(id.substr(kIdLength - kRowDigits), 10);
  const std::int64_t millis = number(std::string(id.substr(0, 8)).append(id.substr(9, 4)), 16);
  const WallTime first{std::chrono::milliseconds(millis)};
  return row > 0 && row < message.row && millis > 0 && first < message.enqueuedAt ? first : WallTime{};
}

constexpr std::array kMessage{
    field<&MessageInfo::messageId>("message_id", "Its id, by which the receiver knows repetitions.",
                                   {"Id", "ID", Form::id}),
    field<&MessageInfo::row>("row", "Its row in the outbox: a later message has a larger one."),
    field<[](const MessageInfo& message) { return nameOf(message.state); }>("state", "What has become of it.",
                                                                            {"State", "STATE"}),
    field<&MessageInfo::peer>("peer", "The name of its receiver.", {"Peer", "PEER"}),
    field<&MessageInfo::session>("session", "Its session.", {"Session", "SESSION"}),
    field<&MessageInfo::sequence>("sequence", "Its number within the session; 0: it is in no order.",
                                  {"Sequence", "SEQ", Form::ordinal}),
    field<&MessageInfo::type>("type", "The type of its data.", {"Type", "TYPE"}),
    field<&MessageInfo::retryCount>("retry_count",
                                    "Charged attempts: after more than `max_retries` it is a dead letter.",
                                    {"Retries", "RETRIES", Form::ordinal}),
    field<&MessageInfo::enqueuedAt>("enqueued_at_ms", "When it was enqueued, or last retried or sent again by hand.",
                                    {"Enqueued", "ENQUEUED"}),
    ifAny(field<firstEnqueuedAt>("first_enqueued_at_ms",
                                 "When it was first enqueued, if it was retried or sent again since, and its id is of "
                                 "ackbox's making.",
                                 {"First enqueued"})),
    field<&MessageInfo::dueAt>("due_at_ms", "It is not sent before; of a dead letter, when it became one."),
    dueIn<MessageState::pending, MessageState::sent>({"Due", "DUE"}),
    dueIn<MessageState::failed>({"Failed"}),
    dueIn<MessageState::acked>({"Kept until"}),
    field<&MessageInfo::reason>("reason", "Why it is a dead letter.", {"Reason"}),
    field<&MessageInfo::lastError>("last_error", "The error of its last attempt without success, charged or not.",
                                   {"Last error", "", Form::error}),
    forPeople<[](const MessageInfo& message) { return joined(message.reason, message.lastError); }>(
        {"", "WHY", Form::error}),
};

constexpr std::array kReason{
    field<[](const Reason& reason) { return toString(reason.blockReason); }>("block_reason", "What it waits for."),
    field<&Reason::until>("until_at_ms", "How long, where that is known."),
    field<&Reason::sequence>("sequence", "The sequence of what it waits for; 0: nothing of its session."),
    field<&Reason::processId>("process_id", "The process that has it; 0: none."),
    field<&Reason::detail>("detail", "What is known besides."),
};

using Count = std::optional<std::int64_t>;

constexpr std::array kAttempt{
    field<&AttemptInfo::firstAt>("first_at_ms", "When the first of these ended."),
    forPeople<[](const AttemptInfo& attempt) { return attempt.count == 1 ? WallTime{} : attempt.firstAt; }>(
        {"First", "FIRST"}),
    field<&AttemptInfo::lastAt>("at_ms", "When the last of them ended.", {"Last", "LAST"}),
    field<&AttemptInfo::count>("count", "How many these are.", {"Times", "TIMES"}),
    field<[](const AttemptInfo& attempt) { return attempt.took ? Count(attempt.took->count()) : Count(); }>(
        "took_ms", "How long the last took; null: it was no request.", {"Took", "TOOK", Form::milliseconds}),
    field<&AttemptInfo::outcome>("outcome",
                                 "What became of the message: a `retry` is charged to it, a `release` is not.",
                                 {"Outcome", "OUTCOME"}),
    field<[](const AttemptInfo& attempt) { return attempt.status == 0 ? Count() : Count(attempt.status); }>(
        "status", "The HTTP status of the answer; null: none came.", {"Status", "STATUS"}),
    field<&AttemptInfo::error>("error", "What was wrong.", {"Error", "ERROR", Form::error}),
};

constexpr std::array kFrame{
    field<&Frame::traceparent>("traceparent", "What it is part of, as W3C writes it.", {"Traceparent", "", Form::id}),
    field<&Frame::correlationId>("correlation_id", "The id of what it answers.", {"Correlation", "", Form::id}),
    field<&Frame::resentOf>("resent_of", "The id of the message that it sends again; its own: under its id.",
                            {"Sent again", "", Form::id}),
    field<&Frame::notBefore>("not_before_ms", "It is not sent before.", {"Not before"}),
    field<&Frame::expiresAt>("expires_at_ms", "If it is not sent by then, it is a dead letter.", {"Expires"}),
    field<&Frame::priority>("priority", "Of its session, from 0 to 9.", {"Priority"}),
    field<&Frame::supersedeKey>("supersede_key", "A later message with this key takes its place.", {"Supersede key"}),
};

}  // namespace

template <>
std::span<const Field<MessageInfo>> fields() {
  return kMessage;
}

template <>
std::span<const Field<AttemptInfo>> fields() {
  return kAttempt;
}

template <>
std::span<const Field<Frame>> fields() {
  return kFrame;
}

template <>
std::span<const Field<Reason>> fields() {
  return kReason;
}

std::string nameOf(MessageState state) {
  return lowered(toString(state));
}

std::optional<MessageState> messageStateOf(std::string_view name) {
  constexpr std::array kStates{MessageState::pending, MessageState::sending, MessageState::sent, MessageState::acked,
                               MessageState::failed};
  const auto* const found = std::ranges::find_if(kStates, [name](MessageState state) { return nameOf(state) == name; });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ackbox::records
