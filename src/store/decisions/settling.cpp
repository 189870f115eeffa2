#include "store/decisions/settling.hpp"

#include <algorithm>

#include "base/pattern.hpp"

namespace ackbox::store {

using delivery::Next;
using delivery::Transition;

MessageState stateOf(Next next) {
  switch (next) {
    case Next::pending:
      return MessageState::pending;
    case Next::sending:
      return MessageState::sending;
    case Next::sent:
      return MessageState::sent;
    case Next::failed:
      return MessageState::failed;
    case Next::acked:
    case Next::gone:
    case Next::illegal:
      break;
  }
  return MessageState::acked;
}

bool isSettle(Transition transition) {
  return transition != Transition::claim && transition != Transition::redrive && transition != Transition::resend &&
         transition != Transition::repeat;
}

bool isTo(const LocatedMessage& found, std::string_view agent, std::span<const std::string> mailboxes) {
  const auto fits = [&](const std::string& pattern) { return fitsPattern(pattern, found.agent); };
  return !agent.empty() && !found.agent.empty() && (found.agent == agent || std::ranges::any_of(mailboxes, fits));
}

bool isOfEarlier(const LocatedMessage& found, std::uint64_t sequence, std::optional<WallTime> time) {
  const bool isOfOtherNumber = sequence != 0 && sequence != found.settlement.sequence;
  const bool isOfOtherEnqueue = found.settlement.sequence == 0 && time && *time != found.enqueuedAt;
  return isOfOtherNumber || isOfOtherEnqueue;
}

bool isLate(const LocatedMessage& found, std::string_view origin) {
  const bool isOfOther = !origin.empty() && !found.store.empty() && origin != found.store;
  return isOfOther || (found.resets > 0 && found.settlement.from == MessageState::pending);
}

}  // namespace ackbox::store
