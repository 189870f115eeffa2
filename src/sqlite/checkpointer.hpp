#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <utility>

#include "ackbox/clock.hpp"

namespace ackbox::sqlite {

/// Moves the WAL back into the database when it has grown enough, always under the writer lock.
///
/// Takes the place of SQLite's automatic checkpoint, which is passive: before 3.51.3 a passive checkpoint may race
/// another connection's commit and damage the file.
class Checkpointer {
public:
  /// Watches `connection`'s commits until it ends.
  Checkpointer(sqlite3* connection, std::uint32_t checkpointPages, int busyTimeoutMilliseconds);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Outside a transaction. A checkpoint that cannot finish is benign and is tried again later.
  void checkpointIfDue() noexcept;
  /// Makes the next `checkpointIfDue` repeat a checkpoint that a reader or a writer blocked. It then waits for neither,
  /// and truncates the log's file.
  void retry() noexcept;
  /// The same, whether or not a checkpoint was blocked.
  void request() noexcept { requested_ = true; }

  /// Call it after a full disk refused a transaction, outside any other: checkpoints and truncates the log, so that the
  /// same transaction may find room. Returns whether it did. After an attempt that did not help, makes none for a time,
  /// so that not each commit writes to a full disk.
  bool makeRoom(SteadyTime now) noexcept;
  /// Whether the disk failed to write or sync since the last call.
  [[nodiscard]] bool takeFailure() noexcept { return std::exchange(failed_, false); }
  /// Call it when the transaction after `makeRoom` was rolled back.
  void roomDidNotHelp() noexcept { roomIsTried_ = false; }

private:
  static int onCommit(void* self, sqlite3* connection, const char* database, int pages);
  static int onBusy(void* self, int count);
  bool checkpoint(int mode, int patience) noexcept;

  sqlite3* const connection_;
  // Used for waiting, because a VFS may have a clock of its own.
  sqlite3_vfs* const vfs_;
  const std::uint32_t checkpointPages_;
  const int busyTimeoutMilliseconds_;
  std::uint32_t pages_ = 0;
  // The size of the WAL at which the next attempt is made.
  std::uint32_t duePages_;
  // Whether the last attempt left pages in the log.
  bool incomplete_ = false;
  bool requested_ = false;
  bool failed_ = false;
  // How many milliseconds the current attempt waits.
  int patience_ = 0;
  // The time of the next attempt to make room, unless a commit shows that the last one helped.
  SteadyTime roomDue_{};
  bool roomIsTried_ = false;
};

}  // namespace ackbox::sqlite
