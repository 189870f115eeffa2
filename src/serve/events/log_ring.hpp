#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/log.hpp"
#include "base/mutex.hpp"

namespace ackbox::serve {

/// The newest log records at `info` and above, as JSON, at most 256 and 512 KiB. Their numbers grow, even over restarts
/// of the process, as long as the calendar is not set back.
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

  /// The kept records after `id`.
  [[nodiscard]] std::deque<Entry> after(std::uint64_t id) const;
  /// The number of the newest record, or the initial number if there are no records.
  [[nodiscard]] std::uint64_t newest() const;

private:
  mutable Mutex mutex_;
  std::uint64_t newest_ ACKBOX_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t bytes_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::serve
