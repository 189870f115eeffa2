#pragma once

#include <cstdint>
#include <list>
#include <utility>

#include "base/mutex.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// What one commit shows a run: rows that appeared, and whether other processes share the file.
struct NewCommit {
  store::NewRows rows;
  bool isShared = false;
};

/// What commits show a run and it has not taken in yet, in the order of the commits, whichever threads committed. The
/// caller of `add` wakes the run, so that this queue is not locked while it wakes up.
///
/// Thread-safety: `add` by one thread at a time; `take` and `clear` by any.
class CommitQueue {
public:
  enum class WhenEmpty : std::uint8_t { keep, leaveOut };

  /// Adds what `read()` returns. True if the caller is to wake the run: no other caller was since the run last took
  /// all. What `read` throws leaves the queue as it was.
  template <typename Read>
  bool add(WhenEmpty whenEmpty, Read&& read) {
    // Memory first, as what is read is not given again.
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
