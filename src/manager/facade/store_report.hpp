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

/// What a store knows of the file and the disk below it, reported once each: that the file was replaced
/// and that the store goes on, that a sync failed and that it has no consequences any more. The reports come one after
/// the other, in the order in which it happened, however many threads get answers.
///
/// Thread-safety: all members may be called from any thread, also from inside a report.
class StoreReport {
public:
  /// What it throws loses that report, and those that were to follow at once.
  using Emit = std::function<void(bool isRaised, std::string sentence)>;

  /// `ownersFile`: see `Store::ownersFile`. `store` outlives this object.
  StoreReport(const store::Store& store, std::filesystem::path ownersFile, Emit emit);

  /// The store answered. Costs two reads where there is nothing to report, and reports otherwise, here or in the thread
  /// that is reporting already.
  void answered() noexcept;

private:
  struct Report {
    bool isRaised;
    std::string sentence;
  };

  /// What is new, which then counts as reported. None: nothing is, or another thread reports it.
  [[nodiscard]] std::vector<Report> take(bool isReporting) ACKBOX_EXCLUDES(mutex_);
  void takeSyncs(std::vector<Report>& reports) ACKBOX_REQUIRES(mutex_);

  // Constant after construction.
  const store::Store& store_;
  const std::filesystem::path ownersFile_;
  const Emit emit_;

  Mutex mutex_;
  bool isReporting_ ACKBOX_GUARDED_BY(mutex_) = false;
  // What was reported; written with the lock held, and read without it to see whether there is anything to do.
  std::atomic<bool> replacedReported_ = false;
  std::atomic<std::uint64_t> syncsReported_ = 0;
};

}  // namespace ackbox::manager
