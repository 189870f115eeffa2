#include "cli/inbox_view.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace ackbox::cli {
namespace {

std::optional<WallTime> instantIfAny(WallTime instant) {
  return instant == WallTime{} ? std::nullopt : std::optional(instant);
}

}  // namespace

std::optional<InboxState> liveInboxStateOf(std::string_view name) {
  constexpr std::array kStates = {InboxState::waiting, InboxState::unattended, InboxState::behind, InboxState::running,
                                  InboxState::backoff};
  const auto found = std::ranges::find_if(kStates, [name](InboxState state) { return inboxStateName(state) == name; });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

std::string inboxStateName(InboxState state) {
  std::string name(toString(state));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

json::Line inboxLine(const InboxInfo& frame) {
  json::Line line;
  line.add("message_id", frame.messageId)
      .add("row", frame.row)
      .add("state", inboxStateName(frame.state))
      .add("source", frame.source)
      .add("origin", frame.origin)
      .add("session", frame.session)
      .add("sequence", frame.sequence)
      .add("type", frame.type)
      .add("retry_count", frame.retryCount)
      .add("start_count", frame.startCount)
      .add("accepted_at_ms", instantIfAny(frame.acceptedAt))
      .add("started_at_ms", instantIfAny(frame.startedAt))
      .add("due_at_ms", instantIfAny(frame.dueAt))
      .add("kept_until_ms", instantIfAny(frame.keptUntil))
      .add("failed_at_ms", frame.failedAt)
      .add("reason", frame.reason)
      .add("last_error", frame.lastError)
      .add("bytes", frame.bytes);
  if (!frame.waitsFor.empty()) {
    line.add("waits_for", frame.waitsFor);
  }
  return line;
}

}  // namespace ackbox::cli
