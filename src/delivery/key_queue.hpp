#pragma once

#include <cstddef>
#include <vector>

#include "delivery/types.hpp"

namespace ackbox::delivery {

/// A session's waiting messages in key order: eight bytes each, cheap at both ends, where nearly all changes are.
class KeyQueue {
public:
  [[nodiscard]] bool empty() const noexcept { return head_ == keys_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return keys_.size() - head_; }
  /// Precondition: not empty.
  [[nodiscard]] MessageKey front() const noexcept { return keys_[head_]; }
  [[nodiscard]] bool contains(MessageKey key) const noexcept;

  /// Removes the first. Precondition: not empty.
  void popFront();

  /// Puts `key` at its place; false when it is there already.
  bool insert(MessageKey key);

  /// Takes `key` out; false when it is not there.
  bool erase(MessageKey key);

private:
  [[nodiscard]] std::vector<MessageKey>::iterator begin() noexcept {
    return keys_.begin() + static_cast<std::ptrdiff_t>(head_);
  }
  void makeRoomInFront();
  void giveBackMemory();

  std::vector<MessageKey> keys_;
  // The slots before it are free, for keys that come back to the front.
  std::size_t head_ = 0;
};

}  // namespace ackbox::delivery
