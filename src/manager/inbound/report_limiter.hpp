#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <utility>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"

namespace ackbox::manager {

/// Lets one report a minute pass for each `Key`, and remembers a bounded number of keys, so that an unknown sender
/// cannot cause a flood of reports.
///
/// Thread-safety: all members may be called from any thread.
template <typename Key>
class ReportLimiter {
public:
  static constexpr std::chrono::minutes kBetween{1};
  static constexpr std::size_t kRememberedMax = 1'024;

  [[nodiscard]] bool admits(Key key, SteadyTime now) {
    const MutexLock lock(mutex_);
    if (reported_.size() >= kRememberedMax) {
      std::erase_if(reported_, [now](const auto& reported) { return now - reported.second >= kBetween; });
    }
    const auto place = reported_.find(key);
    if (place != reported_.end() ? now - place->second < kBetween : reported_.size() >= kRememberedMax) {
      return false;
    }
    reported_.insert_or_assign(std::move(key), now);
    return true;
  }

private:
  Mutex mutex_;
  std::map<Key, SteadyTime> reported_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::manager
