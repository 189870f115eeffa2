#include "store/sqlite/log_keeper.hpp"

#include <chrono>
#include <exception>

#include "sqlite/statement.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr std::uint64_t kDoubtful = 1;
constexpr unsigned kFailuresShift = 1;

}  // namespace

LogKeeper::LogKeeper(Connection& connection, const OutboxOptions& options)
    : connection_(connection),
      options_(options),
      checkpointer_(connection.handle(), options.checkpointPages, static_cast<int>(options.busyTimeout.count())) {}

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
    mend();
  }
}

void LogKeeper::mend() {
  try {
    connection_.mendLog();
  } catch (...) {
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
  const std::uint64_t word = health_.load(std::memory_order_relaxed);
  return {static_cast<std::uint32_t>(word >> kFailuresShift), (word & kDoubtful) != 0};
}

bool LogKeeper::mendNow() noexcept {
  constexpr std::chrono::seconds kPause{1};
  const SteadyTime now = options_.clock->steadyNow();
  if (now < mendDue_) {
    return false;
  }
  mendDue_ = now + kPause;
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
  const bool isNew = connection_.failures() != health().failures;
  publish();
  // At once, as long as the machine's memory has it: often the disk failed only once.
  mendDue_ = isNew ? SteadyTime{} : mendDue_;
  (void)mendNow();
}

void LogKeeper::publish() noexcept {
  const bool isDoubtful = connection_.isLogDoubtful();
  if (liveness_) {
    liveness_->showDoubt(isDoubtful);
  }
  // What is doubted at first, because another process may have failed, is reported as no failure.
  const bool hasFailed = connection_.failures() != 0;
  health_ = std::uint64_t{connection_.failures()} << kFailuresShift | (isDoubtful && hasFailed ? kDoubtful : 0U);
}

}  // namespace ackbox::store::sqlite
