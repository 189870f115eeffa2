#include "reception/turn_queue.hpp"

#include <algorithm>

namespace ackbox::reception {

void TurnQueue::push(SenderNumber sender, Entry entry) {
  std::deque<Entry>& own = entries_[sender];
  if (own.empty()) {
    order_.push_back(sender);
  }
  own.push_back(entry);
  ++size_;
}

std::optional<TurnQueue::Entry> TurnQueue::pop(const std::function<bool(const Entry&)>& counts) {
  dropOld(counts);
  if (order_.empty()) {
    return std::nullopt;
  }
  const SenderNumber sender = order_.front();
  order_.pop_front();
  const auto own = entries_.find(sender);
  const Entry next = own->second.front();
  own->second.pop_front();
  --size_;
  if (own->second.empty()) {
    entries_.erase(own);
  } else {
    order_.push_back(sender);
  }
  return next;
}

const TurnQueue::Entry* TurnQueue::peek(const std::function<bool(const Entry&)>& counts) {
  dropOld(counts);
  return order_.empty() ? nullptr : &entries_.at(order_.front()).front();
}

void TurnQueue::visit(const std::function<bool(const Entry&)>& visit) const {
  for (const auto& [sender, own] : entries_) {
    if (!std::ranges::all_of(own, visit)) {
      return;
    }
  }
}

void TurnQueue::sweep(const std::function<bool(const Entry&)>& counts) {
  std::erase_if(order_, [&](SenderNumber sender) {
    const auto own = entries_.find(sender);
    size_ -= std::erase_if(own->second, [&](const Entry& entry) { return !counts(entry); });
    const bool isEmpty = own->second.empty();
    if (isEmpty) {
      entries_.erase(own);
    }
    return isEmpty;
  });
}

void TurnQueue::dropOld(const std::function<bool(const Entry&)>& counts) {
  while (!order_.empty()) {
    const auto own = entries_.find(order_.front());
    std::deque<Entry>& entries = own->second;
    while (!entries.empty() && !counts(entries.front())) {
      entries.pop_front();
      --size_;
    }
    if (!entries.empty()) {
      return;
    }
    entries_.erase(own);
    order_.pop_front();
  }
}

}  // namespace ackbox::reception
