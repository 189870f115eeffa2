#include "records/inbox_frame.hpp"

#include <algorithm>
#include <array>

#include "records/text.hpp"

namespace ackbox::records {
namespace {

constexpr std::array kInbox{
    field<&InboxInfo::messageId>("message_id", "The id that its sender gave it.", {"Id", "ID", Form::id}),
    field<&InboxInfo::row>("row", "Its row in the outbox: a later frame has a larger one."),
    field<[](const InboxInfo& frame) { return nameOf(frame.state); }>("state", "What it waits for, or who works on it.",
                                                                      {"State", "STATE"}),
    field<&InboxInfo::source>("source", "Its sender's URI.", {"Sender", "SENDER"}),
    field<&InboxInfo::origin>("origin", "The identity of its sender's store.", {"Store", "", Form::id}),
    field<&InboxInfo::session>("session", "Its session.", {"Session", "SESSION"}),
    field<&InboxInfo::sequence>("sequence", "Its number within the session; 0: it is in no order.",
                                {"Sequence", "SEQ", Form::ordinal}),
    ifAny(
        field<&InboxInfo::mailbox>("mailbox", "The agent that fetches it; absent: it is for this agent.", {"Mailbox"})),
    field<&InboxInfo::type>("type", "The type of its data.", {"Type", "TYPE"}),
    field<&InboxInfo::retryCount>("retry_count", "How often it was put off with a charge.",
                                  {"Retries", "RETRIES", Form::ordinal}),
    field<&InboxInfo::startCount>("start_count", "How often it was begun.", {"Runs", "", Form::ordinal}),
    field<&InboxInfo::acceptedAt>("accepted_at_ms", "When it was accepted.", {"Accepted", "ACCEPTED"}),
    field<&InboxInfo::startedAt>("started_at_ms", "When it was last begun.", {"Last run"}),
    field<&InboxInfo::dueAt>("due_at_ms", "It is not begun before."),
    forPeople<[](const InboxInfo& frame) { return frame.state == InboxState::backoff ? frame.dueAt : WallTime{}; }>(
        {"Due", "DUE"}),
    field<&InboxInfo::endedAt>("ended_at_ms", "Of a frame that has ended: when.", {"Ended"}),
    field<&InboxInfo::keptUntil>("kept_until_ms", "Of a frame that has ended: until when its outcome is kept.",
                                 {"Kept until"}),
    field<&InboxInfo::failedAt>("failed_at_ms", "When its last failed run ended.", {"Failed"}),
    field<&InboxInfo::reason>("reason", "Why it was rejected.", {"Reason"}),
    field<&InboxInfo::lastError>(
        "last_error", "The error of its last failed run; of a frame that has ended, the detail that its sender gets.",
        {"Last error", "", Form::error}),
    field<&InboxInfo::bytes>("bytes", "The bytes of its data."),
    ifAny(field<&InboxInfo::waitsFor>(
        "waits_for", "Of a frame that waits for an application: what for, such as one that answers 404, or a stream.",
        {"Waits for"})),
    forPeople<[](const InboxInfo& frame) {
      return frame.waitsFor.empty() ? frame.lastError : "waits for " + frame.waitsFor;
    }>({"", "WHY", Form::error}),
};

constexpr std::array kInbound{
    field<&InboundFrame::time>("time_ms", "When its sender enqueued it.", {"Enqueued"}),
    field<&InboundFrame::expiresAt>("expires_at_ms", "It is of no use after that.", {"Expires"}),
    field<&InboundFrame::traceparent>("traceparent", "What it is part of, as W3C writes it.",
                                      {"Traceparent", "", Form::id}),
    field<&InboundFrame::correlationId>("correlation_id", "The id of what it answers.", {"Correlation", "", Form::id}),
    field<&InboundFrame::resentOf>("resent_of",
                                   "The id of the message that its sender sends again; its own: under its id.",
                                   {"Sent again", "", Form::id}),
    field<&InboundFrame::dataContentType>("data_content_type", "The media type of data that is no JSON.",
                                          {"Content type"}),
};

}  // namespace

template <>
std::span<const Field<InboxInfo>> fields() {
  return kInbox;
}

template <>
std::span<const Field<InboundFrame>> fields() {
  return kInbound;
}

std::string nameOf(InboxState state) {
  return lowered(toString(state));
}

std::optional<InboxState> inboxStateOf(std::string_view name) {
  constexpr std::array kStates = {InboxState::waiting, InboxState::unattended, InboxState::behind,
                                  InboxState::running, InboxState::backoff,    InboxState::ended};
  const auto* const found = std::ranges::find_if(kStates, [name](InboxState state) { return nameOf(state) == name; });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ackbox::records
