#pragma once

#include <vector>

#include "ackbox/frame.hpp"
#include "store/job.hpp"

namespace ackbox::store {

/// The jobs that another transaction's lock keeps out, in the order of their submission. They are run apart from all
/// others, so that none of these waits for the lock.
///
/// Thread-safety: none.
class KeptOut {
public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// `job` has left its group.
  void add(Job& job) noexcept;
  /// Whether one of them is to enqueue to a session of `job`, which must not overtake it.
  [[nodiscard]] bool isBefore(const Job& job) const noexcept;
  /// Adds those jobs of a group that must not overtake any of them; returns the others.
  [[nodiscard]] Job* addFollowers(Job* group) noexcept;
  /// Takes all of them, as a group.
  [[nodiscard]] Job* takeAll() noexcept;

private:
  Job* first_ = nullptr;
  Job* last_ = nullptr;
};

}  // namespace ackbox::store
