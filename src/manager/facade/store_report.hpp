#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "store/store.hpp"

namespace ackbox::manager {

/// Reports a store's findings on its file and disk, once each: the file was replaced, the store goes on again, a sync
/// failed, the failure has no more consequences. The reports come one after the other, in the order of the events,
/// however many threads get answers.
///
/// Thread-safety: all members may be called from any thread, also from inside a report.
class StoreReport {
public:
  /// An exception loses that report and the reports that were due right after it.
  using Emit = std::function<void(bool isRaised, std::string sentence)>;

  /// `ownersFile`: see `Store::ownersFile`. `store` outlives this object.
  StoreReport(const store::Store& store, std::filesystem::path ownersFile, Emit emit);

  /// The store answered. Costs two reads if there is nothing to report; otherwise reports, here or in the thread that
  /// is already reporting.
  void answered() noexcept;

private:
  struct Report {
    bool isRaised;
    std::string sentence;
  };

  /// The new reports, which then count as reported. Empty: there are none, or another thread reports them.
  [[nodiscard]] std::vector<Report> take(bool isReporting) ACKBOX_EXCLUDES(mutex_);
  void takeSyncs(std::vector<Report>& reports) ACKBOX_REQUIRES(mutex_);

  // Constant after construction.
  const store::Store& store_;
  const std::filesystem::path ownersFile_;
  const Emit emit_;

  Mutex mutex_;
  bool isReporting_ ACKBOX_GUARDED_BY(mutex_) = false;
  // The reported state; written with the lock held, and read without it to check for new reports.
  std::atomic<bool> replacedReported_ = false;
  std::atomic<std::uint64_t> syncsReported_ = 0;
};

}  // namespace ackbox::manager
