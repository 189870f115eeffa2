#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "delivery/session.hpp"

namespace ackbox::delivery {

/// A peer's sessions that could be sent now. The highest priority goes first, with round robin within a priority. A
/// lower priority that has been passed over for `kPatience` turns gets the next turn, so that none starves.
///
/// When a session is queued again with another priority, its old entry stays until it comes to the front and is
/// dropped.
class ReadyQueue {
public:
  static constexpr std::uint32_t kPatience = 16;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Puts `session` at the end of its priority.
  void push(Session& session);
  /// The session that has its turn. Precondition: not empty.
  [[nodiscard]] Session& front() const { return *levels_[turn()].front(); }
  /// Whether the first entry is one that its session has left. Precondition: not empty.
  [[nodiscard]] bool frontIsStale() const;
  /// Removes the first entry and uses its turn. Precondition: not empty.
  void popFront();
  /// Removes the first entry without using a turn. Precondition: not empty.
  void dropFront();
  /// Moves `count` entries of the priority that has its turn to its end, modulo their number.
  void passOver(std::size_t count);

private:
  static constexpr std::size_t kLevels = kPriorityMax + 1;
  [[nodiscard]] std::size_t turn() const noexcept;

  std::array<std::deque<Session*>, kLevels> levels_;
  /// Per level: the turns that other levels have had while it waits.
  std::array<std::uint32_t, kLevels> passedOver_{};
  std::size_t size_ = 0;
};

}  // namespace ackbox::delivery
