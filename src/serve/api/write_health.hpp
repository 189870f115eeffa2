#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"

namespace ackbox::serve {

/// Whether the outbox's file can be written, judged by the outcome of the last enqueue and by a trial file in the same
/// folder.
///
/// Thread-safety: all members may be called from any thread.
class WriteHealth {
public:
  /// An empty `file`: the outbox is in a database, and only its refusals are judged.
  WriteHealth(const std::filesystem::path& file, std::shared_ptr<Clock> clock);

  /// Reports that an enqueue was stored, or that the file refused it for this cause. A lock in a database is of the
  /// enqueue's session only, and does not count.
  void stored();
  void refused(const std::error_code& cause);

  /// Why the file cannot be written, for people; empty if it can. A refusal counts for ten seconds, or until an enqueue
  /// is stored. Writes 64 KiB to an unnamed file at most once in five seconds, and so may block.
  [[nodiscard]] std::string problem();

private:
  const std::filesystem::path folder_;
  const std::shared_ptr<Clock> clock_;

  Mutex mutex_;
  std::optional<SteadyTime> refusedAt_ ACKBOX_GUARDED_BY(mutex_);
  std::string cause_ ACKBOX_GUARDED_BY(mutex_);

  Mutex trialMutex_;
  std::optional<SteadyTime> triedAt_ ACKBOX_GUARDED_BY(trialMutex_);
  std::string found_ ACKBOX_GUARDED_BY(trialMutex_);
};

}  // namespace ackbox::serve
