#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "base/mutex.hpp"

namespace ackbox::serve {

/// The newest log records at `info` and above, 256 and 512 KiB at most, as JSON, each with a number that grows, over
/// restarts of the process, too, as long as its calendar does not go back.
///
/// Thread-safety: all members may be called from any thread.
class LogRing {
public:
  struct Entry {
    std::uint64_t id = 0;
    std::string json = {};
  };

  explicit LogRing(WallTime startedAt);

  void add(const LogRecord& record);

  /// Those behind `id` that are still there.
  [[nodiscard]] std::deque<Entry> after(std::uint64_t id) const;
  /// The newest one's number, or where they begin.
  [[nodiscard]] std::uint64_t newest() const;

private:
  mutable Mutex mutex_;
  std::uint64_t newest_ ACKBOX_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t bytes_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::serve
