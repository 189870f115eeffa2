#include "store/sqlite/log_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// The pause between two attempts to mend the log, each of which may write all of it: at least `kMendPause`, and at
// least `kMendRest` times the duration of the last attempt.
constexpr std::chrono::milliseconds kMendPause{100};
constexpr int kMendRest = 4;

}  // namespace

LogKeeper::LogKeeper(Connection& connection, const OutboxOptions& options, std::shared_ptr<Liveness> liveness)
    : connection_(connection),
      options_(options),
      liveness_(std::move(liveness)),
      checkpointer_(connection.handle(), options.checkpointPages, static_cast<int>(options.busyTimeout.count())) {
  connection_.whenDoubted([this] { show(); });
}

LogKeeper::~LogKeeper() {
  if (connection_.isLogDoubtful()) {
    mendDue_ = {};
    (void)mendNow();
  }
  connection_.whenDoubted({});
}

void LogKeeper::opened(bool isShared) {
  if (isShared && !liveness_->showsDoubt()) {
    connection_.trustLog();
  } else {
    // The processes that knew of a failed sync may have died.
    mend();
  }
}

void LogKeeper::requireFit(bool isDurable) {
  // A commit behind a hole would not be durable, and a commit behind lost bytes would be lost.
  if (connection_.isLogDoubtful() && (isDurable || connection_.isLogLost())) {
    if (mendFailure_ && options_.clock->steadyNow() < mendDue_) {
      std::rethrow_exception(mendFailure_);
    }
    mend();
  }
}

void LogKeeper::mend() {
  const SteadyTime began = options_.clock->steadyNow();
  mendFailure_ = nullptr;
  mendDue_ = {};
  try {
    connection_.mendLog();
  } catch (...) {
    mendFailure_ = std::current_exception();
    const SteadyTime now = options_.clock->steadyNow();
    mendDue_ = now + std::max<SteadyTime::duration>(kMendPause, kMendRest * (now - began));
    publish();
    throw;
  }
  publish();
}

void LogKeeper::committed() noexcept {
  if (connection_.isLogDoubtful() && !mendNow()) {
    // A checkpoint would copy pages that the log may lack after a power cut.
    return;
  }
  checkpointer_.checkpointIfDue();
  look();
}

void LogKeeper::failed() noexcept {
  if (connection_.failures() != 0) {
    look();
  }
}

bool LogKeeper::makeRoom() noexcept {
  if (connection_.isLogDoubtful() && !mendNow()) {
    return false;
  }
  const bool isMade = checkpointer_.makeRoom(options_.clock->steadyNow());
  look();
  return isMade;
}

SyncHealth LogKeeper::health() const noexcept {
  return SyncHealth::of(health_.load(std::memory_order_relaxed));
}

bool LogKeeper::mendNow() noexcept {
  const SteadyTime now = options_.clock->steadyNow();
  if (now < mendDue_) {
    return false;
  }
  mendDue_ = now + kMendPause;
  try {
    // Not a `Transaction`, because that remembers the commits that it has seen.
    const NoBusyTimeout noBusyTimeout(connection_.handle(), options_);
    execute(connection_.handle(), "BEGIN IMMEDIATE");
    try {
      mend();
    } catch (const std::exception&) {
      // `health` reports the failure.
    }
    execute(connection_.handle(), "ROLLBACK");
  } catch (const std::exception&) {
    // Another process is writing, or the file cannot be read: a later call tries again.
  }
  return !connection_.isLogDoubtful();
}

void LogKeeper::look() noexcept {
  if (checkpointer_.takeFailure()) {
    connection_.doubtLog();
  }
  if (!connection_.isLogDoubtful()) {
    return;
  }
  publish();
  // The first attempt follows at once, while the data is in memory: often the disk has failed only once.
  (void)mendNow();
}

void LogKeeper::show() noexcept {
  const bool isDoubtful = connection_.isLogDoubtful();
  // A doubt that stays shown only makes later openings rewrite the log.
  isHidden_ = !liveness_->showDoubt(isDoubtful) && isDoubtful;
}

void LogKeeper::publish() noexcept {
  show();
  // The initial doubt, because another process may have failed, is not reported as a failure.
  const bool isDoubtful = connection_.isLogDoubtful() && connection_.failures() != 0;
  health_ = SyncHealth{connection_.failures(), isDoubtful, isDoubtful && isHidden_}.word();
}

}  // namespace ackbox::store::sqlite
