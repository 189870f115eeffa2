#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <utility>

#include "store/store.hpp"

namespace ackbox::manager {

/// What one commit tells a run of: rows that appeared, and whether other processes share the file.
struct News {
  store::NewRows rows;
  bool shared = false;
};

/// What commits have told a run of and it has not taken in yet, in the order of the commits, whichever threads
/// committed. To wake the run is a matter of its own, so that this queue is not locked while it wakes up.
///
/// Thread-safety: `add` by one thread at a time; `take` and `clear` by any.
class CommitQueue {
public:
  enum class WhenEmpty : std::uint8_t { keep, leaveOut };

  /// Adds what `read()` returns. True if the run is to be woken: nobody has undertaken to since it last took all. What
  /// `read` throws leaves the queue as it was.
  template <typename Read>
  bool add(WhenEmpty whenEmpty, Read&& read) {
    // Memory first, as what is read is not given again.
    std::list<News> added(1);
    added.front() = read();
    if (whenEmpty == WhenEmpty::leaveOut && added.front().rows.empty()) {
      return false;
    }
    const std::scoped_lock lock(mutex_);
    news_.splice(news_.end(), added);
    return !std::exchange(isWoken_, true);
  }

  [[nodiscard]] std::list<News> take() {
    const std::scoped_lock lock(mutex_);
    isWoken_ = false;
    return std::exchange(news_, {});
  }

  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    news_.clear();
  }

private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::list<News> news_;
  bool isWoken_ = false;
};

}  // namespace ackbox::manager
