#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "delivery/session.hpp"

namespace ackbox::delivery {

/// A peer's sessions that could be sent now. The highest priority goes first, round robin within one; a lower one that
/// has been passed over for `kPatience` turns gets the next, so that none starves.
///
/// A session that was queued again with another priority leaves its former place behind, to be dropped when it comes
/// to the front.
class ReadyQueue {
public:
  static constexpr std::uint32_t kPatience = 16;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Puts `session` at the end of its priority.
  void push(Session& session);
  /// Whose turn it is. Precondition: not empty.
  [[nodiscard]] Session& front() const { return *levels_[turn()].front(); }
  /// Whether the first place is one that its session has left. Precondition: not empty.
  [[nodiscard]] bool frontIsStale() const;
  /// Takes the first away, its turn used. Precondition: not empty.
  void popFront();
  /// Takes the first away as if it had not been there. Precondition: not empty.
  void dropFront();

private:
  static constexpr std::size_t kLevels = kPriorityMax + 1;
  [[nodiscard]] std::size_t turn() const noexcept;

  std::array<std::deque<Session*>, kLevels> levels_;
  /// Turns that others have had since it waits.
  std::array<std::uint32_t, kLevels> passedOver_{};
  std::size_t size_ = 0;
};

}  // namespace ackbox::delivery
