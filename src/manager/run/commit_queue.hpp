#pragma once

#include <cstdint>
#include <list>
#include <utility>

#include "base/mutex.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// The new rows of one commit, and whether other processes share the file.
struct NewCommit {
  store::NewRows rows;
  bool isShared = false;
};

/// The new rows that a run has not taken yet, in the order of the commits, whichever threads committed. The caller of
/// `add` wakes the run, so that this queue is not locked while the run wakes up.
///
/// Thread-safety: `add` by one thread at a time; `take` and `clear` by any.
class CommitQueue {
public:
  enum class WhenEmpty : std::uint8_t { keep, leaveOut };

  /// Adds the result of `read()`. Returns true if the caller must wake the run, as the first one since the run last
  /// took all. If `read` throws, the queue does not change.
  template <typename Read>
  bool add(WhenEmpty whenEmpty, Read&& read) {
    // Allocates first, because the rows cannot be read again.
    std::list<NewCommit> added(1);
    added.front() = read();
    if (whenEmpty == WhenEmpty::leaveOut && added.front().rows.empty()) {
      return false;
    }
    const MutexLock lock(mutex_);
    commits_.splice(commits_.end(), added);
    return !std::exchange(isWoken_, true);
  }

  [[nodiscard]] std::list<NewCommit> take() {
    const MutexLock lock(mutex_);
    isWoken_ = false;
    return std::exchange(commits_, {});
  }

  void clear() noexcept {
    const MutexLock lock(mutex_);
    commits_.clear();
  }

private:
  Mutex mutex_;
  std::list<NewCommit> commits_ ACKBOX_GUARDED_BY(mutex_);
  bool isWoken_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::manager
