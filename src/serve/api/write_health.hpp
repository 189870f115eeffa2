#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"

namespace ackbox::serve {

/// Whether the outbox's file can be written, as far as is known: by what became of the last enqueue, and by a trial
/// beside the file.
///
/// Thread-safety: all members may be called from any thread.
class WriteHealth {
public:
  WriteHealth(const std::filesystem::path& file, std::shared_ptr<Clock> clock);

  /// An enqueue was stored, or the file refused it for this cause.
  void stored();
  void refused(std::string_view cause);

  /// Why the file takes nothing, for people; empty: it does. A refusal counts for ten seconds, or until an enqueue is
  /// stored. Writes 64 KiB to a file without a name, once in five seconds at most: not for a thread that must not wait.
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
