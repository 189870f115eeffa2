#include "records/inbox_frame.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace ackbox::records {
namespace {

template <auto Get>
constexpr Field<InboxInfo> of(std::string_view name, std::string_view meaning) {
  return field<InboxInfo, Get>(name, meaning);
}

constexpr std::array kInbox{
    of<&InboxInfo::messageId>("message_id", "The id that its sender gave it."),
    of<&InboxInfo::row>("row", "Its row in the file: a later frame has a larger one."),
    of<[](const InboxInfo& frame) { return nameOf(frame.state); }>("state", "What it waits for, or who works on it."),
    of<&InboxInfo::source>("source", "Its sender's URI."),
    of<&InboxInfo::origin>("origin", "The identity of its sender's store."),
    of<&InboxInfo::session>("session", "Its session."),
    of<&InboxInfo::sequence>("sequence", "Its number within the session; 0: it is in no order."),
    of<&InboxInfo::type>("type", "The type of its data."),
    of<&InboxInfo::retryCount>("retry_count", "How often it was put off with a charge."),
    of<&InboxInfo::startCount>("start_count", "How often it was begun."),
    of<&InboxInfo::acceptedAt>("accepted_at_ms", "When it was accepted."),
    of<&InboxInfo::startedAt>("started_at_ms", "When it was last begun."),
    of<&InboxInfo::dueAt>("due_at_ms", "It is not begun before."),
    of<&InboxInfo::keptUntil>("kept_until_ms", "It is rejected then, if it has not ended."),
    of<&InboxInfo::failedAt>("failed_at_ms", "When it was rejected."),
    of<&InboxInfo::reason>("reason", "Why it was rejected."),
    of<&InboxInfo::lastError>("last_error", "The error of its last run."),
    of<&InboxInfo::bytes>("bytes", "The bytes of its data."),
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
