#include "records/inbox_frame.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ackbox::records {
namespace {

template <auto Get>
constexpr Field<InboxInfo> ofInbox(std::string_view name, std::string_view meaning) {
  return field<InboxInfo, Get>(name, meaning);
}

constexpr std::array kInbox{
    ofInbox<&InboxInfo::messageId>("message_id", "The id that its sender gave it."),
    ofInbox<&InboxInfo::row>("row", "Its row in the file: a later frame has a larger one."),
    ofInbox<[](const InboxInfo& frame) { return nameOf(frame.state); }>("state",
                                                                        "What it waits for, or who works on it."),
    ofInbox<&InboxInfo::source>("source", "Its sender's URI."),
    ofInbox<&InboxInfo::origin>("origin", "The identity of its sender's store."),
    ofInbox<&InboxInfo::session>("session", "Its session."),
    ofInbox<&InboxInfo::sequence>("sequence", "Its number within the session; 0: it is in no order."),
    ofInbox<&InboxInfo::type>("type", "The type of its data."),
    ofInbox<&InboxInfo::retryCount>("retry_count", "How often it was put off with a charge."),
    ofInbox<&InboxInfo::startCount>("start_count", "How often it was begun."),
    ofInbox<&InboxInfo::acceptedAt>("accepted_at_ms", "When it was accepted."),
    ofInbox<&InboxInfo::startedAt>("started_at_ms", "When it was last begun."),
    ofInbox<&InboxInfo::dueAt>("due_at_ms", "It is not begun before."),
    ofInbox<&InboxInfo::keptUntil>("kept_until_ms", "It is rejected then, if it has not ended."),
    ofInbox<&InboxInfo::failedAt>("failed_at_ms", "When it was rejected."),
    ofInbox<&InboxInfo::reason>("reason", "Why it was rejected."),
    ofInbox<&InboxInfo::lastError>("last_error", "The error of its last run."),
    ofInbox<&InboxInfo::bytes>("bytes", "The bytes of its data."),
};

}  // namespace

std::span<const Field<InboxInfo>> inboxFields() {
  return kInbox;
}

json::Line lineOf(const InboxInfo& frame) {
  json::Line line = lineOf(inboxFields(), frame);
  if (!frame.waitsFor.empty()) {
    line.add("waits_for", frame.waitsFor);
  }
  return line;
}

std::string nameOf(InboxState state) {
  std::string name(toString(state));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

std::optional<InboxState> liveInboxStateOf(std::string_view name) {
  constexpr std::array kStates = {InboxState::waiting, InboxState::unattended, InboxState::behind, InboxState::running,
                                  InboxState::backoff};
  const auto* const found = std::ranges::find_if(kStates, [name](InboxState state) { return nameOf(state) == name; });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ackbox::records
