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
  /// The next `checkpointIfDue` tries again what a reader or a writer was in the way of, without waiting for either,
  /// and cuts the log's file.
  void retry() noexcept;
  /// The same, whether or not one is due.
  void request() noexcept { requested_ = true; }

  /// After a transaction that a full disk refused, outside any: folds the log in and gives its space back, so that the
  /// same transaction may find room. Returns whether it did. After an attempt that did not help, no other is made for a
  /// time: a disk that stays full is not written to by each commit.
  bool makeRoom(SteadyTime now) noexcept;
  /// Whether the disk failed to write or sync since this was asked last.
  [[nodiscard]] bool takeFailure() noexcept { return std::exchange(failed_, false); }
  /// The transaction that came after `makeRoom` was rolled back.
  void roomDidNotHelp() noexcept { roomIsTried_ = false; }

private:
  static int onCommit(void* self, sqlite3* connection, const char* database, int pages);
  static int onBusy(void* self, int count);
  bool checkpoint(int mode, int patience) noexcept;

  sqlite3* const connection_;
  // Which waits, as a database of another clock waits by that.
  sqlite3_vfs* const vfs_;
  const std::uint32_t checkpointPages_;
  const int busyTimeoutMilliseconds_;
  std::uint32_t pages_ = 0;
  // The size of the WAL at which the next attempt is made.
  std::uint32_t duePages_;
  // The last attempt left pages in the log.
  bool incomplete_ = false;
  bool requested_ = false;
  bool failed_ = false;
  // For how many milliseconds the attempt under way waits.
  int patience_ = 0;
  // The next attempt to make room, unless a commit shows that the last one helped.
  SteadyTime roomDue_{};
  bool roomIsTried_ = false;
};

}  // namespace ackbox::sqlite
