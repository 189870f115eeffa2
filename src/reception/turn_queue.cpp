#include "reception/turn_queue.hpp"

namespace ackbox::reception {

void TurnQueue::push(SenderNumber sender, Entry entry) {
  std::deque<Entry>& own = entries_[sender];
  if (own.empty()) {
    order_.push_back(sender);
  }
  own.push_back(entry);
}

std::optional<TurnQueue::Entry> TurnQueue::pop(const std::function<bool(const Entry&)>& counts) {
  while (!order_.empty()) {
    const SenderNumber sender = order_.front();
    order_.pop_front();
    const auto own = entries_.find(sender);
    std::deque<Entry>& entries = own->second;
    while (!entries.empty() && !counts(entries.front())) {
      entries.pop_front();
    }
    std::optional<Entry> next;
    if (!entries.empty()) {
      next = entries.front();
      entries.pop_front();
    }
    if (entries.empty()) {
      entries_.erase(own);
    } else {
      order_.push_back(sender);
    }
    if (next) {
      return next;
    }
  }
  return std::nullopt;
}

}  // namespace ackbox::reception
