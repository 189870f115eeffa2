#include "delivery/ready_queue.hpp"

namespace ackbox::delivery {

void ReadyQueue::push(Session& session) {
  session.queuedAt = session.priority;
  levels_[session.priority].push_back(&session);
  ++size_;
}

bool ReadyQueue::frontIsStale() const {
  const std::size_t level = turn();
  const Session& first = *levels_[level].front();
  return first.phase != Phase::ready || first.queuedAt != level;
}

void ReadyQueue::popFront() {
  const std::size_t level = turn();
  for (std::size_t other = 0; other < kLevels; ++other) {
    passedOver_[other] = other == level || levels_[other].empty() ? 0 : passedOver_[other] + 1;
  }
  levels_[level].pop_front();
  --size_;
}

void ReadyQueue::dropFront() {
  const std::size_t level = turn();
  levels_[level].pop_front();
  passedOver_[level] = levels_[level].empty() ? 0 : passedOver_[level];
  --size_;
}

void ReadyQueue::passOver(std::size_t count) {
  if (empty()) {
    return;
  }
  std::deque<Session*>& level = levels_[turn()];
  for (count %= level.size(); count > 0; --count) {
    level.push_back(level.front());
    level.pop_front();
  }
}

std::size_t ReadyQueue::turn() const noexcept {
  std::size_t highest = kLevels;
  std::size_t neglected = kLevels;
  for (std::size_t level = kLevels; level-- > 0;) {
    if (levels_[level].empty()) {
      continue;
    }
    highest = highest == kLevels ? level : highest;
    if (passedOver_[level] >= kPatience && (neglected == kLevels || passedOver_[level] > passedOver_[neglected])) {
      neglected = level;
    }
  }
  return neglected == kLevels ? highest : neglected;
}

}  // namespace ackbox::delivery
