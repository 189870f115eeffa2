#pragma once

#include <set>
#include <string_view>
#include <utility>

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
  [[nodiscard]] bool isBefore(const Frame& frame) const;

  Job* first_ = nullptr;
  Job* last_ = nullptr;
  // Sessions, each with its peer, to which they are to enqueue. The texts are in the jobs.
  std::set<std::pair<std::string_view, std::string_view>> sessions_;
  // Without memory, the order is kept: of none of them are the sessions known.
  bool knowsSessions_ = true;
};

}  // namespace ackbox::store
