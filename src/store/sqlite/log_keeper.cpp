#include "store/sqlite/log_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

// Between two attempts to mend the log, of which each may write all of it; at least this long, and so many times as
// long as the last one took.
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
    // Those that knew of a failed sync may have died.
    mend();
  }
}

void LogKeeper::requireFit(bool isDurable) {
  // Written behind a hole it would not be durable, and behind what is lost it would be lost.
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
    // A checkpoint would copy what may be missing in the log after a power cut.
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
    // Not by a `Transaction`, which remembers the commits that it has seen.
    const NoBusyTimeout noBusyTimeout(connection_.handle(), options_);
    execute(connection_.handle(), "BEGIN IMMEDIATE");
    try {
      mend();
    } catch (const std::exception&) {
      // `health` has it.
    }
    execute(connection_.handle(), "ROLLBACK");
  } catch (const std::exception&) {
    // Another process is writing, or the file cannot even be read: the next attempt comes.
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
  // The first time at once, as long as the machine's memory has it: often the disk failed only once.
  (void)mendNow();
}

void LogKeeper::show() noexcept {
  const bool isDoubtful = connection_.isLogDoubtful();
  // One that stays shown only makes later openings write the log once more.
  isHidden_ = !liveness_->showDoubt(isDoubtful) && isDoubtful;
}

void LogKeeper::publish() noexcept {
  show();
  // What is doubted at first, because another process may have failed, is reported as no failure.
  const bool isDoubtful = connection_.isLogDoubtful() && connection_.failures() != 0;
  health_ = SyncHealth{connection_.failures(), isDoubtful, isDoubtful && isHidden_}.word();
}

}  // namespace ackbox::store::sqlite
