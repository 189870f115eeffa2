#include "sqlite/checkpointer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "sqlite/connection.hpp"
#include "sqlite/statement.hpp"

namespace ackbox::sqlite {
namespace {

// How long one checkpoint may hold up the writer while it waits for another writer or for a reader.
constexpr int kPatienceMilliseconds = 20;
constexpr int kMicrosecondsAWait = 1'000;
// When the WAL is this many times too long, the checkpoint waits for readers so that the log can restart.
constexpr std::uint32_t kRestartFactor = 4;
// The pause after an attempt to make room that did not help.
constexpr std::chrono::seconds kRoomPause{1};

}  // namespace

Checkpointer::Checkpointer(sqlite3* connection, std::uint32_t checkpointPages, int busyTimeoutMilliseconds)
    : connection_(connection),
      vfs_(vfsOf(connection)),
      checkpointPages_(std::max(checkpointPages, 1U)),
      busyTimeoutMilliseconds_(busyTimeoutMilliseconds),
      duePages_(checkpointPages_) {
  sqlite3_wal_hook(connection_, &Checkpointer::onCommit, this);
}

Checkpointer::~Checkpointer() {
  sqlite3_wal_hook(connection_, nullptr, nullptr);
}

void Checkpointer::checkpointIfDue() noexcept {
  if (pages_ < checkpointPages_) {
    // The log was restarted.
    duePages_ = checkpointPages_;
  }
  int mode = pages_ >= kRestartFactor * checkpointPages_ ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_FULL;
  if (requested_) {
    mode = SQLITE_CHECKPOINT_TRUNCATE;
  } else if (pages_ < duePages_) {
    return;
  }
  incomplete_ = !checkpoint(mode, std::exchange(requested_, false) ? 0 : kPatienceMilliseconds);
  // After a complete checkpoint, the next write restarts the log and the count starts from there. When a reader or a
  // writer blocked it, the next attempt comes some pages later, not at each commit.
  duePages_ = pages_ + std::max(checkpointPages_ / 4, 1U);
}

void Checkpointer::retry() noexcept {
  requested_ = requested_ || incomplete_;
}

bool Checkpointer::makeRoom(SteadyTime now) noexcept {
  if (now < roomDue_) {
    return false;
  }
  roomDue_ = now + kRoomPause;
  // A log that only restarts would keep its blocks, which the file itself may need next time.
  roomIsTried_ = checkpoint(SQLITE_CHECKPOINT_TRUNCATE, kPatienceMilliseconds);
  return roomIsTried_;
}

bool Checkpointer::checkpoint(int mode, int patience) noexcept {
  patience_ = patience;
  sqlite3_busy_handler(connection_, &Checkpointer::onBusy, this);
  const int code = sqlite3_wal_checkpoint_v2(connection_, "main", mode, nullptr, nullptr);
  sqlite3_busy_timeout(connection_, busyTimeoutMilliseconds_);
  failed_ = failed_ || errcOf(code) == Errc::ioError;
  return code == SQLITE_OK;
}

int Checkpointer::onCommit(void* self, sqlite3* /*connection*/, const char* database, int pages) {
  if (std::strcmp(database, "main") == 0) {
    auto& checkpointer = *static_cast<Checkpointer*>(self);
    checkpointer.pages_ = static_cast<std::uint32_t>(pages);
    if (std::exchange(checkpointer.roomIsTried_, false)) {
      checkpointer.roomDue_ = {};
    }
  }
  return SQLITE_OK;
}

int Checkpointer::onBusy(void* self, int count) {
  auto& checkpointer = *static_cast<Checkpointer*>(self);
  if (count < checkpointer.patience_) {
    checkpointer.vfs_->xSleep(checkpointer.vfs_, kMicrosecondsAWait);
    return 1;
  }
  // If SQLite gave up on the writer lock, it would continue with a passive checkpoint, which this class must prevent:
  // so it is interrupted before its first page.
  sqlite3_interrupt(checkpointer.connection_);
  return 0;
}

}  // namespace ackbox::sqlite
