#include "delivery/key_queue.hpp"

namespace ackbox::delivery {
namespace {

// Below this, moving or freeing memory costs more than it saves.
constexpr std::size_t kSmallSlots = 32;

}  // namespace

bool KeyQueue::contains(MessageKey key) const noexcept {
  return std::binary_search(keys_.begin() + static_cast<std::ptrdiff_t>(head_), keys_.end(), key);
}

void KeyQueue::popFront() {
  ++head_;
  giveBackMemory();
}

bool KeyQueue::insert(MessageKey key) {
  if (empty() || key > keys_.back()) {
    keys_.push_back(key);
    return true;
  }
  const auto place = std::lower_bound(begin(), keys_.end(), key);
  if (*place == key) {
    return false;
  }
  const auto offset = place - begin();
  if (static_cast<std::size_t>(offset) > size() / 2) {
    keys_.insert(place, key);
    return true;
  }
  if (head_ == 0) {
    makeRoomInFront();
  }
  // All keys before the place move one slot to the front.
  std::move(begin(), begin() + offset, begin() - 1);
  --head_;
  *(begin() + offset) = key;
  return true;
}

bool KeyQueue::erase(MessageKey key) {
  const auto place = std::lower_bound(begin(), keys_.end(), key);
  if (place == keys_.end() || *place != key) {
    return false;
  }
  if (static_cast<std::size_t>(place - begin()) > size() / 2) {
    keys_.erase(place);
  } else {
    std::move_backward(begin(), place, place + 1);
    ++head_;
  }
  giveBackMemory();
  return true;
}

void KeyQueue::makeRoomInFront() {
  // In proportion to the size, so that a run of insertions at the front stays linear.
  const std::size_t room = size() / 8 + 4;
  keys_.insert(keys_.begin(), room, 0);
  head_ = room;
}

void KeyQueue::giveBackMemory() {
  if (empty()) {
    keys_.clear();
    head_ = 0;
    if (keys_.capacity() > kSmallSlots) {
      keys_.shrink_to_fit();
    }
  } else if (head_ > kSmallSlots && head_ > size()) {
    // Moves at most one key per key popped.
    keys_.erase(keys_.begin(), begin());
    head_ = 0;
    if (keys_.capacity() > 4 * keys_.size() + kSmallSlots) {
      keys_.shrink_to_fit();
    }
  }
}

}  // namespace ackbox::delivery
