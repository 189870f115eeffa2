#include "manager/facade/store_report.hpp"

#include <exception>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox::manager {

StoreReport::StoreReport(const store::Store& store, std::filesystem::path ownersFile, Emit emit)
    : store_(store), ownersFile_(std::move(ownersFile)), emit_(std::move(emit)) {}

void StoreReport::answered() noexcept {
  if (store_.isReplaced() == replacedReported_ && store_.syncHealth().word() == syncsReported_) {
    return;
  }
  try {
    for (std::vector<Report> reports = take(false); !reports.empty(); reports = take(true)) {
      for (const Report& report : reports) {
        emit_(report.isRaised, report.sentence);
      }
    }
  } catch (...) {
    // There is no memory for the report.
    const MutexLock lock(mutex_);
    isReporting_ = false;
  }
}

std::vector<StoreReport::Report> StoreReport::take(bool isReporting) {
  const MutexLock lock(mutex_);
  std::vector<Report> reports;
  // The reporting thread checks again before it ends.
  if (isReporting_ && !isReporting) {
    return reports;
  }
  if (const bool isReplaced = store_.isReplaced(); isReplaced != replacedReported_) {
    replacedReported_ = isReplaced;
    reports.push_back({isReplaced, isReplaced
                                       ? "the store cannot go on: " + make_error_code(Errc::databaseReplaced).message()
                                       : "the store goes on again"});
  }
  takeSyncs(reports);
  isReporting_ = !reports.empty();
  return reports;
}

void StoreReport::takeSyncs(std::vector<Report>& reports) {
  const store::SyncHealth before = store::SyncHealth::of(syncsReported_);
  const store::SyncHealth now = store_.syncHealth();
  syncsReported_ = now.word();
  const bool isNew = now.failures != before.failures;
  if (isNew) {
    reports.push_back(
        {true,
         "the disk failed to write or sync the file, and may have forgotten what it held: nothing is "
         "acknowledged until all that is committed was written to the log once more, which is tried again; "
         "check the device, and if this lasts, end all processes that have the file open and start them again"});
  }
  if (now.isHidden && (isNew || !before.isHidden)) {
    reports.push_back({true, "a sync of the file failed, and programs that open it now cannot see that, because " +
                                 ownersFile_.string() +
                                 " cannot be changed: a power cut could lose what they acknowledge; start none that "
                                 "opens the file until it is synced again"});
  }
  if (!now.isDoubtful && (isNew || before.isDoubtful)) {
    reports.push_back({false,
                       "the disk syncs the file again: all that is committed was written to the log once more, and "
                       "enqueues are taken"});
  }
}

}  // namespace ackbox::manager
